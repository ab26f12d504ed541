// Renaming a profile that more containers use than one transaction can hold: both names exist until the last one has moved.
import { errors } from '../api/errors.ts';
import type { Saga } from '../operations/saga.ts';
import type { ContainerDocument } from '../records/documents.ts';
import type { Changes, Entry, Records } from '../records/records.ts';

export interface ProfileRename {
  readonly name: string;
  readonly to: string;
}

/** Two records of the profile itself; the store takes 128 changes in one transaction. */
export const maxUsersPerTransaction = 126;
const batchSize = 100;

type Users = readonly Entry<ContainerDocument>[];

export function usersOfProfile(records: Records, name: string): Users {
  return records.containers.list().filter(({ document }) => document.profiles.includes(name));
}

/** Puts the new name in the place of the old one. */
export function moveUsers(changes: Changes, users: Users, name: string, to: string): void {
  for (const user of users) {
    const profiles = user.document.profiles.map((profile) => (profile === name ? to : profile));
    changes.put('containers', user.name, { ...user.document, profiles });
  }
}

export function profileRenameSaga(records: Records): Saga<ProfileRename> {
  const moveAll = async (from: string, to: string): Promise<void> => {
    while (usersOfProfile(records, from).length > 0) {
      await records.retry((changes) => moveUsers(changes, usersOfProfile(records, from).slice(0, batchSize), from, to));
    }
  };
  return {
    kind: 'profile-rename',
    onRestart: 'finish',
    begin: (changes, { name, to }) => {
      const entry = records.profiles.get(name);
      if (entry === undefined) throw errors.notFound('profile', name);
      if (records.profiles.has(to)) throw errors.exists('profile', to);
      changes.require('profiles', name);
      changes.put('profiles', to, entry.document);
    },
    steps: [
      {
        name: 'containers',
        execute: ({ name, to }) => moveAll(name, to),
        undo: ({ name, to }) => moveAll(to, name),
      },
    ],
    commit: (changes, { name, to }) => {
      // The old name may have been edited, or used, since.
      const entry = records.profiles.get(name);
      if (entry === undefined) return;
      moveUsers(changes, usersOfProfile(records, name), name, to);
      changes.put('profiles', to, entry.document);
      changes.delete('profiles', name);
    },
    rollBack: (changes, { name, to }) => {
      if (records.profiles.has(name) && records.profiles.has(to)) changes.delete('profiles', to);
    },
  };
}
