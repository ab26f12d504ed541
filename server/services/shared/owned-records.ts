// Records stored under their owner's uuid (`<uuid>/<name>`), so that its renames do not affect them.
import type { Documents, Kind } from '../../records/documents.ts';
import type { Collection, Records } from '../../records/records.ts';
import { ownedKey, ownedName } from '../../records/record-names.ts';

export type OwnedKind = 'snapshots' | 'backups' | 'volumeSnapshots';

export interface OwnedRecord<K extends OwnedKind> {
  /** Without the owner. */
  readonly name: string;
  readonly document: Documents[K];
}

interface Index<K extends OwnedKind> {
  readonly generation: number;
  readonly byUuid: ReadonlyMap<string, readonly OwnedRecord<K>[]>;
}

const indexes = new WeakMap<object, Index<OwnedKind>>();

/** In order of name. The index is cached until a record of the kind changes. */
export function ownedBy<K extends OwnedKind>(records: Records, kind: K, uuid: string): readonly OwnedRecord<K>[] {
  const collection = records[kind] as unknown as Collection<K>;
  let index = indexes.get(collection) as Index<K> | undefined;
  if (index === undefined || index.generation !== collection.generation) {
    index = { generation: collection.generation, byUuid: group(collection) };
    indexes.set(collection, index);
  }
  return index.byUuid.get(uuid) ?? [];
}

function group<K extends OwnedKind>(collection: Collection<K>): Map<string, OwnedRecord<K>[]> {
  const byUuid = new Map<string, OwnedRecord<K>[]>();
  for (const { name: key, document } of collection.list()) {
    const { uuid, name } = ownedName(key);
    const list = byUuid.get(uuid) ?? [];
    byUuid.set(uuid, list);
    list.push({ name, document });
  }
  return byUuid;
}

/** The owner of a record stored under a uuid. `owners`: the candidates. */
export function ownerOf<T extends { readonly document: { readonly uuid: string } }>(
  owners: readonly T[],
  key: string,
): T | undefined {
  const { uuid } = ownedName(key);
  return owners.find(({ document }) => document.uuid === uuid);
}

export interface HeldObject {
  readonly kind: 'containers' | 'volumes';
  readonly name: string;
}

/** The container or volume that the record is, or belongs to. `listOf`: lists the candidates. */
export function heldBy(
  kind: Kind,
  name: string,
  listOf: (
    kind: HeldObject['kind'],
  ) => readonly { readonly name: string; readonly document: { readonly uuid: string } }[],
): HeldObject | undefined {
  if (kind === 'containers' || kind === 'volumes') return { kind, name };
  if (kind !== 'snapshots' && kind !== 'backups' && kind !== 'volumeSnapshots') return undefined;
  for (const ownerKind of ownerKinds[kind]) {
    const owner = ownerOf(listOf(ownerKind), name);
    if (owner !== undefined) return { kind: ownerKind, name: owner.name };
  }
  return undefined;
}

const ownerKinds: Readonly<Record<OwnedKind, readonly HeldObject['kind'][]>> = {
  snapshots: ['containers'],
  backups: ['containers', 'volumes'],
  volumeSnapshots: ['volumes'],
};

/** Max records per transaction. */
const chunk = 100;

/** On a failure some are stored; running it again stores the rest. */
export async function putOwned<K extends OwnedKind>(
  records: Records,
  kind: K,
  uuid: string,
  owned: readonly OwnedRecord<K>[],
): Promise<void> {
  for (let at = 0; at < owned.length; at += chunk) {
    await records.retry((changes) => {
      for (const { name, document } of owned.slice(at, at + chunk)) changes.put(kind, ownedKey(uuid, name), document);
    });
  }
}

/** Idempotent. */
export async function dropOwned(records: Records, kind: OwnedKind, uuid: string): Promise<void> {
  for (;;) {
    const some = ownedBy(records, kind, uuid).slice(0, chunk);
    if (some.length === 0) return;
    await records.retry((changes) => {
      for (const { name } of some) {
        const key = ownedKey(uuid, name);
        if (records[kind].has(key)) changes.delete(kind, key);
      }
    });
  }
}

/** Removes these records of the owner. Idempotent. */
export async function forgetOwned(
  records: Records,
  kind: OwnedKind,
  uuid: string,
  owned: readonly { readonly name: string }[],
): Promise<void> {
  for (const { name } of owned) {
    const key = ownedKey(uuid, name);
    await records.retry((changes) => {
      if (records[kind].has(key)) changes.delete(kind, key);
    });
  }
}
