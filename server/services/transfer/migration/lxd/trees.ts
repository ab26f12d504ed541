// Sends the trees of a container or volume to a real LXD, and receives them from it: snapshots from the oldest to the newest, then the
// volume.
import { chmod, chown, lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DriverError, driverErrors } from '../../../../drivers/driver-error.ts';
import { syncTree } from '../../../../drivers/storage/copy-tree.ts';
import type { PoolSpec, StorageDriver, VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { OfSnapshot } from '../../../storage/volume-shapes.ts';
import {
  canBeLedAstray,
  receiveTree,
  receiving,
  sending,
  sendTree,
  type RsyncFeature,
  type RsyncLink,
} from '../../../../drivers/storage/rsync.ts';
import { filesAt } from '../../../storage/pools.ts';

/** Incoming and outgoing bytes of a session on the `fs` channel. */
export interface Streams {
  sendStream(source: AsyncIterable<Buffer>, taken: (bytes: number) => Promise<void> | undefined): Promise<void>;
  receiveStream(taken: (bytes: number) => void): RsyncLink['incoming'];
}

export interface Progress {
  begin(part: string): void;
  add(bytes: number): Promise<void> | undefined;
  end(): void;
}

export interface Trees {
  readonly driver: StorageDriver;
  readonly pool: PoolSpec;
  readonly ref: VolumeRef;
  readonly snapshots: readonly string[];
  readonly features: readonly RsyncFeature[];
  /** The container runs, so a second pass sends the changes made during the first. */
  readonly isTwice: boolean;
}

/** `snapshot`: sent in place of the volume. */
export async function sendToLxd(
  streams: Streams,
  { driver, pool, ref, snapshots, features, isTwice, snapshot }: Trees & { readonly snapshot?: string | undefined },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const send = async (path: string, label: string): Promise<void> => {
    progress.begin(label);
    await sendTree(sending(path, features), linkOf(streams, 'out', progress), signal);
    progress.end();
  };
  for (const name of snapshot === undefined ? snapshots : [snapshot]) {
    const path = driver.snapshotPath(pool, { volume: ref, snapshot: name });
    await filesAt(driver, path, () => send(path, `${ref.name}/${name}`));
  }
  if (snapshot !== undefined) return;
  for (const _pass of isTwice ? ['all', 'the rest'] : ['all'])
    await driver.holdStill(
      pool,
      ref,
      async ({ path, isStill }) => {
        if (isTwice && !isStill && canBeLedAstray()) throw unsafe(ref);
        await send(path, ref.name);
      },
      signal,
    );
}

/** Creates the volume, which does not exist yet. A throw may leave parts of it: the caller deletes the volume with its snapshots. */
export async function receiveFromLxd(
  streams: Streams,
  { driver, pool, ref, ofSnapshot, snapshots, features, isTwice }: Trees & { readonly ofSnapshot: OfSnapshot },
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  await driver.createVolume(pool, ref, { kind: 'empty' }, () => {}, signal);
  const path = driver.volumePath(pool, ref);
  const receive = async (label: string, target = path): Promise<void> => {
    progress.begin(label);
    await filesAt(driver, target, () => receiveInto(streams, target, features, progress, signal));
    progress.end();
  };
  for (const snapshot of snapshots) {
    const label = `${ref.name}/${snapshot}`;
    const volume = ofSnapshot(snapshot);
    if (isLarger(volume)) {
      // Its files may not fit the volume.
      const to = { volume, snapshot };
      await driver.deriveVolume(pool, { volume: ref }, to, (tree) => receive(label, tree.path), signal);
    } else {
      await receive(label);
      await driver.createSnapshot(pool, { volume: ref, snapshot }, { kind: 'now' }, signal);
    }
  }
  await receive(ref.name);
  if (!isTwice) return;
  // While the container still runs. Otherwise the first record that is written after the last pass waits for all of it.
  await filesAt(driver, path, () => syncTree(path, signal));
  await receive(ref.name);
}

/** Whether the snapshot may need more room than the volume now has. */
const isLarger = ({ shape: { bytes = 0, minBytes = 0 } = {} }: VolumeRef): boolean => minBytes > bytes;

/** The directory keeps its own mode and owner, which deny others access to the files of a container. */
export async function receiveInto(
  streams: Streams,
  path: string,
  features: readonly RsyncFeature[],
  progress: Pick<Progress, 'add'>,
  signal: AbortSignal,
): Promise<void> {
  const { mode, uid, gid } = await lstat(path);
  try {
    await receiveTree(receiving(path, features), linkOf(streams, 'in', progress), signal);
  } finally {
    await chown(path, uid, gid);
    await chmod(path, mode & 0o7777);
  }
  // LXD's notes for its own recovery.
  await rm(join(path, 'backup.yaml'), { force: true });
}

/** Only bytes of files count: the answers of rsync at the other end are small. */
function linkOf(streams: Streams, way: 'in' | 'out', { add }: Pick<Progress, 'add'>): RsyncLink {
  return {
    send: (bytes) => streams.sendStream(bytes, (count) => (way === 'out' ? add(count) : undefined)),
    incoming: streams.receiveStream((count) => void (way === 'in' ? add(count) : undefined)),
  };
}

const unsafe = ({ name }: VolumeRef): DriverError =>
  driverErrors.notSupported(
    `${name} runs, and its pool cannot hold its files still: on a kernel without Landlock (5.19) rsync could be led to files of the host. Stop it first`,
  );
