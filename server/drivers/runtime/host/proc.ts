// Reads facts about processes from /proc, synchronously: namespaces, signals, command lines. Sends no signals.
import { readProc } from '../../../lib/shared/processes.ts';

/** The process's ids in its own and all outer pid namespaces, outermost (ours) first. */
export function readNamespacePids(pid: number): readonly number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(readProc(`${pid}/status`) ?? '');
  return line?.[1] === undefined ? [] : line[1].split(/\s+/).map(Number);
}

/** Whether the process handles a signal: catches it, blocks it (to read it from a descriptor), or waits for it. */
export function isReadyFor(pid: number, signal: number): boolean {
  if (isBlocking(pid, signal) || isInMask(pid, 'SigCgt', signal)) return true;
  // While a process waits for a set of signals the kernel shows them as unblocked.
  return readProc(`${pid}/wchan`)?.includes('sigtimedwait') === true;
}

export function isBlocking(pid: number, signal: number): boolean {
  return isInMask(pid, 'SigBlk', signal);
}

function isInMask(pid: number, mask: string, signal: number): boolean {
  const status = readProc(`${pid}/status`) ?? '';
  const digits = new RegExp(`^${mask}:\\s*([0-9a-f]+)$`, 'm').exec(status)?.[1];
  return digits !== undefined && ((BigInt(`0x${digits}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

/** The unit of start times, whatever the kernel's own clock rate. */
const ticksPerSecond = 100;

export function ageSeconds(startTime: number): number {
  return Number(readProc('uptime')?.split(' ')[0] ?? 0) - startTime / ticksPerSecond;
}

export function readCommandLine(pid: number): string {
  return (readProc(`${pid}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
}

/** Host id of an id in the user namespace of a process; the id itself if the map lacks it. */
export function hostIdOf(pid: number, kind: 'uid' | 'gid', id: number): number {
  for (const line of (readProc(`${pid}/${kind}_map`) ?? '').split('\n')) {
    const [inside = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number);
    if (id >= inside && id < inside + count) return outside + (id - inside);
  }
  return id;
}
