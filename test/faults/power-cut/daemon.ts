// gantryd as a group of processes that can be paused together, so that a disk can be copied while no process writes.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface GroupedDaemon {
  readonly socketPath: string;
  readonly pid: number;
  readonly log: readonly string[];
  /** Pauses the daemon and every program it has started. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
}

/** `prefix`: a program that execs the daemon. Throws with its log if it ends before it is ready. */
export async function startGrouped(
  gantryd: string,
  stateDir: string,
  prefix: readonly string[] = [],
): Promise<GroupedDaemon> {
  const [program, ...argv] = [...prefix, process.execPath, gantryd, '--state-dir', stateDir, '--runtime', 'sim'];
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const ended = new Promise<undefined>((resolve) => child.once('exit', () => resolve(undefined)));
  const ready = new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  const line = await Promise.race([ready, ended]);
  if (line === undefined || child.pid === undefined) throw new Error(`gantryd did not start:\n${log.join('\n')}`);
  const group = -child.pid;
  return {
    socketPath: (JSON.parse(line) as { socket: string }).socket,
    pid: child.pid,
    log,
    freeze: () => void process.kill(group, 'SIGSTOP'),
    thaw: () => void process.kill(group, 'SIGCONT'),
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(group, 'SIGKILL');
      await ended;
    },
  };
}
