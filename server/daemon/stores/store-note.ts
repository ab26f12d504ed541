// DIR/database/store.json: which etcd store a state directory belongs to, so that a host never continues on other or older records.
import { join } from 'node:path';
import { writeDurably } from '../../lib/durable-files.ts';
import type { EtcdChoice } from './store-choice.ts';
import { readIfThere } from '../../lib/shared/missing-files.ts';

export interface StoreNote {
  readonly etcd: EtcdChoice;
  readonly storeUuid: string;
  readonly epoch: number;
  /** The store has had at least this revision. */
  readonly rev: number;
}

export const notePath = (databaseDir: string): string => join(databaseDir, 'store.json');

/** Undefined: records are in the file of the state directory. */
export async function readNote(databaseDir: string): Promise<StoreNote | undefined> {
  const path = notePath(databaseDir);
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    const note = JSON.parse(text) as Partial<StoreNote>;
    const { etcd, storeUuid, epoch, rev } = note;
    if (typeof etcd?.address === 'string' && typeof storeUuid === 'string' && epoch !== undefined && rev !== undefined)
      return { etcd, storeUuid, epoch, rev };
  } catch {
    // Reported below.
  }
  throw new Error(
    `${path} is damaged. It says in which etcd the records of this host are: write it again, or remove it and start with --store`,
  );
}

export async function writeNote(databaseDir: string, note: StoreNote): Promise<void> {
  await writeDurably(notePath(databaseDir), `${JSON.stringify(note, null, 2)}\n`, 0o600);
}

export type StorePosition = Pick<StoreNote, 'storeUuid' | 'epoch' | 'rev'>;

/** Why a host that noted `note` must not use this store; undefined if it may. A restore has a higher epoch. */
export function olderThanNoted(note: StorePosition, found: StorePosition): string | undefined {
  if (found.storeUuid === note.storeUuid)
    return found.rev >= note.rev
      ? undefined
      : `it is at revision ${found.rev}, but this host has seen revision ${note.rev}: it is an older copy`;
  if (found.epoch > note.epoch) return undefined;
  return `it is another store (${found.storeUuid}) than the one this host has used (${note.storeUuid}), and not a later restore of it`;
}
