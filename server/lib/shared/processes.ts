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

export const readProcess = (pid: number): ProcessFacts | undefined => attempt(() => factsOf(pid));

function factsOf(pid: number): ProcessFacts {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in parentheses and may itself contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    startTime: Number(fields[19]),
    parentPid: Number(fields[1]),
    isZombie: fields[0] === 'Z' || fields[0] === 'X',
  };
}

/** What the kernel answers when the reader has too few descriptors, or the host too little memory. */
const exhausted: ReadonlySet<string | undefined> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** A process that cannot be looked at for want of descriptors has not ended: a container would lose its devices. */
export function isSameProcess(pid: number, startTime: number): boolean {
  try {
    const facts = factsOf(pid);
    return facts.startTime === startTime && !facts.isZombie;
  } catch (error) {
    return exhausted.has((error as NodeJS.ErrnoException).code);
  }
}

/** Empty if the host does not provide it. */
export const readBootId = (): string => readProc('sys/kernel/random/boot_id')?.trim() ?? '';

/** The text of a file below /proc; undefined if it cannot be read. */
export const readProc = (path: string): string | undefined => attempt(() => readFileSync(`/proc/${path}`, 'utf8'));
