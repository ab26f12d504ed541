// Identifies this process uniquely, across hosts, and checks whether the process of such an identity has ended.
import { readlinkSync } from 'node:fs';
import { readBootId, readProcess } from '../lib/shared/processes.ts';
import { attempt } from '../lib/shared/attempt.ts';

/** Boot, pid namespace, process id, and start time. */
export function processIdentity(): string {
  return [readBootId(), pidNamespace(), process.pid, startedAt(process.pid)].join('/');
}

/** True only if it ran on this host since this boot, and is gone. */
export function hasProcessEnded(identity: string): boolean {
  const [boot, namespace, pid, started] = identity.split('/');
  if (boot === '' || boot !== readBootId() || namespace !== pidNamespace()) return false;
  return startedAt(Number(pid)) !== started;
}

const pidNamespace = (): string => attempt(() => readlinkSync('/proc/self/ns/pid').replaceAll('/', ''), '');

/** In ticks since the boot; empty if there is no such process. */
const startedAt = (pid: number): string => readProcess(pid)?.startTime.toString() ?? '';
