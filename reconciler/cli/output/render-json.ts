// The machine-readable stream: one object per line in Terraform's envelope, with additional types. Pure.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { addressParts, type Address } from '../../core/documents/document.ts';
import { ruleJson, type IgnoredDifference } from '../../core/ownership/ignored-paths.ts';
import type { Guard, Plan, ResourceChange } from '../../core/plan/plan.ts';
import { isChange } from '../../core/plan/summary.ts';
import type { EngineEvent } from '../../engine/steps/events.ts';
import { renderElapsed, words } from './progress.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const uiVersion = '1.0';
type Fields = Readonly<Record<string, unknown>>;

/** One line without its newline. */
export function jsonLine(type: string, message: string, fields: Fields, atMs: number, level = 'info'): string {
  return JSON.stringify({
    '@level': level,
    '@message': message,
    '@module': 'gantry.ui',
    '@timestamp': new Date(atMs).toISOString(),
    type,
    ...fields,
  });
}

export const versionLine = (version: string, atMs: number): string =>
  jsonLine('version', `Gantry ${version}`, { gantry: version, ui: uiVersion }, atMs);

function resource(address: Address): Fields {
  const { kind, name } = addressParts(address);
  return {
    addr: address,
    module: '',
    resource: address,
    implied_provider: 'gantry',
    resource_type: kind,
    resource_name: name,
    resource_key: null,
  };
}

export function planLines(
  plan: Plan,
  operation: 'plan' | 'apply' | 'destroy',
  summary: string,
  atMs: number,
): string[] {
  const changed = plan.changes.filter(isChange);
  return [
    ...changed.map((change) => plannedChange(change, atMs)),
    ...plan.changes.flatMap((change) => (change.ignored ?? []).map((one) => ignoredLine(change, one, atMs))),
    ...plan.guards.map((guard) => guardLine(guard, atMs)),
    changeSummary(
      { add: plan.summary.add, change: plan.summary.change, remove: plan.summary.destroy },
      operation,
      summary,
      atMs,
      ownerOf(plan),
    ),
  ];
}

/** Uses the member names of the plan as JSON. */
const ownerOf = ({ set, place }: Plan): Fields => ({
  ...withoutUndefined({ owner: set, place }),
});

function plannedChange(change: ResourceChange, atMs: number): string {
  const action = change.action === 'no-op' ? actionOfNoOp(change) : change.action;
  const fields = {
    change: {
      resource: resource(change.address),
      action,
      reason: change.reasons.join('; '),
      ...withoutUndefined({ power: change.power, wave: change.wave }),
      effect: change.effect,
      paths: change.changes.map(({ path }) => path),
    },
  };
  const verbs = [change.action === 'no-op' && change.power !== undefined ? undefined : action, change.power].filter(
    (word) => word !== undefined,
  );
  return jsonLine('planned_change', `${change.address}: Plan to ${verbs.join(' and ')}`, fields, atMs);
}

function ignoredLine({ address }: ResourceChange, { path, rule }: IgnoredDifference, atMs: number): string {
  const fields = { ignored: { resource: resource(address), path, ...ruleJson(rule) } };
  return jsonLine('ignored_difference', `${address}: ${path} differs and is ignored`, fields, atMs);
}

/** Terraform calls taking ownership `import`. */
const actionOfNoOp = ({ power, claims }: ResourceChange): string =>
  power === undefined && claims.length > 0 ? 'import' : 'update';

const guardLine = (guard: Guard, atMs: number): string =>
  jsonLine(
    'guard',
    guard.message,
    { guard: { resource: resource(guard.address), code: guard.code, remedy: guard.remedy } },
    atMs,
    'error',
  );

export function changeSummary(
  counts: { readonly add: number; readonly change: number; readonly remove: number },
  operation: 'plan' | 'apply' | 'destroy',
  message: string,
  atMs: number,
  owner: Fields = {},
): string {
  return jsonLine('change_summary', message, { changes: { ...counts, import: 0, operation }, ...owner }, atMs);
}

export function diagnosticLine(diagnostic: Diagnostic, atMs: number): string {
  const { severity, message, remedy, file, line, column } = diagnostic;
  const position = { line: line ?? 1, column: column ?? 1, byte: 0 };
  const fields = {
    diagnostic: {
      severity,
      summary: message,
      detail: remedy ?? '',
      code: diagnostic.code,
      ...withoutUndefined({ address: diagnostic.address }),
      ...(file === undefined ? {} : { range: { filename: file, start: position, end: position } }),
    },
  };
  return jsonLine('diagnostic', message, fields, atMs, severity === 'error' ? 'error' : 'warn');
}

/** Undefined for events that need no line. */
export function eventLine(event: EngineEvent): string | undefined {
  const { step, atMs } = event;
  const hook = { resource: resource(step.address), action: step.action, step: step.id };
  const verb = words[step.action];
  switch (event.type) {
    case 'apply_start':
      return jsonLine(event.type, `${step.address}: ${verb.doing}...`, { hook }, atMs);
    case 'apply_progress': {
      const fields = { text: event.text, ...withoutUndefined({ percent: event.percent }) };
      return jsonLine(
        event.type,
        `${step.address}: ${verb.doing}... ${event.text}`,
        { hook: { ...hook, ...fields } },
        atMs,
      );
    }
    case 'operation_update': {
      const { id, status, status_code, description } = event.operation;
      const operation = { id, status, status_code, description };
      return jsonLine(event.type, `${step.address}: ${description} ${status}`, { hook, operation }, atMs, 'debug');
    }
    case 'exec_output': {
      const { exec, code, output } = event;
      const message = `${step.address}: exec ${exec} ended with code ${code}`;
      return jsonLine(event.type, message, { hook, exec: { name: exec, exit_code: code, output } }, atMs);
    }
    case 'apply_complete': {
      const elapsed = {
        elapsed_seconds: event.elapsedMs / 1000,
        ...withoutUndefined({ note: event.note }),
      };
      const message = `${step.address}: ${verb.done} after ${renderElapsed(event.elapsedMs)}`;
      return jsonLine(event.type, message, { hook: { ...hook, ...elapsed } }, atMs);
    }
    case 'apply_errored': {
      const { code, why, remedy } = event.failure;
      const fields = { hook: { ...hook, elapsed_seconds: event.elapsedMs / 1000 }, failure: { code, why, remedy } };
      return jsonLine(event.type, `${step.address}: ${verb.noun} failed: ${why}`, fields, atMs, 'error');
    }
    case 'apply_skipped':
      return jsonLine(
        event.type,
        `${step.address}: ${verb.noun} skipped`,
        { hook, because: event.because },
        atMs,
        'warn',
      );
    default:
      return undefined;
  }
}
