// A plan as JSON with the key names of Terraform's `show -json`, so that policies and tools for that work here too.
import type { TSchema } from 'typebox';
import { factsOf } from '../../../server/api/schema/field.ts';
import { kindSchemas } from '../../../server/api/kind-schemas.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { ruleJson } from '../ownership/ignored-paths.ts';
import { coreKind } from '../kinds/index.ts';
import type { Plan, ResourceChange } from '../plan/plan.ts';
import { redact, sensitiveMarks } from '../documents/secret.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const planFormatVersion = '1.2';

export function planJson(plan: Plan): JsonObject {
  const bodies = bodiesOf(plan);
  return {
    format_version: planFormatVersion,
    mode: plan.mode,
    owner: plan.set ?? '',
    place: plan.place ?? '',
    applyable: plan.guards.length === 0 && plan.steps.length > 0,
    complete: true,
    errored: plan.diagnostics.some((diagnostic) => diagnostic.severity === 'error'),
    resource_changes: plan.changes.map((change) => resourceChange(change, bodies)),
    resource_drift: plan.changes.flatMap(driftOf),
    orphans: plan.orphans,
    guards: plan.guards.map(({ code, address, message, remedy }) => ({ code, address, message, remedy })),
    diagnostics: plan.diagnostics.map(({ severity, code, path, message, ...rest }) => ({
      severity,
      code,
      address: rest.address ?? '',
      path,
      summary: message,
      detail: rest.remedy ?? '',
    })),
    summary: { ...plan.summary },
  };
}

const actions: Readonly<Record<ResourceChange['action'], readonly string[]>> = {
  create: ['create'],
  update: ['update'],
  replace: ['delete', 'create'],
  delete: ['delete'],
  'no-op': ['no-op'],
};

function resourceChange(change: ResourceChange, bodies: Bodies): JsonObject {
  const before = change.live === undefined ? null : visible(change, change.live as JsonObject);
  const after = change.action === 'delete' ? null : visible(change, afterOf(change, bodies));
  const isPower = change.action === 'no-op' && change.power !== undefined;
  const isNew = change.action === 'create' || change.action === 'replace';
  return {
    address: change.address,
    mode: 'managed',
    type: change.kind,
    name: change.name,
    change: {
      actions: isPower ? ['update'] : actions[change.action],
      before: redact(before, [], change.secrets),
      after: redact(after, [], change.secrets),
      after_unknown: isNew ? unknownMarks(change) : {},
      before_sensitive: before === null ? false : sensitiveMarks(before, [], change.secrets),
      after_sensitive: after === null ? false : sensitiveMarks(after, [], change.secrets),
      ...(change.action === 'no-op' && change.claims.length > 0 ? { importing: { id: change.address } } : {}),
      replace_paths: change.changes.filter((edit) => edit.effect === 'recreate').map((edit) => edit.segments),
    },
    action_reason: change.reasons.join('; '),
    effect: change.isRebuilt === true ? 'rebuild' : change.effect,
    power: change.power ?? '',
    ...withoutUndefined({ wave: change.wave }),
    paths: change.changes.map((edit) => ({
      path: edit.path,
      effect: edit.effect,
      sensitive: edit.secret,
      origin: edit.origin ?? '',
      ...withoutUndefined({ inside: edit.inside }),
    })),
    unmanaged: change.unmanaged,
    claims: change.claims,
    releases: change.releases,
    pruned: change.isPruned === true,
    affects: change.affects.map(({ address, effect, foreign }) => ({ address, effect, foreign })),
    ...(change.ignored === undefined
      ? {}
      : { ignored: change.ignored.map(({ path, rule }) => ({ path, ...ruleJson(rule) })) }),
    protected: change.isProtected,
    etag: bodies.etags.get(change.address) ?? '',
    guard: change.guard?.code ?? '',
    steps: change.steps,
  };
}

/** Changes since the set's last apply. Only a hash of the former value is kept, so only the present value is shown. */
function driftOf(change: ResourceChange): readonly JsonObject[] {
  const drifted = change.changes.filter(({ origin }) => origin === 'drift');
  if (drifted.length === 0) return [];
  const after = visible(change, (change.live ?? {}) as JsonObject);
  return [
    {
      address: change.address,
      mode: 'managed',
      type: change.kind,
      name: change.name,
      change: {
        actions: ['update'],
        before: null,
        after: redact(after, [], change.secrets),
        before_sensitive: false,
        after_sensitive: sensitiveMarks(after, [], change.secrets),
      },
      paths: drifted.map(({ path }) => path),
    },
  ];
}

interface Bodies {
  readonly created: ReadonlyMap<string, JsonObject>;
  readonly etags: ReadonlyMap<string, string>;
}

function bodiesOf(plan: Plan): Bodies {
  const created = new Map<string, JsonObject>();
  const etags = new Map<string, string>();
  for (const step of plan.steps) {
    if (step.action === 'create' || step.action === 'rebuild') created.set(step.address, step.body);
    else if ((step.action === 'update' || step.action === 'delete') && step.etag !== undefined) {
      etags.set(step.address, step.etag);
    }
  }
  return { created, etags };
}

function afterOf(change: ResourceChange, bodies: Bodies): JsonObject {
  const created = bodies.created.get(change.address);
  if (created === undefined) return applyEdits((change.live ?? {}) as JsonObject, change.changes);
  // Files are in no body.
  const files = change.changes.filter(({ segments }) => segments[0] === 'files');
  return applyEdits({ ...created, ...filesOf(change) }, files);
}

const filesOf = ({ live }: ResourceChange): JsonObject => {
  const files = (live as JsonObject | undefined)?.['files'];
  return files === undefined ? {} : { files };
};

/** Members that a person can set. Policies have no use for counters, times and lists of users. */
function visible(change: ResourceChange, object: JsonObject): JsonObject {
  const out: Record<string, Json> = { name: change.name };
  for (const field of [...Object.keys(coreKind(change.kind).fields), 'source']) {
    const value = object[field];
    if (value !== undefined) out[field] = value;
  }
  return out;
}

/** Values that the server fills in. */
function unknownMarks(change: ResourceChange): JsonObject {
  const properties = (kindSchemas[change.kind].object as unknown as { properties: Record<string, TSchema> }).properties;
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([, schema]) => factsOf(schema).computed === true)
      .map(([name]) => [name, true]),
  );
}
