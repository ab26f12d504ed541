// `gantry lock`, `gantry force-unlock`: block runs of a set for a while, and remove a lock that no run will release.
import type { Run } from '../../session/context.ts';
import { randomBytes } from 'node:crypto';
import { pause } from '../../../../server/lib/shared/deadline.ts';
import { lockKey } from '../../../core/ownership/set-state.ts';
import { isAbandoned, isOverdue, LockedError, lockIn, newLock, type Lock } from '../../../engine/runs/lock.ts';
import { changeNotes } from '../../../engine/notes/notes.ts';
import { SetNotes } from '../../../engine/notes/set-notes.ts';
import { confirm } from '../../session/confirm.ts';
import type { LockOptions, UnlockOptions } from './applying-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { parseDuration } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';

const defaultLockMs = 3_600_000;

export const lock: Run<LockOptions> = async (context) => {
  const { options } = context;
  const set = setNameOf(context.options, []);
  const ttlMs = parseDuration('--for', options.for) ?? defaultLockMs;
  const nowMs = context.io.nowMs();
  const made = newLock(randomBytes(6).toString('hex'), nowMs, ttlMs, options.reason ?? 'gantry lock');
  await withClient(context, (client) =>
    changeNotes(
      { notes: new SetNotes(client, set, options.project), pause },
      (config) => {
        const held = lockIn(config, set);
        const isFree = held === undefined || isAbandoned(held) || isOverdue(held, nowMs);
        if (!isFree) throw new CliError(new LockedError(set, held).message, exitCodes.locked);
        return { [lockKey(set)]: JSON.stringify(made) };
      },
      context.stop,
    ),
  );
  context.json(JSON.stringify(made));
  context.out(
    `The set ${set} is locked until ${made.expires}; gantry force-unlock --set ${set} ${made.id} releases it.`,
  );
  return exitCodes.ok;
};

/** `id`: removes only this lock, never a newer one by mistake. */
export const forceUnlock: Run<UnlockOptions> = async (context, [id]) => {
  const set = setNameOf(context.options, []);
  return withClient(context, async (client) => {
    const notes = new SetNotes(client, set, context.options.project);
    const held: Lock | undefined = lockIn((await notes.read(context.stop)).config, set);
    if (held === undefined) {
      context.out(`The set ${set} is not locked.`);
      return exitCodes.ok;
    }
    if (id !== undefined && id !== held.id)
      throw usageError(`the set ${set} is locked by ${held.who} as ${held.id}, not as ${id}`);
    if (id === undefined) await confirm(context, `Take the lock of the set ${set} away from ${held.who}?`);
    await changeNotes(
      { notes, pause },
      (config) => {
        const now = lockIn(config, set);
        if (now === undefined) return undefined;
        if (now.id !== held.id)
          throw new CliError(`meanwhile ${now.who} locked the set ${set}: nothing was changed`, exitCodes.locked);
        return { [lockKey(set)]: '' };
      },
      context.stop,
    );
    context.out(`The set ${set} is unlocked.`);
    return exitCodes.ok;
  });
};
