// Reads single facts about processes from /proc, synchronously. Sends no signals.
import { readFileSync } from 'node:fs';

export interface ProcessFacts {
  /** In clock ticks since boot: together with the pid it names one process for ever. */
  readonly startTime: number;
  readonly parentPid: number;
  /** Ended, only not yet collected by its parent. */
  readonly isZombie: boolean;
}

/** Undefined when there is no such process. */
export function readProcess(pid: number): ProcessFacts | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
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

/** The process's ids in its own and all outer pid namespaces, outermost (ours) first. */
export function readNamespacePids(pid: number): readonly number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(read(`/proc/${pid}/status`) ?? '');
  return line?.[1] === undefined ? [] : line[1].split(/\s+/).map(Number);
}

/** systemd announces itself by blocking its halt signal, SIGRTMIN+3. */
export function blocksSignal(pid: number, signal: number): boolean {
  const line = /^SigBlk:\s*([0-9a-f]+)$/m.exec(read(`/proc/${pid}/status`) ?? '');
  return line?.[1] !== undefined && ((BigInt(`0x${line[1]}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

export function readCommandLine(pid: number): string {
  return (read(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
}

export function readBootId(): string {
  return read('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
