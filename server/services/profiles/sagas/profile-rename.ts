// The saga that renames a profile, also in the containers and snapshots that name it.
import type { Records } from '../../../records/records.ts';
import type { Saga } from '../../../operations/saga.ts';
import { namingProfile, type ProfileRename, moveNames } from '../rename.ts';
import { errors, mustFind } from '../../../api/errors.ts';

export function renameProfileSaga({ records }: { readonly records: Records }): Saga<ProfileRename> {
  const moveAll = async (from: string, to: string): Promise<void> => {
    while (namingProfile(records, from).length > 0) {
      await records.retry((changes) => moveNames(changes, namingProfile(records, from).slice(0, batchSize), from, to));
    }
  };
  return {
    kind: 'profile-rename',
    onRestart: 'finish',
    begin: (changes, { name, to }) => {
      const entry = mustFind(records.profiles.get(name), 'profile', name);
      if (records.profiles.has(to)) throw errors.exists('profile', to);
      changes.require('profiles', name);
      changes.put('profiles', to, entry.document);
    },
    steps: [
      {
        name: 'containers',
        execute: ({ name, to }) => moveAll(name, to),
        // Others may delete the old name once it has no users: the rename has happened then.
        async undo({ name, to }) {
          if (records.profiles.has(name)) await moveAll(to, name);
        },
      },
    ],
    commit: (changes, { name, to }) => {
      // The old name may have been edited, or used, since.
      const entry = records.profiles.get(name);
      if (entry === undefined) return;
      moveNames(changes, namingProfile(records, name), name, to);
      changes.put('profiles', to, entry.document);
      changes.delete('profiles', name);
    },
    rollBack: (changes, { name, to }) => {
      if (!records.profiles.has(name) || !records.profiles.has(to)) return;
      moveNames(changes, namingProfile(records, to), to, name);
      changes.delete('profiles', to);
    },
  };
}

const batchSize = 100;
