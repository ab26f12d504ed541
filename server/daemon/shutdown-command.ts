// gantryd shutdown: tells the daemon of a state directory that the host goes down, and waits for its end.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorText } from '../lib/shared/reason.ts';
import { daemonPid, untilEnded } from './daemon-process.ts';

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;

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
    await untilEnded(
      pid,
      wish.timeoutMs,
      () => new Error(`the daemon (process ${pid}) is still stopping containers after ${wish.timeoutMs / 1000} s`),
    );
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
