// The running daemon of a state directory as a process: which one it is, and waiting for its end.
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const lookAgainMs = 50;

/** Asks the daemon on the socket for its process id. Throws when no daemon answers. */
export function daemonPid(socketPath: string): Promise<number> {
  return new Promise((done, fail) => {
    const refuse = (why: unknown): void => fail(new Error(`No daemon answers on ${socketPath}`, { cause: why }));
    const asked = request({ socketPath, path: '/1.0', agent: false, timeout: 10_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', refuse).on('end', () => {
        const pid = Number(/"server_pid":\s*([0-9]+)/.exec(text)?.[1]);
        if (Number.isSafeInteger(pid) && pid > 1) done(pid);
        else refuse(new Error(`it answered ${response.statusCode} without its process id`));
      });
    });
    asked.on('timeout', () => asked.destroy(new Error('it does not answer')));
    asked.on('error', refuse).end();
  });
}

/** Throws what `tooLate` makes when it still runs after that time. */
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
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
