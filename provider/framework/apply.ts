// Applies one planned change and returns the state of the object afterwards, even if the change failed halfway.
import type { Attributes } from './attribute.ts';
import { failure, warning, type Diagnostic } from './diagnostic.ts';
import { begin, type RunningOperation, type ResourceDeps } from './operation.ts';
import { withoutNullEntries } from './null-entries.ts';
import { fillUnknowns } from './plan.ts';
import type { ConfigOf, CreateContext, PrivateData } from './object-type.ts';
import type { AnyResource } from './provider.ts';
import { markRename } from './rename-mark.ts';
import { defaultTimeoutMs, timeoutMs, type OperationName } from './timeouts.ts';
import { equalValues, isMap, knownPart, type ValueMap } from './value.ts';

export interface ApplyInput {
  /** Null: create. */
  readonly prior: ValueMap | null;
  /** Null: delete. */
  readonly planned: ValueMap | null;
  readonly config: ValueMap | null;
  readonly privateData: PrivateData;
}

export interface Applied {
  readonly state: ValueMap | null;
  readonly privateData: PrivateData;
  readonly diagnostics: readonly Diagnostic[];
}

/** Time limit for reading the object back after a failure. */
const readBackMs = 20_000;

type State = Parameters<AnyResource<unknown>['delete']>[0];
const asState = (values: ValueMap): State => values;
const asConfig = (values: ValueMap | null): ConfigOf<Attributes> => (values ?? {}) as ConfigOf<Attributes>;

export function applyChange<C>(deps: ResourceDeps<C>, input: ApplyInput): Promise<Applied> {
  const { attributes } = deps.resource;
  const config = input.config === null ? null : withoutNullEntries(attributes, input.config);
  const prior = input.prior === null ? null : withoutNullEntries(attributes, input.prior);
  const given = { ...input, config, prior };
  if (input.planned === null) return remove(deps, given, prior ?? {});
  return prior === null ? create(deps, given, input.planned) : update(deps, given, input.planned, prior);
}

const wantedOf = <C>(deps: ResourceDeps<C>, planned: ValueMap): ValueMap =>
  withoutNullEntries(deps.resource.attributes, knownPart(planned) as ValueMap);

function start<C>(
  deps: ResourceDeps<C>,
  input: ApplyInput,
  operation: OperationName,
  values: ValueMap,
): RunningOperation<C> {
  const { resource } = deps;
  const usual = resource.timeoutsMs?.[operation] ?? defaultTimeoutMs;
  const added = resource.addedLimitMs?.(operation, asState(values)) ?? 0;
  const limit = timeoutMs(values['timeouts'], operation, usual + added);
  return begin(
    deps.provider,
    deps.client,
    { ...input.privateData },
    { timeoutMs: limit, isInTimeouts: true, stopping: deps.stopping },
  );
}

const done = (begun: RunningOperation<unknown>, state: ValueMap | null): Applied => {
  begun.end();
  return { state, privateData: begun.context.privateData, diagnostics: begun.diagnostics };
};

async function create<C>(deps: ResourceDeps<C>, input: ApplyInput, planned: ValueMap): Promise<Applied> {
  const wanted = wantedOf(deps, planned);
  const begun = start(deps, input, 'create', wanted);
  let exists = false;
  let before: Promise<boolean> | undefined;
  const isThere = async (): Promise<boolean> => isMap((await readBack(deps, { ...input.privateData }, wanted)) ?? null);
  const context: CreateContext<C> = {
    ...begun.context,
    mayExist: () => {
      exists = true;
    },
    wasThere: () => (before ??= isThere()),
  };
  const what = `create ${deps.resource.typeName}`;
  try {
    const extra = await deps.resource.create({ planned: asState(wanted), config: asConfig(input.config) }, context);
    return await withActualValues(deps, begun, planned, { ...wanted, ...(extra as ValueMap | undefined) });
  } catch (error) {
    begun.fail(what, error);
    if (!exists) return done(begun, null);
  }
  const found = await readBack(deps, begun.context.privateData, wanted);
  if (found !== undefined) return done(begun, found);
  begun.diagnostics.push(
    warning(
      'The object may exist: it could not be read',
      'The state keeps it as tainted, so that it is not lost: the next plan looks for it, and creates it again or removes it from the state.',
    ),
  );
  return done(begun, wanted);
}

async function update<C>(
  deps: ResourceDeps<C>,
  input: ApplyInput,
  planned: ValueMap,
  prior: ValueMap,
): Promise<Applied> {
  const wanted = wantedOf(deps, planned);
  const begun = start(deps, input, 'update', wanted);
  try {
    const to = { planned: asState(wanted), config: asConfig(input.config) };
    const extra = await deps.resource.update(to, asState(prior), begun.context);
    return await withActualValues(deps, begun, planned, { ...wanted, ...(extra as ValueMap | undefined) });
  } catch (error) {
    begun.fail(`update ${deps.resource.typeName}`, error);
    const { privateData } = begun.context;
    const found = await readBack(deps, privateData, prior);
    // The object may have its new name already.
    const renamed = { ...prior, ...identityOf(deps, wanted) };
    const keepsName = equalValues(renamed, prior);
    if (found === undefined && !keepsName) markRename(privateData, identityOf(deps, wanted));
    if (found !== null) return done(begun, found === undefined ? prior : found);
    if (keepsName) return done(begun, null);
    const again = await readBack(deps, privateData, renamed);
    return done(begun, again === undefined ? renamed : again);
  }
}

const identityOf = <C>({ resource }: ResourceDeps<C>, values: ValueMap): ValueMap =>
  Object.fromEntries(resource.identity.map((name) => [name, values[name] ?? null]));

async function remove<C>(deps: ResourceDeps<C>, input: ApplyInput, prior: ValueMap): Promise<Applied> {
  const begun = start(deps, input, 'delete', prior);
  try {
    await deps.resource.delete(asState(prior), begun.context);
    return done(begun, null);
  } catch (error) {
    begun.fail(`delete ${deps.resource.typeName}`, error);
    const found = await readBack(deps, begun.context.privateData, prior);
    // The answer was lost, but the deletion took effect.
    if (found === null) begun.diagnostics.splice(0, begun.diagnostics.length);
    return done(begun, found === undefined ? prior : found);
  }
}

/** The planned values, with unknown ones read from the live object. */
async function withActualValues<C>(
  deps: ResourceDeps<C>,
  begun: RunningOperation<C>,
  planned: ValueMap,
  wanted: ValueMap,
): Promise<Applied> {
  const read = await deps.resource.read(asState(wanted), begun.context);
  if (read === null) {
    const detail = 'It was created and no longer exists: something else on the server deletes it.';
    begun.diagnostics.push(failure(`${deps.resource.typeName} vanished while it was applied`, detail));
    return done(begun, null);
  }
  return done(begun, fillUnknowns(planned, { ...wanted, ...(read as ValueMap) }) as ValueMap);
}

/** The live object; undefined when it cannot be read. */
async function readBack<C>(
  deps: ResourceDeps<C>,
  privateData: PrivateData,
  state: ValueMap,
): Promise<ValueMap | null | undefined> {
  const begun = begin(deps.provider, deps.client, privateData, { timeoutMs: readBackMs, stopping: deps.stopping });
  try {
    const read = await deps.resource.read(asState(state), begun.context);
    return read === null ? null : { ...state, ...(read as ValueMap) };
  } catch {
    return undefined;
  } finally {
    begun.end();
  }
}
