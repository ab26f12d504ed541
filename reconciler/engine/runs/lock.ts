// The lock of a set, a key of the server config with an end: who may take it when, and what it says. Pure but for asking
// whether a process lives. Taking, renewing and releasing it is set-run.ts.
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { lockKey } from '../../core/ownership/set-state.ts';
import type { ServerConfig } from './server-notes.ts';

export interface Lock {
  readonly id: string;
  /** `root@host (process 12)`, for people. */
  readonly who: string;
  /** Changes with every boot: with the process number it tells whether a holder on this machine still lives. */
  readonly boot: string;
  readonly pid: number;
  /** What the process number stood for, as Linux counts starts. */
  readonly start: string;
  readonly at: string;
  readonly expires: string;
  /** Counts renewals. */
  readonly beat: number;
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

/** Locks of runs of this process that have not come to their end. */
export const held = new Set<string>();

export function newLock(id: string, nowMs: number, ttlMs: number, reason?: string): Lock {
  return {
    id,
    who: `${whoAmI()} (process ${process.pid})`,
    boot: bootId(),
    pid: process.pid,
    start: startOf(process.pid) ?? '',
    at: new Date(nowMs).toISOString(),
    expires: new Date(nowMs + ttlMs).toISOString(),
    beat: 0,
    ...(reason === undefined ? {} : { reason }),
  };
}

export const renewed = (lock: Lock, nowMs: number, ttlMs: number): Lock => ({
  ...lock,
  expires: new Date(nowMs + ttlMs).toISOString(),
  beat: lock.beat + 1,
});

export function lockIn(config: ServerConfig, set: string): Lock | undefined {
  const text = config[lockKey(set)];
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const value = JSON.parse(text) as Partial<Lock> | null;
    if (typeof value?.id !== 'string' || typeof value.expires !== 'string') return undefined;
    return { who: 'somebody', boot: '', pid: 0, start: '', at: '', beat: 0, ...value } as Lock;
  } catch {
    return undefined;
  }
}

/** Its process ran on this machine and is gone: nobody will ever release it. */
export function isAbandoned(lock: Lock): boolean {
  if (lock.reason !== undefined || lock.boot === '' || lock.boot !== bootId()) return false;
  const isOurs = lock.pid === process.pid && lock.start === startOf(process.pid);
  return isOurs ? !held.has(lock.id) : startOf(lock.pid) !== lock.start;
}

/** By our clock, which may be wrong: it is taken only after nobody renewed it while we looked on. */
export const isOverdue = (lock: Lock, nowMs: number): boolean => !(Date.parse(lock.expires) > nowMs);

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/** When a process began, in clock ticks after the boot; undefined when there is none. */
function startOf(pid: number): string | undefined {
  try {
    // The name, in parentheses, may hold anything; the 22nd field is the 20th after it.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/** `root@host`. */
export const whoAmI = (): string => `${userName()}@${hostname()}`;

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 0);
  }
}
