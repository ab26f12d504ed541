// Decides what a failed creation means: an object left by an earlier half run is as good as a new one, another is not.
import type { KindName } from '../../../server/api/kinds.ts';
import { ClientError, isNotFound } from '../../../server/client/client-error.ts';
import type { Operations } from '../../../server/client/operations.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { StaleError, type EngineClient } from './context.ts';
import { hasUnknownOutcome } from './unknown-outcome.ts';

/** Told at creation only, never shown again. */
const creationOnly = new Set([
  'name',
  'pool',
  'member_overrides',
  'certificate',
  'source',
  'instance_type',
  'managed',
  'compression_algorithm',
]);

/** True when the creation may have happened, by us or by others, so that the object has to be read to know. */
export function mayExist(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.status === 409 || error.refusals.has('exists') || hasUnknownOutcome(error);
}

/** Returns a note when the object is there as wanted. Throws `error` when it is not there, StaleError when it is different. */
export async function recogniseExisting(
  client: EngineClient,
  step: CreateStep,
  error: unknown,
  signal: AbortSignal,
): Promise<string> {
  await settle(client, step.kind, step.name, signal);
  const live = await client.get(step.kind, step.name, signal).catch((reason: unknown) => {
    throw isNotFound(reason) ? error : reason;
  });
  const differing = differences(step.body, live.metadata);
  if (differing.length === 0) return 'it was already there as wanted';
  throw new StaleError(`it was made by someone else since the plan and differs in ${differing.join(', ')}`, {
    cause: error,
  });
}

export interface SettleClient {
  readonly operations: Pick<Operations, 'list' | 'get' | 'wait'>;
}

/** Waits for operations that are at work on the object: of a lost connection, or of an earlier run. */
export async function settle(client: SettleClient, kind: KindName, name: string, signal: AbortSignal): Promise<void> {
  if (kind !== 'container') return;
  const ids = await client.operations.list(signal);
  for (const id of ids) {
    const operation = await client.operations.get(id, signal).catch(() => undefined);
    const urls = Object.values(operation?.resources ?? {}).flat();
    const isOurs = urls.some((url) => url.split('?')[0]?.endsWith(`/${encodeURIComponent(name)}`) === true);
    // Its outcome shows in the object that is read next.
    if (operation !== undefined && isOurs) await client.operations.wait(operation, signal).catch(() => undefined);
    signal.throwIfAborted();
  }
}

/** Paths where the live object lacks something of the body. What is beyond the body does not matter. */
export function differences(body: JsonObject, live: JsonObject): readonly string[] {
  return Object.entries(body).flatMap(([key, wanted]) =>
    creationOnly.has(key) ? [] : difference(key, wanted, live[key] ?? null),
  );
}

function difference(path: string, wanted: Json, live: Json): readonly string[] {
  if (isEmpty(wanted) && isEmpty(live)) return [];
  // The server chooses a value for this word and shows the choice.
  if (wanted === 'auto' && typeof live === 'string' && live !== '') return [];
  if (isMap(wanted) && isMap(live)) {
    return Object.entries(wanted).flatMap(([key, value]) => difference(`${path}.${key}`, value, live[key] ?? null));
  }
  if (isMap(wanted) && isEmpty(live)) return isEmptyMap(wanted) ? [] : [path];
  return JSON.stringify(plain(wanted)) === JSON.stringify(plain(live)) ? [] : [path];
}

const plain = (value: Json): Json => (typeof value === 'boolean' || typeof value === 'number' ? String(value) : value);
const isEmpty = (value: Json): boolean => value === null || value === '';
const isEmptyMap = (value: JsonObject): boolean => Object.keys(value).length === 0;
