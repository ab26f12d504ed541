// Runs rsync for one tree over a stream to the other host, as LXD migrates trees. Both ends need the same options.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { keepOutput } from '../../lib/buffer-output.ts';
import { confined, keptToRead, keptToWrite, strengthHere, type ConfinedCommand } from '../../lib/confined.ts';
import { programEnv } from '../../lib/program-env.ts';
import { ended } from './copy-tree.ts';
import { guardedSource } from './trees/stream.ts';

export type RsyncFeature = 'xattrs' | 'delete' | 'compress';

/** One session: bytes both ways, each with its end. */
export interface RsyncLink {
  /** To the other end, and then the end mark. */
  readonly send: (bytes: AsyncIterable<Buffer>) => Promise<void>;
  /** From the other end, up to its end mark, which `drain` also reaches. */
  readonly incoming: { readonly bytes: AsyncIterable<Buffer>; drain(): Promise<void> };
}

const common = ['--numeric-ids', '--devices', '--partial', '--sparse'] as const;

export const featureArgs = (features: readonly RsyncFeature[]): readonly string[] => [
  ...(features.includes('xattrs') ? ['--xattrs', '--filter=-x security.selinux'] : []),
  ...(features.includes('delete') ? ['--delete'] : []),
  ...(features.includes('compress') ? ['--compress', '--compress-level=2'] : []),
];

/** Makes `path` equal to what the other end sends. The other end can write nowhere else. */
export function receiving(path: string, features: readonly RsyncFeature[]): ConfinedCommand {
  const argv = ['rsync', '--server', '-vlogDtpre.iLsfx', ...common, ...featureArgs(features), '.', `${path}/`];
  return { argv, confinement: { reads: [path], writes: [path], keeps: keptToWrite } };
}

/**
 * rsync talks to its other end through a program that it starts: this one passes bytes between it and the descriptors 3 (from the other end)
 * and 4 (to it). It ends with what comes from there: rsync waits for that, and only then closes its own end. A shell takes the standard input
 * away from what it puts aside.
 */
const bridge = `sh -c 'exec 5<&0; cat <&5 >&4 & exec cat <&3' --`;

export function sending(path: string, features: readonly RsyncFeature[]): ConfinedCommand {
  const argv = ['rsync', '-ar', ...common, ...featureArgs(features), `${path}/`, 'localhost:/', '-e', bridge];
  return { argv, confinement: { reads: [path], writes: [], keeps: keptToRead } };
}

/** rsync walks by path: whether a guest that swaps directories and links meanwhile could make it read files of the host. */
export const canBeLedAstray = (): boolean => strengthHere() !== 'fenced';

export async function receiveTree(command: ConfinedCommand, link: RsyncLink, signal: AbortSignal): Promise<void> {
  const child = start(command, ['pipe', 'pipe', 'pipe']);
  await converse(child, { from: child.stdout as Readable, to: child.stdin as Writable }, 'writing', link, signal);
}

export async function sendTree(command: ConfinedCommand, link: RsyncLink, signal: AbortSignal): Promise<void> {
  const child = start(command, ['ignore', 'ignore', 'pipe', 'pipe', 'pipe']);
  const ends = { from: child.stdio[4] as Readable, to: child.stdio[3] as Writable };
  await converse(child, ends, 'reading', link, signal);
}

function start(command: ConfinedCommand, stdio: ('pipe' | 'ignore')[]): ChildProcess {
  const [file = '', ...args] = confined(command);
  return spawn(file, args, { stdio, env: programEnv });
}

/** Files vanished while they were read. */
const vanished = 24;

/** The program has ended when this returns or throws. */
async function converse(
  child: ChildProcess,
  { from, to }: { readonly from: Readable; readonly to: Writable },
  what: string,
  { send, incoming }: RsyncLink,
  signal: AbortSignal,
): Promise<void> {
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  keepOutput(from);
  const end = ended(child, 'rsync', what);
  end.catch(() => {});
  let broken: unknown;
  const stop = (error: unknown): void => {
    broken ??= error;
    kill();
  };
  const outgoing = send(from as AsyncIterable<Buffer>).catch(stop);
  // A program that ends early says why; that its pipe is closed then does not.
  const taken = pipeline(guardedSource(incoming.bytes, stop).bytes, to).catch(() => {});
  try {
    const how = await end;
    await outgoing;
    signal.throwIfAborted();
    if (broken !== undefined) throw broken;
    if (how.code !== 0 && how.code !== vanished) throw how;
    to.destroy();
    await taken;
    await incoming.drain();
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    for (const stream of [from, to]) stream.destroy();
  }
}
