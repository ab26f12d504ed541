// A controller as a separate process that can be killed, with its output.
import { spawn, type ChildProcess } from 'node:child_process';
import { plainEnv } from '../cli/programs.ts';
import { until } from '../until.ts';
import { waitMs } from './world.ts';

export interface ControllerProcess {
  readonly child: ChildProcess;
  /** Its log, so far. */
  readonly log: () => string;
  /** What it printed, so far. */
  readonly out: () => string;
}

export function spawnController(gantry: string, file: string): ControllerProcess {
  const child = spawn(process.execPath, [gantry, 'controller', '--config', file], {
    env: plainEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  return { child, log: () => log, out: () => out };
}

/** Resolves with its address. */
export async function listening({ child, log, out }: ControllerProcess): Promise<string> {
  await until(() => {
    if (child.exitCode !== null) throw new Error(log());
    return out().includes('Listening on ');
  }, waitMs);
  return /Listening on (\S+)/.exec(out())?.[1] ?? '';
}

/** Sends SIGKILL; returns at once when it has ended. */
export async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
