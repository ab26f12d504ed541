// Tells this process from every other one, also of other hosts, and whether the process of such an identity has ended.
import { readFileSync, readlinkSync } from 'node:fs';

/** Boot, namespace of process ids, process id, and when it started. */
export function processIdentity(): string {
  return [bootId(), pidNamespace(), process.pid, startedAt(process.pid)].join('/');
}

/** True only when it was on this host, since this boot, and is gone. */
export function hasProcessEnded(identity: string): boolean {
  const [boot, namespace, pid, started] = identity.split('/');
  if (boot === '' || boot !== bootId() || namespace !== pidNamespace()) return false;
  return startedAt(Number(pid)) !== started;
}

const bootId = (): string => readOr('', () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
const pidNamespace = (): string => readOr('', () => readlinkSync('/proc/self/ns/pid').replaceAll('/', ''));

/** In ticks since the boot; empty when there is no such process. */
function startedAt(pid: number): string {
  // The name in parentheses may hold anything; 19 more fields come before the start.
  const stat = readOr('', () => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function readOr(other: string, read: () => string): string {
  try {
    return read();
  } catch {
    return other;
  }
}
