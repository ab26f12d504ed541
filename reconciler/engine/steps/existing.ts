// Interprets a failed creation: accepts an equal object from an interrupted earlier run, and rejects a different one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KindName } from '../../../server/api/kinds.ts';
import { ClientError, hasUnknownOutcome, isNotFound } from '../../../server/client/client-error.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { waitForRunning } from '../running-operations.ts';
import { StaleError, type EngineClient } from './context.ts';

/** Members that creation accepts but the server never returns. */
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

/** True when the object may exist, created by this run or by others, so that the step must read it. */
export function mayExist(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.status === 409 || error.refusals.has('exists') || hasUnknownOutcome(error);
}

/** Returns a note when the object exists as wanted. Throws `error` when it does not exist, StaleError when it differs. */
export async function recogniseExisting(
  client: EngineClient,
  step: CreateStep,
  error: unknown,
  signal: AbortSignal,
): Promise<string> {
  await waitForRunning(client, step.kind, step.name, signal);
  // Volumes may share a name: reads the one on the member of the creation.
  const member = step.kind === 'storage_volume' && step.target?.startsWith('@') === false ? step.target : undefined;
  const live = await readCreated(client, step, error, signal, member);
  const differing = differences(step.body, live);
  if (differing.length === 0) return 'it already existed as wanted';
  throw new StaleError(`someone else created it since the plan, and it differs in ${differing.join(', ')}`, {
    cause: error,
  });
}

/** Waits until a network or pool is usable: on a slow host the request whose answer was lost may still be creating it. */
async function readCreated(
  client: EngineClient,
  { kind, name }: CreateStep,
  error: unknown,
  signal: AbortSignal,
  member: string | undefined,
): Promise<JsonObject> {
  const deadline = performance.now() + pendingLimitMs;
  for (;;) {
    const { metadata } = await client.get(kind, name, signal, member).catch((reason: unknown) => {
      throw isNotFound(reason) ? error : reason;
    });
    if (!isPending(kind, metadata)) return metadata;
    if (performance.now() > deadline)
      throw new Error(`${kind} ${name} is still being created: apply again when its status is Created`, {
        cause: error,
      });
    await sleep(pendingPollMs, undefined, { signal });
  }
}

const pendingLimitMs = 120_000;
const pendingPollMs = 200;

const isPending = (kind: KindName, live: JsonObject): boolean =>
  (kind === 'network' || kind === 'storage_pool') && live['status'] === 'Pending';

/** Paths where the live object differs from the body. Members that the body lacks do not matter. */
export function differences(body: JsonObject, live: JsonObject): readonly string[] {
  return Object.entries(body).flatMap(([key, wanted]) =>
    creationOnly.has(key) ? [] : difference(key, wanted, live[key] ?? null),
  );
}

function difference(path: string, wanted: Json, live: Json): readonly string[] {
  if (isEmpty(wanted) && isEmpty(live)) return [];
  // The server replaces this word by the value that it chooses.
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
