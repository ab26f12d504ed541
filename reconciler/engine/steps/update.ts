// Updates an object: reads it, merges the edits onto the live object, and writes it back under the ETag of that read.
import type { KindName } from '../../../server/api/kinds.ts';
import { hasUnknownOutcome } from '../../../server/client/client-error.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import type { Change } from '../../core/documents/change.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { isStale, putBody } from '../../core/plan/apply-edits.ts';
import { withoutAddress } from '../../core/kinds/server-config.ts';
import { mapOf, asText } from '../../core/documents/json-values.ts';
import { recordsIn, renderRecord, withOwnership } from '../../core/ownership/owner-records.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { targetPart } from './create.ts';
import { sendAndWait, StaleError, type Note, type StepContext } from './context.ts';
import { isOfMember, readMembers, updateMembers } from './member-config.ts';
import { pauseIfOvertaken, refuseStale, staleIfGone } from './overtaken.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import { isMove } from '../../core/live/placement.ts';
import { waitForRunning } from '../running-operations.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export async function updateObject(context: StepContext, whole: UpdateStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  const [ofMembers, move] = [whole.edits.filter(isOfMember), whole.edits.find((edit) => isContainerMove(whole, edit))];
  const step = { ...whole, edits: whole.edits.filter((edit) => edit !== move && !ofMembers.includes(edit)) };
  if (ofMembers.length > 0 || move !== undefined) {
    // These write before the rest, so the whole step is checked first.
    const members = await readMembers(context, whole, ofMembers, signal);
    await readChecked(context, whole, step, signal);
    await updateMembers(context, whole, members, signal);
    if (move !== undefined) await moveFirst(context, whole, move, signal);
  }
  for (let attempt = 1; ; attempt += 1) {
    const { live, edited } = await readChecked(context, whole, step, signal);
    const owned = context.hash === undefined ? edited : withOwnership(step.kind, edited, step.owner, context.hash);
    if (isDone(live.metadata, step) && isNoted(live.metadata, owned)) return attempt === 1 ? noteOf(step) : undefined;
    const sent = step.kind === 'server_config' ? withUnset(live.metadata, owned) : owned;
    const body = sent as unknown as KindTypes[KindName]['put'];
    const write = { ...targetPart(step), ...withoutUndefined({ ifMatch: live.etag }) };
    try {
      await sendAndWait(context, () => client.put(step.kind, step.name, body, write, signal), signal);
      return undefined;
    } catch (error) {
      await pauseIfOvertaken(context, error, attempt, signal);
    }
  }
}

/** Reads the object. Throws if someone changed what `step` edits, or if a rule forbids the write of `whole`. */
async function readChecked(context: StepContext, whole: UpdateStep, step: UpdateStep, signal: AbortSignal) {
  const found = await context.client.get(step.kind, step.name, signal, step.target).catch(staleIfGone);
  const live = { ...found, metadata: asPlanned(step, found.metadata) };
  const isAsPlanned = step.etag !== undefined && step.etag === live.etag;
  if (!isAsPlanned) refuseStale(live.metadata, step);
  const edited = putBody(step.kind, live.metadata, step.edits);
  context.permit?.(whole, { before: putBody(step.kind, live.metadata, []), after: edited });
  return { live, edited };
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

const isContainerMove = ({ kind }: UpdateStep, edit: Change): boolean => kind === 'container' && isMove(edit);

/** A container that is there already, from an earlier run, does not move again. */
async function moveFirst(context: StepContext, step: UpdateStep, move: Change, signal: AbortSignal): Promise<void> {
  const [from, to] = [asText(move.before), asText(move.after)];
  const now = await locationOf(context, step.name, signal);
  if (now === to) return;
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
}

const locationOf = async ({ client }: StepContext, name: string, signal: AbortSignal): Promise<string> =>
  (await client.get('container', name, signal).catch(staleIfGone)).metadata.location;
