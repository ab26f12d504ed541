// `gantry lock`, `gantry force-unlock`: block runs of a set for some time, and remove an orphaned lock.
import type { Context, Fleet, Run, Output } from '../../session/context.ts';
import { randomBytes } from 'node:crypto';
import { pause } from '../../../../server/lib/shared/deadline.ts';
import { lockKey } from '../../../core/ownership/set-state.ts';
import { isAbandoned, isOverdue, LockedError, lockIn, newLock, type Lock } from '../../../engine/notes/lock.ts';
import {
  changeNotes,
  type Notes,
  type NotesClient,
  type NotesConfig,
  type Patch,
} from '../../../engine/notes/notes.ts';
import { SetNotes } from '../../../engine/notes/set-notes.ts';
import { sharedNotes } from '../../../engine/notes/shared-notes.ts';
import { confirm } from '../../session/confirm.ts';
import type { LockOptions, UnlockOptions } from './applying-verbs.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { parseDuration } from '../../flags/parse-values.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import { askHosts, errorOf, failureCode, type Answer } from '../../hosts/ask-hosts.ts';
import { withClient } from '../../session/connect.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';

const defaultLockMs = 3_600_000;

export const lock: Run<LockOptions> = async (context, _args, fleet) =>
  report(context, fleet, await askHosts(context, fleet, lockOn));

async function lockOn(context: Context<LockOptions>): Promise<Outcome> {
  const { options } = context;
  const set = setNameOf(context.options, []);
  const ttlMs = parseDuration('--for', options.for) ?? defaultLockMs;
  const nowMs = context.io.nowMs();
  const made = newLock(randomBytes(6).toString('hex'), nowMs, ttlMs, options.reason ?? 'gantry lock');
  const take = (config: NotesConfig): Patch => {
    const held = lockIn(config, set);
    const isFree = held === undefined || held.id === made.id || isAbandoned(held) || isOverdue(held, nowMs);
    if (!isFree) throw new CliError(new LockedError(set, held).message, exitCodes.locked);
    return { [lockKey(set)]: JSON.stringify(made) };
  };
  await withClient(context, async (client) => {
    const [shared, own] = await placesOf(context, client, set);
    if (shared !== undefined) await changeNotes({ notes: shared, pause }, take, context.stop);
    try {
      await changeNotes({ notes: own, pause }, take, context.stop);
    } catch (error) {
      if (shared !== undefined) await unlock(shared, set, made.id, context.stop);
      throw error;
    }
  });
  const text = `The set ${set} is locked until ${made.expires}; gantry force-unlock --set ${set} ${made.id} releases it.`;
  return { text, made };
}

/** `id`: removes only this lock, never a newer one by mistake. */
export const forceUnlock: Run<UnlockOptions> = async (context, [id], fleet) => {
  if (fleet !== undefined && id !== undefined)
    throw usageError(`a lock id belongs to one host: select the host of ${id} with --host`);
  if (fleet !== undefined && !isApproved(context.options))
    throw usageError('removing the locks of several hosts needs --auto-approve');
  return report(context, fleet, await askHosts(context, fleet, (own) => unlockOn(own, id)));
};

async function unlockOn(context: Context<UnlockOptions>, id: string | undefined): Promise<Outcome> {
  const set = setNameOf(context.options, []);
  return withClient(context, async (client) => {
    const [shared, own] = await placesOf(context, client, set);
    const places = shared === undefined ? [own] : [own, shared];
    const held = await lockOf(places, set, context.stop);
    if (held === undefined) return { text: `The set ${set} is not locked.` };
    if (id !== undefined && id !== held.id)
      throw usageError(`the set ${set} is locked by ${held.who} as ${held.id}, not as ${id}`);
    if (id === undefined)
      await confirm(context, `Take the lock of the set ${set} away from ${held.who}?`, 'Taking a lock away');
    for (const notes of places) await unlock(notes, set, held.id, context.stop);
    const other = await lockOf(places, set, context.stop);
    if (other !== undefined)
      throw new CliError(`the set ${set} is also locked by ${other.who}: unlock it again`, exitCodes.locked);
    return { text: `The set ${set} is unlocked.` };
  });
}

interface Outcome {
  readonly text: string;
  /** The lock that was taken. */
  readonly made?: Lock;
}

function report(context: Output, fleet: Fleet | undefined, answers: readonly Answer<Outcome>[]): ExitCode {
  if (fleet !== undefined && context.isJson) {
    const hosts = answers.map((one) => ({
      host: one.host?.name,
      ...(one.failure === undefined ? { message: one.value.text } : errorOf(one)),
    }));
    context.jsonObjects({ hosts });
    return failureCode(answers);
  }
  for (const { host, value } of answers.filter((one) => one.failure === undefined)) {
    if (value.made !== undefined) context.json(JSON.stringify(value.made));
    context.out(host === undefined ? value.text : `${host.name}: ${value.text}`);
  }
  return failureCode(answers);
}

/** The project notes, where restricted clients see the lock, and the notes of the set. */
async function placesOf(
  { options, stop }: Context<LockOptions | UnlockOptions>,
  client: NotesClient,
  set: string,
): Promise<readonly [Notes | undefined, Notes]> {
  return [await sharedNotes(client, options.project, stop), new SetNotes(client, set, options.project)];
}

async function lockOf(places: readonly Notes[], set: string, signal: AbortSignal): Promise<Lock | undefined> {
  for (const notes of places) {
    const found = lockIn((await notes.read(signal)).config, set);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Leaves a lock with another id. */
const unlock = (notes: Notes, set: string, id: string, signal: AbortSignal): Promise<void> =>
  changeNotes(
    { notes, pause },
    (config) => (lockIn(config, set)?.id === id ? { [lockKey(set)]: '' } : undefined),
    signal,
  );
