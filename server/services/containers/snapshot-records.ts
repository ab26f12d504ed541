// Where the records of a container's snapshots are: under the container's uuid, so that renames do not touch them.
import type { SnapshotDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';

export interface SnapshotEntry {
  /** Of the snapshot alone. */
  readonly name: string;
  readonly document: SnapshotDocument;
}

export const snapshotKey = (uuid: string, name: string): string => `${uuid}/${name}`;

type Snapshots = Records['snapshots'];
const indexes = new WeakMap<
  Snapshots,
  { readonly generation: number; readonly byUuid: Map<string, SnapshotEntry[]> }
>();

/** In order of name. The index is kept until a snapshot changes. */
export function snapshotsOf(records: Pick<Records, 'snapshots'>, uuid: string): readonly SnapshotEntry[] {
  const { snapshots } = records;
  let index = indexes.get(snapshots);
  if (index === undefined || index.generation !== snapshots.generation) {
    index = { generation: snapshots.generation, byUuid: group(snapshots.list()) };
    indexes.set(snapshots, index);
  }
  return index.byUuid.get(uuid) ?? [];
}

function group(entries: readonly Entry<SnapshotDocument>[]): Map<string, SnapshotEntry[]> {
  const byUuid = new Map<string, SnapshotEntry[]>();
  for (const { name: key, document } of entries) {
    const slash = key.indexOf('/');
    const uuid = key.slice(0, slash);
    const list = byUuid.get(uuid) ?? [];
    byUuid.set(uuid, list);
    list.push({ name: key.slice(slash + 1), document });
  }
  return byUuid;
}

/** The store takes so many changes in one transaction. */
const chunk = 100;

/** All or, after a failure, some of them; running it again does the rest. */
export async function putSnapshots(records: Records, uuid: string, snapshots: readonly SnapshotEntry[]): Promise<void> {
  for (let at = 0; at < snapshots.length; at += chunk) {
    await records.retry((changes) => {
      for (const { name, document } of snapshots.slice(at, at + chunk))
        changes.put('snapshots', snapshotKey(uuid, name), document);
    });
  }
}

/** Idempotent. */
export async function dropSnapshots(records: Records, uuid: string): Promise<void> {
  for (;;) {
    const some = snapshotsOf(records, uuid).slice(0, chunk);
    if (some.length === 0) return;
    await records.retry((changes) => {
      for (const { name } of some) {
        const key = snapshotKey(uuid, name);
        if (records.snapshots.has(key)) changes.delete('snapshots', key);
      }
    });
  }
}
