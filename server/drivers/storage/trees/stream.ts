// Runs the programs that write a tree as a stream of bytes or make one of such a stream; which program is the driver's choice.
import { pipeline } from 'node:stream/promises';
import { driverErrors } from '../../driver-error.ts';
import type { ExecError } from '../../../lib/exec.ts';
import { keepOutput } from '../../../lib/buffer-output.ts';
import { confined, keptToRead, keptToWrite, type ConfinedCommand } from '../../../lib/confined.ts';
import { ended, keepAll, keptStderrBytes } from '../copy-tree.ts';
import { programEnv } from '../../../lib/program-env.ts';
import { startProgram } from '../../../lib/start-program.ts';

/** Reads what the program writes; must read to the end, where a failure of the program is thrown. */
export type Consume = (bytes: AsyncIterable<Buffer>) => Promise<void>;

/** The program has ended when this returns or throws. */
export async function readFrom(
  command: ConfinedCommand,
  isGood: (how: ExecError) => boolean,
  consume: Consume,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const [program = ''] = command.argv;
  const child = startProgram({ argv: confined(command), stdio: ['ignore', 'pipe', 'pipe'], env: programEnv });
  keepOutput(child.stdout);
  const end = ended(child, program, 'reading');
  end.catch(() => {});
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  async function* bytes(): AsyncGenerator<Buffer> {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk;
    const how = await end;
    if (!isGood(how)) throw how;
  }
  try {
    await consume(bytes());
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    child.stdout.destroy();
    await end.catch(() => {});
  }
}

/** The program has ended when this returns or throws; what it leaves unread of `bytes` stays unread. */
export async function writeTo(
  command: ConfinedCommand,
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const [program = ''] = command.argv;
  const child = startProgram({ argv: confined(command), stdio: ['pipe', 'ignore', 'pipe'], env: programEnv });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const source = guardedSource(bytes, kill);
  // A program that ends early says why; that its pipe is closed then does not.
  void pipeline(source.bytes, child.stdin).catch(() => {});
  try {
    const how = await ended(child, program, 'writing');
    child.stdin.destroy();
    signal.throwIfAborted();
    const broken = source.broken();
    if (broken !== undefined) throw broken.error;
    if (how.code !== 0) throw how;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    child.stdin.destroy();
  }
}

/** Members are called `PREFIX/…`. */
export function packTree(
  path: string,
  {
    prefix,
    without,
    bounds,
    asRoot,
  }: { prefix: string; without: readonly string[]; bounds: readonly string[]; asRoot: boolean },
): ConfinedCommand {
  const named = prefix === '.' ? [] : [`--transform=flags=rhS;s,^\\.,${prefix.replace(/[\\&,]/g, '\\$&')},`];
  const argv = [
    'tar',
    ...(asRoot ? keepAll : []),
    ...named,
    '--anchored',
    '--no-wildcards',
    ...without.map((name) => `--exclude=./${name}`),
    '--create',
    '--file=-',
    '--format=posix',
    '--sparse',
    ...bounds,
    `--directory=${path}`,
    '.',
  ];
  return { argv, confinement: { reads: [path], writes: [], keeps: keptToRead } };
}

const changed =
  /^tar: (?:.*: (?:file changed as we read it|File removed before we read it|File shrank by .*|socket ignored|Cannot (?:open|savedir): (?:Too many levels of symbolic links|Not a directory)|Cannot open: No such device or address|Cannot readlink: Invalid argument)|Exiting with failure status due to previous errors)$/;

/** Also when files changed, vanished or became others while they were read: processes in the tree may do that all the time. */
export const isPacked = (how: ExecError): boolean =>
  how.code === 0 ||
  how.code === 1 ||
  (how.code === 2 &&
    how.stderr.length < keptStderrBytes &&
    how.stderr
      .trim()
      .split('\n')
      .every((line) => changed.test(line)));

export const isSuccess = (how: ExecError): boolean => how.code === 0;

/** Unpacks into an existing empty directory. */
export function unpackTree(path: string, prefix: string, asRoot: boolean): ConfinedCommand {
  const owners = asRoot ? [...keepAll, '--same-owner', '--same-permissions'] : ['--no-same-owner', '--no-xattrs'];
  // Not stripped by depth, which would leave out the directory itself, with its owner and mode.
  const named = prefix === '.' ? [] : [`--transform=flags=rhS;s,^${prefix.replace(/[\\,.*^$[\]]/g, '\\$&')},.,`];
  const argv = [
    'tar',
    ...owners,
    '--extract',
    '--file=-',
    '--delay-directory-restore',
    ...named,
    `--directory=${path}`,
  ];
  return { argv, confinement: { reads: [], writes: [path], keeps: keptToWrite } };
}

/** Programs take a stream that was cut off between two of its parts for a whole one: its last `size` bytes tell. */
export async function* untilEnd(
  source: AsyncIterable<Buffer>,
  size: number,
  isEnd: (tail: Buffer) => boolean,
): AsyncGenerator<Buffer> {
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    tail = chunk.length >= size ? chunk.subarray(-size) : Buffer.concat([tail, chunk]).subarray(-size);
    // A copy, so that the chunk is not kept for its end.
    tail = Buffer.from(tail);
    yield chunk;
  }
  if (tail.length < size || !isEnd(tail)) throw driverErrors.failed('the stream was cut off: it has no end mark');
}

const endMark = Buffer.alloc(1024);
export const wholeTar = (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> =>
  untilEnd(source, endMark.length, (tail) => tail.equals(endMark));

interface GuardedSource {
  readonly bytes: AsyncIterable<Buffer>;
  readonly broken: () => { readonly error: unknown } | undefined;
}

/**
 * Remembers the error of reading: it belongs to the producer of the bytes, not to the consumer. `onBroken` ends a program that reads them, which
 * must not take the break for the end of its input.
 */
export function guardedSource(
  source: AsyncIterable<Buffer>,
  onBroken: (error: unknown) => void = () => {},
): GuardedSource {
  let broken: { readonly error: unknown } | undefined;
  async function* bytes(): AsyncGenerator<Buffer> {
    try {
      yield* source;
    } catch (error) {
      broken = { error };
      onBroken(error);
      throw error;
    }
  }
  return { bytes: bytes(), broken: () => broken };
}
