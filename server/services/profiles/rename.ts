// Renames a profile with more users than one transaction can hold: both names exist until the last user has moved.
import type { ContainerDocument, SnapshotDocument } from '../../records/documents.ts';
import type { Changes, Entry, Records } from '../../records/records.ts';
import { ownedName } from '../../records/record-names.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { storeLimits } from '../../store/store.ts';
import { profileIn } from '../shared/project-scope.ts';

export interface ProfileRename {
  readonly name: string;
  readonly to: string;
}

/** The transaction's other two changes are those of the profile itself. */
export const maxUsersPerTransaction = storeLimits.opsPerTxn - 2;

/** Containers that have the profile of this qualified name. */
export function usersOfProfile(records: Records, name: string): readonly Entry<ContainerDocument>[] {
  const plain = plainName(name);
  return records.containers
    .list()
    .filter(
      (entry) => entry.document.profiles.includes(plain) && profileIn(records, projectOf(entry.name), plain) === name,
    );
}

/** Records that name a profile: containers, and snapshots, which must be restorable under the new name. */
export type Naming =
  | { readonly kind: 'containers'; readonly entry: Entry<ContainerDocument> }
  | { readonly kind: 'snapshots'; readonly entry: Entry<SnapshotDocument> };

export function namingProfile(records: Records, name: string): readonly Naming[] {
  const plain = plainName(name);
  const owners = new Map(records.containers.list().map((entry) => [entry.document.uuid, entry.name]));
  const isUser = (key: string): boolean => {
    const owner = owners.get(ownedName(key).uuid);
    return owner !== undefined && profileIn(records, projectOf(owner), plain) === name;
  };
  const snapshots = records.snapshots
    .list()
    .filter((entry) => entry.document.profiles.includes(plain) && isUser(entry.name));
  return [
    ...usersOfProfile(records, name).map((entry): Naming => ({ kind: 'containers', entry })),
    ...snapshots.map((entry): Naming => ({ kind: 'snapshots', entry })),
  ];
}

/** Replaces the old name with the new one. */
export function moveNames(changes: Changes, naming: readonly Naming[], name: string, to: string): void {
  const renamed = (profiles: readonly string[]): string[] =>
    profiles.map((profile) => (profile === plainName(name) ? plainName(to) : profile));
  for (const { kind, entry } of naming) {
    const profiles = renamed(entry.document.profiles);
    if (kind === 'containers') changes.put(kind, entry.name, { ...entry.document, profiles });
    else changes.put(kind, entry.name, { ...entry.document, profiles });
  }
}
