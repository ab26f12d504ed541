// The result of each step of a plan on a copy of the server, and the part of a plan that a copy can check. Pure.
import type { Problem } from '../../../server/api/problem.ts';
import { isTrue } from '../../../server/api/container/container-config.ts';
import { isInProject } from '../../../server/api/kinds.ts';
import { defaultProject } from '../../../server/api/project/project-names.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, JsonObject } from '../documents/document.ts';
import { asText, mapOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { paints, printable, type Paint, type Paints, type Color } from '../text/terminal-text.ts';
import { applyEdits } from './apply-edits.ts';
import type { CreateStep, Plan, RebuildStep, Step } from './plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** `untried`: only the real server can check the step, which is assumed to succeed. `unreached`: a step before it is refused. */
export type Verdict = 'accepted' | 'refused' | 'unreached' | 'untried';

export interface Trial {
  readonly stepId: string;
  readonly address: Address;
  readonly action: Step['action'];
  readonly verdict: Verdict;
  /** The reason for any verdict but `accepted`; for `accepted`, why only a part of the step was tried. */
  readonly why?: string;
  /** The code of a refusal as in `Failure.code`, and what to do. */
  readonly code?: string;
  readonly remedy?: string;
  /** Paths of the object that the daemon names, each with its message. */
  readonly details?: readonly Problem[];
}

export interface DryRun {
  /** In the order of the plan. */
  readonly trials: readonly Trial[];
}

export interface Tryable {
  readonly plan: Plan;
  /** The reason why a step is left out, by step id. */
  readonly untried: ReadonlyMap<string, string>;
}

/** Actions inside containers. */
const inside: Readonly<Partial<Record<string, string>>> = {
  wait: 'only the container itself can tell',
  files: 'the files of containers are not in the copy',
  exec: 'only the container itself can tell',
};

/** The plan without the steps that no copy can check. Containers of images that the copy lacks are created empty. */
export function tryable(plan: Plan, observed?: Pick<Observed, 'projects' | 'base'>): Tryable {
  const apart = projectsWithNetworks(plan, observed);
  const projectOf = (step: Step): string =>
    step.kind === 'project'
      ? step.name
      : isInProject(step.kind)
        ? (step.project ?? observed?.base ?? defaultProject)
        : '';
  const untried = new Map<string, string>();
  const needs = new Map<string, readonly string[]>();
  const steps: Step[] = [];
  for (const step of plan.steps) {
    const own = step.needs.flatMap((id) => needs.get(id) ?? [id]);
    const isImageLeftOut = step.needs.some((id) => untried.has(id) && id.startsWith('image'));
    const why = whyUntried(step, isImageLeftOut, apart.has(projectOf(step)));
    if (why === undefined) steps.push(withoutFiles({ ...step, needs: [...new Set(own)] }, isImageLeftOut));
    else {
      untried.set(step.id, why);
      // Dependents of the step inherit its needs.
      needs.set(step.id, own);
    }
  }
  return { plan: { ...plan, steps }, untried };
}

/** Projects with their own networks, which LXD supports but a copy does not. */
function projectsWithNetworks(plan: Plan, observed: Pick<Observed, 'projects'> | undefined): ReadonlySet<string> {
  const has = (config: JsonObject): boolean =>
    ['features.networks', 'features.networks.zones'].some((key) => isTrue(asText(config[key])));
  const live = [...(observed?.projects ?? [])].filter(([, { object }]) => has(object.config)).map(([name]) => name);
  const planned = plan.steps
    .filter(({ kind }) => kind === 'project')
    .filter((step) =>
      step.action === 'create'
        ? has(mapOf(step.body['config']))
        : step.action === 'update' && has(mapOf(applyEdits({}, step.edits)['config'])),
    );
  return new Set([...live, ...planned.map(({ name }) => name)].filter((name) => name !== defaultProject));
}

function whyUntried(step: Step, isImageLeftOut: boolean, hasOwnNetworks: boolean): string | undefined {
  if (inside[step.action] !== undefined) return inside[step.action];
  if (hasOwnNetworks) return 'its project has its own networks, which a copy cannot have';
  if (step.kind === 'image_alias' && isImageLeftOut) return 'its image is not fetched into a copy';
  if (step.kind === 'image' && step.action === 'create' && step.upload === undefined)
    return 'it comes from another server, and is not fetched into a copy';
  return undefined;
}

function withoutFiles(step: Step, isImageLeftOut: boolean): Step {
  if (step.action === 'rebuild') {
    const { plan } = tryable({ ...nothing, steps: step.afterwards });
    return { ...emptied(step, isImageLeftOut), afterwards: plan.steps };
  }
  return step.action === 'create' && step.kind === 'container' ? emptied(step, isImageLeftOut) : step;
}

const nothing: Omit<Plan, 'steps'> = {
  mode: 'apply',
  changes: [],
  orphans: [],
  guards: [],
  diagnostics: [],
  summary: { add: 0, change: 0, destroy: 0, restart: 0, replace: 0, power: 0, claim: 0 },
};

function emptied<T extends CreateStep | RebuildStep>(step: T, isImageLeftOut: boolean): T {
  const source: JsonObject = mapOf(step.body['source']);
  const isElsewhere = source['server'] !== undefined || source['type'] === 'migration';
  if (!isElsewhere && !(isImageLeftOut && source['type'] === 'image')) return step;
  return { ...step, body: { ...step.body, source: { type: 'none' } } };
}

export const countOf = ({ trials }: DryRun, verdict: Verdict): number =>
  trials.filter((trial) => trial.verdict === verdict).length;

/** One diagnostic for each message of the daemon, to be located in the manifests. */
export function refusalsOf({ trials }: DryRun): readonly Diagnostic[] {
  return trials
    .filter(({ verdict }) => verdict === 'refused')
    .flatMap(({ address, action, why = '', remedy, details = [] }) => {
      const head = `the daemon would refuse to ${action} ${address}`;
      const found = details.length === 0 ? [{ path: '', message: why }] : details;
      return found.map(({ path, message }): Diagnostic => ({
        severity: 'error',
        code: 'would-be-refused',
        address,
        path,
        message: `${head}: ${path === '' ? '' : `${path} `}${message}`,
        ...withoutUndefined({ remedy }),
      }));
    });
}

export const dryRunLimits =
  'Not checked: what only the host can refuse, such as missing disks, kernel features, devices, ports and other servers.';

const words: Readonly<Record<Verdict, string>> = {
  accepted: 'would succeed',
  refused: 'would be refused',
  unreached: 'not reached',
  untried: 'not tried',
};

export function dryRunSummary(dryRun: DryRun): string {
  const parts = (['accepted', 'refused', 'unreached', 'untried'] as const)
    .filter((verdict) => verdict === 'accepted' || countOf(dryRun, verdict) > 0)
    .map((verdict) => `${countOf(dryRun, verdict)} ${words[verdict]}`);
  return `Dry run: ${parts.join(', ')}.`;
}

export function renderDryRun(dryRun: DryRun, options: { readonly color: Color }): string {
  const paint = paints(options.color);
  const lines = dryRun.trials.map((trial) => renderTrial(trial, paint));
  return [...lines, ...(lines.length === 0 ? [] : ['']), paint.bold(dryRunSummary(dryRun)), paint.dim(dryRunLimits)]
    .join('\n')
    .concat('\n');
}

function renderTrial({ address, action, verdict, why }: Trial, paint: Paints): string {
  const tints: Readonly<Record<Verdict, Paint>> = {
    accepted: paint.green,
    refused: paint.red,
    unreached: paint.dim,
    untried: paint.yellow,
  };
  const what = `${tints[verdict](words[verdict].padEnd(16))} ${printable(address)}: ${action}`;
  return `  ${what}${why === undefined ? '' : paint.dim(` (${printable(why)})`)}`;
}

export function dryRunJson(dryRun: DryRun): JsonObject {
  const count = (verdict: Verdict): number => countOf(dryRun, verdict);
  return {
    steps: dryRun.trials.map(trialJson),
    accepted: count('accepted'),
    refused: count('refused'),
    unreached: count('unreached'),
    untried: count('untried'),
  };
}

export function trialJson({ stepId, address, action, verdict, why, code, details = [] }: Trial): JsonObject {
  return {
    step: stepId,
    address,
    action,
    verdict,
    ...withoutUndefined({ why, code }),
    ...(details.length === 0 ? {} : { details: details.map(({ path, message }) => ({ path, message })) }),
  };
}

const maxRows = 100;

/** A section below the plan: the refused steps, then the count. */
export function dryRunMarkdown(dryRun: DryRun): string {
  const inline = (text: string): string =>
    printable(text)
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('|', String.raw`\|`);
  const refused = dryRun.trials.filter(({ verdict }) => verdict === 'refused');
  const rows = refused
    .slice(0, maxRows)
    .map(({ address, action, why = '' }) => `> **Would be refused:** \`${inline(address)}\` ${action}: ${inline(why)}`);
  const more = refused.length > maxRows ? [`> and ${refused.length - maxRows} more`] : [];
  const list = [...rows, ...more].join('\n>\n');
  return `\n${list}${list === '' ? '' : '\n\n'}${dryRunSummary(dryRun)} ${dryRunLimits}\n`;
}
