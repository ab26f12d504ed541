// The containers of other cluster members that use a network, pool, volume or profile: an index made on demand, and kept until one of them
// or a profile changes.
import type { ContainerDocument } from '../../records/documents.ts';
import type { OtherEntry } from '../../records/other-members.ts';
import type { Records } from '../../records/records.ts';
import { projectOf } from '../../api/project/project-names.ts';
import { profileIn } from './project-scope.ts';
import { usesOf, type UsedKind } from './used-by.ts';

type Other = OtherEntry<ContainerDocument>;

interface Index {
  readonly containers: number;
  readonly profiles: number;
  readonly users: ReadonlyMap<string, readonly Other[]>;
}

const indexes = new WeakMap<Records, Index>();
const nobody: readonly Other[] = [];

/** In order of name. `name`: as for `containersWith`; for a profile its qualified name. */
export function othersWith(records: Records, kind: UsedKind | 'profile', name: string): readonly Other[] {
  const containers = records.others.generation('containers');
  if (containers === 0) return nobody;
  const profiles = records.profiles.generation;
  let index = indexes.get(records);
  if (index?.containers !== containers || index.profiles !== profiles) {
    index = { containers, profiles, users: usersOf(records) };
    indexes.set(records, index);
  }
  return index.users.get(`${kind} ${name}`) ?? nobody;
}

function usersOf(records: Records): ReadonlyMap<string, readonly Other[]> {
  const users = new Map<string, Other[]>();
  const all = [...records.others.list('containers')].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of all) {
    const profiles = entry.document.profiles.map(
      (each) => `profile ${profileIn(records, projectOf(entry.name), each)}`,
    );
    for (const use of [...usesOf(entry.name, entry.document, records), ...profiles]) {
      const found = users.get(use);
      if (found === undefined) users.set(use, [entry]);
      else found.push(entry);
    }
  }
  return users;
}
