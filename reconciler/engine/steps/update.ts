// Updates an object: reads it, merges the edits onto the live object, and writes it back under the ETag of that read.
import type { KindName } from '../../../server/api/kinds.ts';
import { hasUnknownOutcome, isNotFound, isPreconditionFailed } from '../../../server/client/client-error.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { isStale, putBody, stalePaths } from '../../core/plan/apply-edits.ts';
import { withoutAddress } from '../../core/kinds/server-config.ts';
import { mapOf, asText } from '../../core/documents/json-values.ts';
import { recordsIn, renderRecord, withOwnership } from '../../core/ownership/owner-records.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { targetPart } from './create.ts';
import { sendAndWait, StaleError, type Note, type StepContext } from './context.ts';
import { updateMembers } from './member-config.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import { isMove } from '../../core/live/placement.ts';
import { waitForRunning } from '../running-operations.ts';

const attempts = 5;
/** A random pause, so that concurrent writers stop colliding. */
const overtakenPauseMs = 20;
const keepsChanging = `others keep changing it: ${attempts} writes in a row met a newer version`;

export async function updateObject(context: StepContext, whole: UpdateStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  const step = await moveFirst(context, await updateMembers(context, whole, signal), signal);
  for (let attempt = 1; ; attempt += 1) {
    const found = await client.get(step.kind, step.name, signal, step.target).catch((error: unknown) => {
      throw isNotFound(error) ? new StaleError('it no longer exists', { cause: error }) : error;
    });
    const live = { ...found, metadata: asPlanned(step, found.metadata) };
    const isAsPlanned = step.etag !== undefined && step.etag === live.etag;
    const stale = isAsPlanned ? [] : stalePaths(live.metadata, step);
    if (stale.length > 0) throw new StaleError(`someone changed it since the plan was made: ${stale.join(', ')}`);
    const edited = putBody(step.kind, live.metadata, step.edits);
    context.permit?.(whole, { before: putBody(step.kind, live.metadata, []), after: edited });
    const owned = context.hash === undefined ? edited : withOwnership(step.kind, edited, step.owner, context.hash);
    if (isDone(live.metadata, step) && isNoted(live.metadata, owned)) return attempt === 1 ? noteOf(step) : undefined;
    const sent = step.kind === 'server_config' ? withUnset(live.metadata, owned) : owned;
    const body = sent as unknown as KindTypes[KindName]['put'];
    const write = { ...targetPart(step), ...(live.etag === undefined ? {} : { ifMatch: live.etag }) };
    try {
      await sendAndWait(context, () => client.put(step.kind, step.name, body, write, signal), signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      // A conflict or an unknown outcome: the next read shows the state.
      const isOvertaken = isPreconditionFailed(error);
      if (!isOvertaken && !hasUnknownOutcome(error)) throw error;
      if (attempt < attempts) await context.pause(overtakenPauseMs * attempt, signal);
      else throw isOvertaken ? new StaleError(keepsChanging, { cause: error }) : error;
    }
  }
}

/** Drops a saved address on which nothing listens, as the plan does, so that it is set again. */
function asPlanned<T extends object>(step: UpdateStep, live: T): T {
  const setsAddress = step.edits.some(
    ({ path, before }) => path === 'config.core.https_address' && before === undefined,
  );
  if (step.kind !== 'server_config' || !setsAddress) return live;
  return { ...live, config: withoutAddress(mapOf((live as JsonObject)['config'])) };
}

/** LXD keeps custom keys that a PUT of the server omits, so removed keys are sent as empty text. */
function withUnset(live: object, body: JsonObject): JsonObject {
  const [before, after] = [mapOf((live as JsonObject)['config']), mapOf(body['config'])];
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  return { ...body, config: { ...after, ...Object.fromEntries(gone.map((key) => [key, ''] as const)) } };
}

/** True when no edit is left: with every `before` set to its `after`, only a difference makes the step stale. */
function isDone(live: object, step: UpdateStep): boolean {
  return !isStale(live, { ...step, edits: step.edits.map((edit) => ({ ...edit, before: edit.after })) });
}

/** Objects without config have their records elsewhere. */
const noteOf = (step: UpdateStep): Note => (step.edits.length === 0 ? undefined : 'it already had these values');

/** True when the owner's records are already as planned. */
function isNoted(live: object, owned: object): boolean {
  const [now, then] = [recordsIn(live), recordsIn(owned)];
  const text = (records: typeof now, set: string): string => {
    const record = records.get(set);
    return record === undefined ? '' : renderRecord(record);
  };
  return [...new Set([...now.keys(), ...then.keys()])].every((set) => text(now, set) === text(then, set));
}

/** Returns the rest of the step. A container that is there already, from an earlier run, does not move again. */
async function moveFirst(context: StepContext, step: UpdateStep, signal: AbortSignal): Promise<UpdateStep> {
  const move = step.kind === 'container' ? step.edits.find(isMove) : undefined;
  if (move === undefined) return step;
  const rest = { ...step, edits: step.edits.filter((edit) => edit !== move) };
  const [from, to] = [asText(move.before), asText(move.after)];
  const now = await locationOf(context, step.name, signal);
  if (now === to) return rest;
  if (now !== from) throw new StaleError(`someone moved it to ${now} since the plan was made`);
  context.onProgress(`moving from ${from} to ${to}`);
  const path = pathOf('container', step.name);
  const json = { name: step.name, migration: true };
  const send = () => context.client.http.send<unknown>({ method: 'POST', path, query: { target: to }, json }, signal);
  try {
    await sendAndWait(context, send, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!hasUnknownOutcome(error)) throw error;
    await waitForRunning(context.client, 'container', step.name, signal);
    if ((await locationOf(context, step.name, signal)) !== to) throw error;
  }
  return rest;
}

async function locationOf({ client }: StepContext, name: string, signal: AbortSignal): Promise<string> {
  const found = await client.get('container', name, signal).catch((error: unknown) => {
    throw isNotFound(error) ? new StaleError('it no longer exists', { cause: error }) : error;
  });
  return found.metadata.location;
}
