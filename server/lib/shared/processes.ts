// Identifies processes by /proc, synchronously: their pid and start time in one boot of the host. Sends no signals.
import { readFileSync } from 'node:fs';
import { attempt } from './attempt.ts';

export interface ProcessFacts {
  /** In clock ticks since boot: together with the pid it is unique in a boot. */
  readonly startTime: number;
  readonly parentPid: number;
  /** Ended, but not reaped by its parent yet. */
  readonly isZombie: boolean;
}

export function readProcess(pid: number): ProcessFacts | undefined {
  const text = readProc(`${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the program's name in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    startTime: Number(fields[19]),
    parentPid: Number(fields[1]),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}

export function isSameProcess(pid: number, startTime: number): boolean {
  const facts = readProcess(pid);
  return facts !== undefined && facts.startTime === startTime && !facts.isZombie;
}

/** Empty if the host does not provide it. */
export const readBootId = (): string => readProc('sys/kernel/random/boot_id')?.trim() ?? '';

/** The text of a file below /proc; undefined if it cannot be read. */
export const readProc = (path: string): string | undefined => attempt(() => readFileSync(`/proc/${path}`, 'utf8'));
