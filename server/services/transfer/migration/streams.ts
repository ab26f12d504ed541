// Sends and receives the streams of the storage drivers on the fs channel, one for each snapshot and one for the volume.
import type { MigrationAnswer } from '../../../api/container/migration-messages.ts';
import type { ExportForm, TreeRef, VolumeRef } from '../../../drivers/storage/driver.ts';
import type { Pools } from '../../storage/pools.ts';
import type { OfSnapshot } from '../../storage/volume-shapes.ts';
import { treeOf, type OwnerOf } from './owners.ts';
import type { Peer } from './peer.ts';
import type { Progress } from './progress.ts';
import { harmless, type UntrustedFiles } from './untrusted-source.ts';
import { readMembers } from './tar-members.ts';
import {
  applyChanges,
  changedMembers,
  listTree,
  membersWithoutEnd,
  packListing,
  removedNames,
  unpackListing,
} from './tree-changes.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

/** Formats for files out of a pool or into it, best first: the native one of its driver, and tar. */
export function formatsOf(pools: Pools, pool: string): readonly string[] {
  const { nativeStreams } = pools.use(pool).driver.capabilities;
  return nativeStreams === undefined ? ['tar'] : [nativeStreams, 'tar'];
}

interface Part {
  readonly pool: string;
  readonly ref: VolumeRef;
  /** Undefined: the current volume. */
  readonly snapshot: string | undefined;
  readonly ownerOf: OwnerOf | undefined;
}

export async function sendPart(
  pools: Pools,
  peer: Peer,
  { pool: name, ref, snapshot, ownerOf }: Part,
  { format, parent, compare }: Omit<MigrationAnswer['parts'][number], 'snapshot'> & Pick<MigrationAnswer, 'format'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { driver, pool } = pools.use(name);
  const native: ExportForm = { kind: 'native', ...withoutUndefined({ parent }) };
  const form: ExportForm = format === 'tar' ? { kind: 'tar', ...withoutUndefined({ ownerOf }) } : native;
  const from = { volume: ref, ...withoutUndefined({ snapshot }) };
  const send = (bytes: AsyncIterable<Buffer>): Promise<void> => peer.sendStream(bytes, (count) => progress.add(count));
  if (compare !== true || format !== 'tar') return driver.exportVolume(pool, from, form, send, signal);
  const there = await unpackListing(peer.receiveStream(() => {}).bytes);
  const seen = new Set<string>();
  await driver.exportVolume(pool, from, form, (bytes) => send(changedMembers(bytes, there, seen)), signal);
  await send(packListing(removedNames(there, seen).map((removed) => [removed, ''] as const)));
}

interface ChangingPart {
  readonly pool: string;
  readonly base: TreeRef;
  readonly to: TreeRef;
  /** Undefined: the source is trusted. */
  readonly untrusted?: UntrustedFiles | undefined;
}

/** Sends the listing of `base` to the other side, which answers with the differing members, then the names of the removed ones. */
export async function receiveChanges(
  pools: Pools,
  peer: Peer,
  { pool: name, base, to, untrusted }: ChangingPart,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { driver, pool } = pools.use(name);
  const listing = await listTree(driver, pool, base, signal);
  await peer.sendStream(packListing(listing), () => undefined);
  await driver.deriveVolume(
    pool,
    base,
    to,
    (tree) => {
      const changed = peer.receiveStream((count) => void progress.add(count));
      const removed = async (): Promise<Iterable<string>> => {
        await changed.drain();
        return (await unpackListing(peer.receiveStream(() => {}).bytes)).keys();
      };
      const bytes = untrusted === undefined ? changed.bytes : harmless(membersWithoutEnd(changed.bytes), untrusted);
      return applyChanges(tree, listing, bytes, removed);
    },
    signal,
  );
}

export interface TargetVolume {
  readonly pool: string;
  readonly ref: VolumeRef;
  readonly ofSnapshot: OfSnapshot;
}

interface Parts extends TargetVolume {
  /** In the order of arrival; the volume itself is last. */
  readonly snapshots: readonly string[];
  readonly format: string;
  /** Undefined: the source is trusted. Otherwise the format is tar. */
  readonly untrusted?: UntrustedFiles | undefined;
}

/** A throw may leave parts of it: the caller deletes the volume with its snapshots. */
export async function receiveParts(
  pools: Pools,
  peer: Peer,
  { pool: name, ref, ofSnapshot, snapshots, format, untrusted }: Parts,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { driver, pool } = pools.use(name);
  for (const snapshot of [...snapshots, undefined]) {
    progress.begin(snapshot === undefined ? ref.name : `${ref.name}/${snapshot}`);
    const incoming = peer.receiveStream((count) => void progress.add(count));
    const to = treeOf(ofSnapshot(snapshot), snapshot);
    const bytes = untrusted === undefined ? incoming.bytes : harmlessTar(incoming.bytes, untrusted);
    await driver.importVolume(pool, to, bytes, { kind: format === 'tar' ? 'tar' : 'native' }, signal);
    await incoming.drain();
    progress.end();
  }
}

async function* harmlessTar(archive: AsyncIterable<Buffer>, untrusted: UntrustedFiles): AsyncGenerator<Buffer> {
  yield* harmless(readMembers(archive), untrusted);
  yield Buffer.alloc(1024);
}
