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

/** Whether the process has prepared for a signal: catches it, blocks it (to read it from a descriptor), or waits for it. */
export function isReadyFor(pid: number, signal: number): boolean {
  if (isBlocking(pid, signal) || isInMask(pid, 'SigCgt', signal)) return true;
  // While a process waits for a set of signals the kernel shows them as not blocked.
  return read(`/proc/${pid}/wchan`)?.includes('sigtimedwait') === true;
}

export function isBlocking(pid: number, signal: number): boolean {
  return isInMask(pid, 'SigBlk', signal);
}

function isInMask(pid: number, mask: string, signal: number): boolean {
  const status = read(`/proc/${pid}/status`) ?? '';
  const digits = new RegExp(`^${mask}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1];
  return digits !== undefined && ((BigInt(`0x${digits}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

/** Start times are counted in these whatever the kernel's own clock rate is. */
const ticksPerSecond = 100;

export function ageSeconds(startTime: number): number {
  return Number(read('/proc/uptime')?.split(' ')[0] ?? 0) - startTime / ticksPerSecond;
}

export function readCommandLine(pid: number): string {
  return (read(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
}

/** Host id of an id in the user namespace of a process; the id itself where its map does not say. */
export function hostIdOf(pid: number, kind: 'uid' | 'gid', id: number): number {
  for (const line of (read(`/proc/${pid}/${kind}_map`) ?? '').split('\n')) {
    const [inside = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number);
    if (id >= inside && id < inside + count) return outside + (id - inside);
  }
  return id;
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
