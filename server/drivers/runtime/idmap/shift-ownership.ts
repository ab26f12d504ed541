// Shifts the owners of a file tree by a constant, for hosts without idmapped mounts. Keeps modes; the ids in access lists and file
// capabilities change along.
import { lstatSync, type Stats } from 'node:fs';
import { chmod, lchown, opendir } from 'node:fs/promises';
import type { IdMapEntry } from '../driver.ts';
import { holderOf, toHostId } from './id-map.ts';
import {
  loadAttributes,
  putAsideCapability,
  putBackCapability,
  shiftAccessLists,
  type AttributeCalls,
} from './owned-attributes.ts';

/** Owners in `dir` by the map `from` become the host ids of the same ids under `to` (empty map = unchanged). An id that `to` lacks becomes
 *  the container root's. `dir` itself comes last: its owner shows that all is done, and after a crash the same call resumes. */
export async function shiftOwnership(
  dir: string | Buffer,
  from: readonly IdMapEntry[],
  to: readonly IdMapEntry[],
  signal?: AbortSignal,
): Promise<void> {
  await shiftTree(Buffer.from(dir as string), { from, to, calls: await loadAttributes() }, signal);
}

interface Shift {
  readonly from: readonly IdMapEntry[];
  readonly to: readonly IdMapEntry[];
  /** Undefined: attributes stay, and the kernel drops capabilities. */
  readonly calls: AttributeCalls | undefined;
}

async function shiftTree(dir: Buffer, shift: Shift, signal?: AbortSignal): Promise<void> {
  if (lstatSync(dir).isDirectory()) {
    for await (const entry of await opendir(dir, { encoding: bytes })) {
      signal?.throwIfAborted();
      const path = Buffer.concat([dir, slash, Buffer.from(entry.name)]);
      if (entry.isDirectory()) await shiftTree(path, shift, signal);
      else await shiftOne(path, shift);
    }
  }
  await shiftOne(dir, shift);
}

/** Names are arbitrary bytes: decoded text might name no file. */
const bytes = 'buffer' as BufferEncoding;
const slash = Buffer.from('/');

async function shiftOne(path: Buffer, { from, to, calls }: Shift): Promise<void> {
  const stats = lstatSync(path);
  const shift = (kind: 'uid' | 'gid', id: number): number => shiftId(id, kind, from, to);
  const [uid, gid] = [shift('uid', stats.uid), shift('gid', stats.gid)];
  if (calls !== undefined && !stats.isSymbolicLink()) shiftAccessLists(calls, path, shift);
  if (uid !== stats.uid || gid !== stats.gid) {
    if (calls !== undefined && stats.isFile()) putAsideCapability(calls, path);
    await lchown(path, uid, gid);
    if (!stats.isSymbolicLink() && hasSpecialBits(stats)) await chmod(path, stats.mode & 0o7777);
  }
  if (calls !== undefined && stats.isFile()) putBackCapability(calls, path, shift);
}

const hasSpecialBits = (stats: Stats): boolean => (stats.mode & 0o6000) !== 0;

/** The new owner of a file that belongs to `hostId` now. Pure. */
export function shiftId(
  hostId: number,
  kind: 'uid' | 'gid',
  from: readonly IdMapEntry[],
  to: readonly IdMapEntry[],
): number {
  const holder = holderOf(from, kind, hostId);
  if (holder === undefined && (from.length > 0 || holderOf(to, kind, hostId) !== undefined)) return hostId;
  const id = holder === undefined ? hostId : hostId - holder.hostid + holder.nsid;
  return toHostId(to, kind, id) ?? toHostId(to, kind, 0) ?? hostId;
}
