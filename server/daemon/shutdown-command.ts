// gantryd shutdown: asks the daemon of a state directory to shut the host's containers down, and waits for its end.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { daemonPid, untilEnded } from './daemon-process.ts';
import { type HostTask, runHostCommand } from './host-command.ts';

const usage = 'Usage: gantryd shutdown --state-dir DIR [--timeout SECONDS]\n';

export const runShutdownCommand = (argv: readonly string[]): Promise<number> =>
  runHostCommand({ name: 'shutdown', usage, argv }, readTask);

function readTask(args: string[]): HostTask | string {
  const options = { 'state-dir': { type: 'string' }, timeout: { type: 'string' } } as const;
  const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
  const { 'state-dir': stateDir, timeout } = values;
  if (stateDir === undefined) return '--state-dir is required';
  if (timeout !== undefined && !/^[0-9]{1,9}$/.test(timeout))
    return `--timeout must be a number of seconds, is ${timeout}`;
  const seconds = timeout === undefined ? Number.POSITIVE_INFINITY : Number(timeout);
  return { run: () => shutDown(join(resolve(stateDir), 'unix.socket'), seconds) };
}

async function shutDown(socketPath: string, seconds: number): Promise<object> {
  const pid = await daemonPid(socketPath);
  process.kill(pid, 'SIGPWR');
  await untilEnded(
    pid,
    seconds * 1000,
    () => new Error(`the daemon (process ${pid}) is still stopping containers after ${seconds} s`),
  );
  return {};
}
