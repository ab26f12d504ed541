// The process of a state directory's daemon: its pid, and waiting for its end.
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../lib/shared/error-code.ts';
import { askDaemon } from './host-command.ts';

const lookAgainMs = 50;

/** Asks the daemon on the socket for its process id. Throws if no daemon answers. */
export async function daemonPid(socketPath: string): Promise<number> {
  const { environment } = await askDaemon<{ environment: { server_pid?: number } }>({
    socketPath,
    path: '/1.0',
    timeoutMs: 10_000,
  });
  const pid = environment?.server_pid;
  if (pid === undefined || !Number.isSafeInteger(pid) || pid <= 1)
    throw new Error(`The daemon on ${socketPath} answers without its process id`);
  return pid;
}

/** Throws the result of `tooLate` if the process still runs after that time. */
export async function untilEnded(pid: number, timeoutMs: number, tooLate: () => Error): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (isAlive(pid)) {
    if (performance.now() > deadline) throw tooLate();
    await sleep(lookAgainMs);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}
