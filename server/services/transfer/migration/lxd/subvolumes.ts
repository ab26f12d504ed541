// Sends volumes to a real LXD as streams of btrfs, and receives them from one: a list of all subvolumes, then a stream for each.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { driverErrors } from '../../../../drivers/driver-error.ts';
import type { HeldTree, SubvolumeStreams } from '../../../../drivers/storage/driver.ts';
import { treeOf } from '../owners.ts';
import { listOf, subvolumesIn } from './subvolume-list.ts';
import type { Progress, Streams, Trees } from './trees.ts';

type Parts = Pick<Trees, 'driver' | 'pool' | 'ref' | 'snapshots'>;

const streamsOf = ({ driver, pool }: Parts): SubvolumeStreams => {
  if (driver.subvolumes !== undefined) return driver.subvolumes;
  throw driverErrors.notSupported(`the other side wants streams of btrfs, which the pool ${pool.name} does not have`);
};

/** `snapshot`: that one is sent in the place of the volume. */
export async function sendSubvolumes(
  streams: Streams,
  { snapshot, ...parts }: Parts & { readonly snapshot?: string | undefined },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { pool, ref } = parts;
  const names = snapshot === undefined ? parts.snapshots : [];
  const trees = [...names, snapshot].map((name) => treeOf(ref, name));
  const send = async (held: readonly HeldTree[]): Promise<void> => {
    await streams.sendStream(oneFrame(listOf(held, names)), () => undefined);
    for (const [index, tree] of held.entries()) {
      progress.begin(index === names.length ? ref.name : `${ref.name}/${names[index] ?? ''}`);
      for (const { path } of tree.subvolumes)
        await tree.stream(path, held[index - 1], (bytes) => streams.sendStream(bytes, (count) => progress.add(count)));
      progress.end();
    }
  };
  await streamsOf(parts).send(pool, trees, send, signal);
}

/** Makes the volume, which is not there yet. After a throw some of it may be: the caller deletes the volume with its snapshots. */
export async function receiveSubvolumes(
  streams: Streams,
  parts: Parts,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { pool, ref, snapshots } = parts;
  const lists = subvolumesIn(await frameOf(streams), snapshots);
  const trees = [...snapshots, undefined].map((snapshot, index) => ({
    to: treeOf(ref, snapshot),
    subvolumes: lists[index] ?? [],
  }));
  const labels = trees.flatMap(({ to, subvolumes }) =>
    subvolumes.map(({ path }) => [to.volume.name, to.snapshot, path.slice(1)].filter(Boolean).join('/')),
  );
  const next = (): ReturnType<Streams['receiveStream']> => {
    progress.begin(labels.shift() ?? ref.name);
    return streams.receiveStream((count) => void progress.add(count));
  };
  // What LXD notes of a container for its own recovery.
  const settle = (path: string): Promise<void> => rm(join(path, 'backup.yaml'), { force: true });
  await streamsOf(parts).receive(pool, trees, next, settle, signal);
  progress.end();
}

/** Ten thousand subvolumes with long paths. */
const maxFrameBytes = 8 * 1024 * 1024;

async function frameOf(streams: Streams): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of streams.receiveStream(() => {}).bytes) {
    bytes += piece.length;
    if (bytes > maxFrameBytes)
      throw driverErrors.invalid(`the list of subvolumes takes more than ${maxFrameBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function* oneFrame(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
