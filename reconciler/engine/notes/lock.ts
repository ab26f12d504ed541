// The lock of a set, an expiring key of its notes: its content, and the rules for taking it. Pure except for the check for a living
// process. set-run.ts takes, renews and releases the lock.
import { hostname, userInfo } from 'node:os';
import { readBootId, readProcess } from '../../../server/lib/shared/processes.ts';
import { lockKey } from '../../core/ownership/set-state.ts';
import type { NotesConfig } from './notes.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Lock {
  readonly id: string;
  /** `root@host (process 12)`, for messages. */
  readonly who: string;
  /** Changes with every boot: with the process number it shows whether a holder on this machine still lives. */
  readonly boot: string;
  readonly pid: number;
  /** Start time of the process, which distinguishes it from a later one with the same number. */
  readonly start: string;
  readonly at: string;
  readonly expires: string;
  /** Number of renewals. */
  readonly beat: number;
  /** A living holder renews it within this time; absent in locks of earlier releases. */
  readonly ttlMs?: number;
  readonly reason?: string;
}

export const lockTtlMs = 60_000;

export class LockedError extends Error {
  override readonly name = 'LockedError';
  readonly lock: Lock;
  constructor(set: string, lock: Lock) {
    const why = lock.reason === undefined ? '' : `: ${lock.reason}`;
    super(`the set ${set} is locked by ${lock.who} since ${lock.at} until ${lock.expires}${why}`);
    this.lock = lock;
  }
}

/** Locks of unfinished runs of this process. */
export const ownLocks = new Set<string>();

export function newLock(id: string, nowMs: number, ttlMs: number, reason?: string): Lock {
  return {
    id,
    who: `${whoAmI()} (process ${process.pid})`,
    boot: readBootId(),
    pid: process.pid,
    start: startOf(process.pid) ?? '',
    at: new Date(nowMs).toISOString(),
    expires: new Date(nowMs + ttlMs).toISOString(),
    beat: 0,
    ttlMs,
    ...withoutUndefined({ reason }),
  };
}

export const renewed = (lock: Lock, nowMs: number, ttlMs: number): Lock => ({
  ...lock,
  expires: new Date(nowMs + ttlMs).toISOString(),
  beat: lock.beat + 1,
});

export function lockIn(config: NotesConfig, set: string): Lock | undefined {
  const text = config[lockKey(set)];
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const value = JSON.parse(text) as Partial<Lock> | null;
    if (typeof value?.id !== 'string' || typeof value.expires !== 'string') return undefined;
    return { who: 'an unknown user', boot: '', pid: 0, start: '', at: '', beat: 0, ...value } as Lock;
  } catch {
    return undefined;
  }
}

/** The holder ran on this machine and is gone, so it never releases the lock. */
export function isAbandoned(lock: Lock): boolean {
  if (lock.reason !== undefined || lock.boot === '' || lock.boot !== readBootId()) return false;
  const isOurs = lock.pid === process.pid && lock.start === startOf(process.pid);
  return isOurs ? !ownLocks.has(lock.id) : startOf(lock.pid) !== lock.start;
}

/** The first set that someone else has locked. */
export function lockedSet(config: NotesConfig, nowMs: number): LockedError | undefined {
  for (const key of Object.keys(config)) {
    if (!key.startsWith(lockKey(''))) continue;
    const set = key.slice(lockKey('').length);
    const lock = lockIn(config, set);
    const isFree = lock === undefined || ownLocks.has(lock.id) || isAbandoned(lock) || isOverdue(lock, nowMs);
    if (!isFree) return new LockedError(set, lock);
  }
  return undefined;
}

/** By the local clock, which may be wrong: the lock is only free if its holder does not renew it while it is watched. */
export const isOverdue = (lock: Lock, nowMs: number): boolean => !(Date.parse(lock.expires) > nowMs);

/** Remembers how long a lock has not been renewed. */
export class LockWatch {
  readonly #graceMs: number;
  readonly #nowMs: () => number;
  #id = '';
  #beat = 0;
  #sinceMs = 0;
  /** The holder of the last lock renewed it while it was watched, so it lives. */
  isRenewed = false;
  constructor(graceMs: number, nowMs: () => number) {
    this.#graceMs = graceMs;
    this.#nowMs = nowMs;
  }
  isUnrenewed(lock: Lock, forMs = this.#graceMs): boolean {
    const isSame = lock.id === this.#id;
    if (!isSame || lock.beat !== this.#beat) {
      this.#sinceMs = this.#nowMs();
      this.isRenewed = isSame;
    }
    [this.#id, this.#beat] = [lock.id, lock.beat];
    return this.#nowMs() - this.#sinceMs >= forMs;
  }
}

/** No run has a longer one, so a lock that does not tell its TTL has this one at most. */
const ttlOf = ({ ttlMs }: Lock): number => ttlMs ?? lockTtlMs;

/** A run that did not renew its lock for its whole TTL while it was watched is gone, whatever its clock wrote. Nobody renews `gantry lock`. */
export const isForsaken = (lock: Lock, watch: LockWatch): boolean =>
  lock.reason === undefined && watch.isUnrenewed(lock, ttlOf(lock));

/** The lock of a run lasts longer than a right clock would have written, so its holder's clock is ahead. */
export const isAhead = (lock: Lock, nowMs: number): boolean =>
  lock.reason === undefined && Date.parse(lock.expires) > nowMs + (ttlOf(lock) * 4) / 3;

/** True if the holder is gone, or is overdue and did not renew the lock while it was watched. */
export function isFree(lock: Lock, watch: LockWatch, nowMs: number): boolean {
  const isUnrenewed = watch.isUnrenewed(lock);
  return isAbandoned(lock) || (isOverdue(lock, nowMs) && isUnrenewed);
}

/** Start of a process in clock ticks after the boot; undefined when the process does not exist. */
const startOf = (pid: number): string | undefined => readProcess(pid)?.startTime.toString();

/** `root@host`. */
export const whoAmI = (): string => `${userName()}@${hostname()}`;

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 0);
  }
}
