// Tells this process from every other one, also of other hosts, and whether the process of such an identity has ended.
import { readlinkSync } from 'node:fs';
import { readBootId, readProcess } from '../lib/shared/processes.ts';

/** Boot, namespace of process ids, process id, and when it started. */
export function processIdentity(): string {
  return [readBootId(), pidNamespace(), process.pid, startedAt(process.pid)].join('/');
}

/** True only when it was on this host, since this boot, and is gone. */
export function hasProcessEnded(identity: string): boolean {
  const [boot, namespace, pid, started] = identity.split('/');
  if (boot === '' || boot !== readBootId() || namespace !== pidNamespace()) return false;
  return startedAt(Number(pid)) !== started;
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll('/', '');
  } catch {
    return '';
  }
}

/** In ticks since the boot; empty when there is no such process. */
const startedAt = (pid: number): string => readProcess(pid)?.startTime.toString() ?? '';
