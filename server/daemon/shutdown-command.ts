// gantryd shutdown: tells the daemon of a state directory that the host goes down, and waits for its end.
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { errorText } from '../lib/log.ts';

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;
const lookAgainMs = 50;

interface Wish {
  readonly stateDir: string;
  readonly timeoutMs: number;
}

export async function runShutdownCommand(argv: readonly string[]): Promise<number> {
  const wish = readWish(argv);
  if (typeof wish === 'string') {
    process.stderr.write(`gantryd shutdown: ${wish}\n`);
    return exitCodes.usage;
  }
  const socketPath = join(resolve(wish.stateDir), 'unix.socket');
  try {
    const pid = await daemonPid(socketPath);
    process.kill(pid, 'SIGPWR');
    const deadline = performance.now() + wish.timeoutMs;
    while (isAlive(pid)) {
      if (performance.now() > deadline) {
        throw new Error(`the daemon (process ${pid}) is still stopping containers after ${wish.timeoutMs / 1000} s`);
      }
      await sleep(lookAgainMs);
    }
    return exitCodes.ok;
  } catch (error) {
    process.stderr.write(`gantryd shutdown: ${errorText(error)}\n`);
    return exitCodes.failed;
  }
}

function readWish(argv: readonly string[]): Wish | string {
  try {
    const options = { 'state-dir': { type: 'string' }, timeout: { type: 'string' } } as const;
    const { values } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: false });
    const stateDir = values['state-dir'];
    if (stateDir === undefined) return '--state-dir is required';
    if (values.timeout === undefined) return { stateDir, timeoutMs: Number.POSITIVE_INFINITY };
    if (!/^[0-9]{1,9}$/.test(values.timeout)) return `--timeout must be a number of seconds, is ${values.timeout}`;
    return { stateDir, timeoutMs: Number(values.timeout) * 1000 };
  } catch (error) {
    return errorText(error);
  }
}

/** Whoever may write to the socket is told which process it is. */
function daemonPid(socketPath: string): Promise<number> {
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
