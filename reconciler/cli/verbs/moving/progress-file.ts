// The progress of a move, in a file that stays correct if this process is killed at any moment.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { fileError } from '../../../../server/lib/shared/error-code.ts';
import { usageError } from '../../errors/usage-error.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { replaceWhole } from '../../../../server/lib/durable-files.ts';

/** `begun`: the target may have a part of it. `stopped`: the container is stopped on the source. `copied`: the target has all of it. `done`: nothing is left to do. */
export type Stage = 'begun' | 'stopped' | 'copied' | 'done';

export interface Entry {
  readonly stage: Stage;
  /** The container ran on the source when its move began. */
  readonly ran?: boolean;
  /** Ids of the volumes of a container that has moved. */
  readonly volumes?: readonly string[];
}

export interface Progress {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Resolves when the entry is on disk. */
  record(id: string, entry: Entry): Promise<void>;
}

interface Written {
  readonly version: 1;
  readonly from: string;
  readonly to: string;
  readonly entries: Readonly<Record<string, Entry>>;
}

/** Continues an earlier move between the same servers. */
export async function openProgress(folder: string, from: string, to: string): Promise<Progress> {
  const file = join(folder, 'progress.json');
  await makeFolder(folder, 0o700);
  const entries = new Map(Object.entries(await readEntries(file, from, to)));
  const write = async (): Promise<void> => {
    const content: Written = { version: 1, from, to, entries: Object.fromEntries(entries) };
    await replaceWhole(file, `${JSON.stringify(content, null, 2)}\n`, { isPrivate: true });
  };
  return {
    entries,
    async record(id, entry) {
      entries.set(id, entry);
      await write();
    },
  };
}

async function readEntries(file: string, from: string, to: string): Promise<Written['entries']> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw fileError(`cannot read ${file}`, error);
  });
  if (text === undefined) return {};
  const read = parsed(file, text);
  if (read.from !== from || read.to !== to)
    throw usageError(
      `${file} is about a move from ${read.from} to ${read.to}, and this one goes from ${from} to ${to}: name another folder with --state-dir`,
    );
  return read.entries;
}

function parsed(file: string, text: string): Written {
  try {
    const read = JSON.parse(text) as Partial<Written>;
    if (read.version === 1 && typeof read.entries === 'object') return read as Written;
  } catch (error) {
    throw usageError(`${file} is damaged (${reasonOf(error)}): name another folder with --state-dir`);
  }
  throw usageError(`${file} is no progress of a move that this version knows: name another folder with --state-dir`);
}
