// The files of copied records in a pool's directory: written atomically, read, listed, removed.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import { errorText } from '../../lib/shared/reason.ts';
import {
  copiedKinds,
  fileOf,
  readCopy,
  type CopiedKind,
  type CopiedRecord,
  type RecordName,
} from './copied-records.ts';
import { readIfThere, ifMissing } from '../../lib/shared/missing-files.ts';
import { attempt } from '../../lib/shared/attempt.ts';

const pathOf = (directory: string, { kind, name }: RecordName): string => join(directory, kind, fileOf(name));

/** Atomic. Does not make the pool's directory: it must not appear below an empty mount point. */
export async function writeCopy(directory: string, record: RecordName, text: string): Promise<void> {
  const path = pathOf(directory, record);
  const draft = `${path}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await mkdir(join(directory, record.kind), { mode: 0o700 }).catch((again: unknown) => {
      if (!hasCode(again, 'EEXIST')) throw again;
    });
    await writeFile(draft, text, { mode: 0o600 });
  }
  await rename(draft, path);
}

/** Idempotent. */
export const removeCopy = (directory: string, record: RecordName): Promise<void> =>
  rm(pathOf(directory, record), { force: true });

export async function copyText(directory: string, record: RecordName): Promise<string | undefined> {
  return readIfThere(pathOf(directory, record));
}

export interface FoundCopy {
  readonly record: CopiedRecord;
  readonly writtenMs: number;
}

/** All copies of a kind; reports an unreadable file to `onDamage`. */
export async function readCopies(
  directory: string,
  kind: CopiedKind,
  onDamage: (problem: string) => void,
): Promise<readonly FoundCopy[]> {
  const found: FoundCopy[] = [];
  for (const file of await filesOf(directory, kind)) {
    const path = join(directory, kind, file);
    try {
      const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
      found.push({ record: readCopy(kind, text), writtenMs: mtimeMs });
    } catch (error) {
      onDamage(`The file ${path} cannot be read: ${errorText(error)}`);
    }
  }
  return found;
}

/** Copies of other records than these. */
export async function strayCopies(directory: string, wanted: readonly RecordName[]): Promise<readonly CopiedRecord[]> {
  const files = new Set(wanted.map(({ kind, name }) => `${kind}/${fileOf(name)}`));
  const strays: CopiedRecord[] = [];
  for (const kind of copiedKinds) {
    const others = (await filesOf(directory, kind)).filter((file) => !files.has(`${kind}/${file}`));
    for (const file of others) {
      const text = await readFile(join(directory, kind, file), 'utf8').catch(() => '');
      const record = attempt(() => readCopy(kind, text));
      if (record !== undefined) strays.push(record);
    }
  }
  return strays;
}

async function filesOf(directory: string, kind: CopiedKind): Promise<readonly string[]> {
  const files = await readdir(join(directory, kind)).catch(ifMissing);
  return (files ?? []).filter((file) => file.endsWith('.json'));
}
