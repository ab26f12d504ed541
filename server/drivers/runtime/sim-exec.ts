// The handful of commands that a simulated container understands. Starts no process.
import { readFileSync, realpathSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimeExecResult } from './driver.ts';

export interface SimCommandContext {
  readonly rootfs: string;
  readonly hostname: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

type Command = (
  args: readonly string[],
  context: SimCommandContext,
  signal: AbortSignal,
) => Promise<RuntimeExecResult> | RuntimeExecResult;

const result = (exitCode: number, stdout = '', stderr = ''): RuntimeExecResult => ({ exitCode, stdout, stderr });

const commands: Readonly<Record<string, Command>> = {
  true: () => result(0),
  false: () => result(1),
  echo: (args) => result(0, `${args.join(' ')}\n`),
  hostname: (_args, context) => result(0, `${context.hostname}\n`),
  pwd: (_args, context) => result(0, `${context.cwd}\n`),
  env: (_args, context) =>
    result(
      0,
      Object.entries(context.env)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
    ),
  cat: (args, context) => {
    try {
      return result(0, args.map((path) => readInside(context, path)).join(''));
    } catch {
      return result(1, '', `cat: can't open '${args.join(' ')}': No such file or directory\n`);
    }
  },
  sleep: async ([seconds = ''], _context, signal) => {
    if (!/^[0-9]+(\.[0-9]+)?$/.test(seconds)) return result(1, '', `sleep: invalid number '${seconds}'\n`);
    await sleep(Number(seconds) * 1000, undefined, { signal });
    return result(0);
  },
};

/** Rejects with the signal's reason on abort. Unknown commands end with 127, as a shell says it. */
export async function runSimCommand(
  argv: readonly string[],
  context: SimCommandContext,
  signal: AbortSignal,
): Promise<RuntimeExecResult> {
  signal.throwIfAborted();
  const [file = '', ...args] = argv;
  const name = posix.basename(file);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) return result(127, '', `${file}: not found\n`);
  try {
    return await command(args, context, signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** The container's files only: a link that leads out of the rootfs reads as absent. */
function readInside(context: SimCommandContext, path: string): string {
  const root = realpathSync(context.rootfs);
  const real = realpathSync(join(root, posix.resolve('/', context.cwd, path)));
  if (real !== root && !real.startsWith(root + sep)) throw new Error('outside of the root file system');
  return readFileSync(real, 'utf8');
}
