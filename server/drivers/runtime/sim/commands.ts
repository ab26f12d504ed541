// The few commands that a simulated container has. Starts no process; shell.ts has the shell around them.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TerminalSize } from '../command.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

export interface SimProcessView {
  readonly rootfs: string;
  readonly hostname: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly uid: number;
  readonly gid: number;
  /** The current size; undefined without a terminal. */
  readonly terminal: () => TerminalSize | undefined;
  /** Next bytes of the input; undefined at its end. */
  readonly read: () => Promise<Buffer | undefined>;
  /** Resolves when there is room for more. Rejects if the reader is gone. */
  readonly out: (text: string | Buffer) => Promise<void>;
  readonly err: (text: string) => Promise<void>;
  /** Aborts when the process is killed. */
  readonly signal: AbortSignal;
}

type Command = (args: readonly string[], process: SimProcessView) => Promise<number> | number;

const blockBytes = 64 * 1024;

const commands: Readonly<Record<string, Command>> = {
  true: () => 0,
  false: () => 1,
  echo: (args, { out }) => done(out(`${args.join(' ')}\n`)),
  hostname: (_args, { out, hostname }) => done(out(`${hostname}\n`)),
  pwd: (_args, { out, cwd }) => done(out(`${cwd}\n`)),
  id: (args, { out, uid, gid }) => done(out(`${args[0] === '-g' ? gid : uid}\n`)),
  env: (_args, { out, env }) =>
    done(
      out(
        Object.entries(env)
          .map(([key, value]) => `${key}=${value}\n`)
          .join(''),
      ),
    ),
  tty: async (_args, { out, terminal }) => {
    await out(terminal() === undefined ? 'not a tty\n' : '/dev/pts/0\n');
    return terminal() === undefined ? 1 : 0;
  },
  stty: async ([what], { out, err, terminal }) => {
    const size = terminal();
    if (size === undefined || what !== 'size') return done(err('stty: standard input\n'), 1);
    return done(out(`${size.rows} ${size.columns}\n`));
  },
  cat,
  head,
  seq: async ([from = '1', to = from], { out, signal }) => {
    for (let number = Number(from); number <= Number(to);) {
      signal.throwIfAborted();
      const lines: number[] = [];
      for (; lines.length < 1000 && number <= Number(to); number++) lines.push(number);
      await out(`${lines.join('\n')}\n`);
    }
    return 0;
  },
  sleep: async ([seconds = ''], { err, signal }) => {
    if (!/^[0-9]+(\.[0-9]+)?$/.test(seconds)) return done(err(`sleep: invalid number '${seconds}'\n`), 1);
    await sleep(Math.min(Number(seconds) * 1000, 2 ** 31 - 1), undefined, { signal });
    return 0;
  },
};

export const hasCommand = (name: string): boolean => Object.hasOwn(commands, name);

/** 127 for an unknown command, 126 for a file that is not executable, as in a shell. */
export async function runSimCommand(argv: readonly string[], process: SimProcessView): Promise<number> {
  const [file = '', ...args] = argv;
  const name = posix.basename(file);
  const command = hasCommand(name) ? commands[name] : undefined;
  if (command !== undefined) return command(args, process);
  const exists = file.includes('/') && isInside(process, file);
  await process.err(exists ? `${file}: Permission denied\n` : `${file}: not found\n`);
  return exists ? 126 : 127;
}

async function done(written: Promise<void>, code = 0): Promise<number> {
  await written;
  return code;
}

async function cat(args: readonly string[], process: SimProcessView): Promise<number> {
  for (const path of args.length === 0 ? ['-'] : args) {
    if (path === '-') {
      for (let chunk = await process.read(); chunk !== undefined; chunk = await process.read())
        await process.out(chunk);
      continue;
    }
    const content = readInside(process, path);
    if (content === undefined) return done(process.err(`cat: can't open '${path}': No such file or directory\n`), 1);
    await process.out(content);
  }
  return 0;
}

/** `head -c BYTES [FILE]`; /dev/zero never ends. */
async function head(args: readonly string[], process: SimProcessView): Promise<number> {
  const [flag, count = '0', path = '-'] = args;
  if (flag !== '-c' || !/^[0-9]+$/.test(count)) return done(process.err('head: only -c BYTES [FILE]\n'), 1);
  let left = Number(count);
  const zeros = Buffer.alloc(blockBytes);
  const content = path === '-' || path === '/dev/zero' ? undefined : readInside(process, path);
  if (path !== '-' && path !== '/dev/zero') return done(process.out((content ?? Buffer.alloc(0)).subarray(0, left)));
  while (left > 0) {
    process.signal.throwIfAborted();
    const block = path === '-' ? await process.read() : zeros;
    if (block === undefined) break;
    await process.out(block.subarray(0, left));
    left -= Math.min(block.length, left);
  }
  return 0;
}

/** Reads only the container's files: a link that leads out of the rootfs reads as absent. */
function readInside(process: SimProcessView, path: string): Buffer | undefined {
  try {
    const real = inside(process, path);
    return real === undefined || !statSync(real).isFile() ? undefined : readFileSync(real);
  } catch {
    return undefined;
  }
}

const isInside = (process: SimProcessView, path: string): boolean =>
  attempt(() => inside(process, path) !== undefined, false);

/** The place of a path on this host; undefined if its links lead out of the rootfs. Throws if there is none. */
export function inside(process: Pick<SimProcessView, 'rootfs' | 'cwd'>, path: string): string | undefined {
  const root = realpathSync(process.rootfs);
  const real = realpathSync(join(root, posix.resolve('/', process.cwd, path)));
  return real === root || real.startsWith(root + sep) ? real : undefined;
}
