// Local files and directory trees for a container: their entries inside, and their hashes. Links in a tree are copied as links and
// never followed; the engine pushes the files.
import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { sha256Of } from '../../../server/client/files/file-helpers.ts';
import type { Content, FileEntry } from '../../core/documents/inside.ts';
import { inFence } from '../text/fence.ts';
import { wrong, type Finding } from '../text/finding.ts';
import type { EntrySpec, InsideSetting } from './inside-settings.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface PlacedEntry {
  readonly path: string;
  /** Where it is written. */
  readonly at: string;
  readonly entry: FileEntry;
  readonly content?: Content;
}

export interface LocalSource extends InsideSetting {
  /** Inside. */
  readonly path: string;
  readonly at: string;
  readonly source: string;
  readonly spec: EntrySpec;
}

interface Contents {
  readonly entries: readonly PlacedEntry[];
  readonly findings: readonly Finding[];
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A file without an owner belongs to root. */
export const fileEntry = (spec: EntrySpec, hash: string, mode: string): FileEntry => ({
  type: 'file',
  content: `sha256:${hash}`,
  mode: spec.mode ?? mode,
  uid: spec.uid ?? 0,
  gid: spec.gid ?? 0,
});

export async function readContents(local: LocalSource, signal?: AbortSignal): Promise<Contents> {
  const file = resolve(local.folder, local.source);
  const at = `${local.at}.source`;
  let found: Stats;
  try {
    found = await stat(inFence(file));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const message = isMissing
      ? `${file} does not exist`
      : `${local.source} cannot be read: ${(error as Error).message}`;
    return { entries: [], findings: [wrong('file-not-found', at, message, 'paths are relative to the manifest')] };
  }
  if (found.isDirectory()) return readTree(local, file, signal);
  if (!found.isFile() || local.spec.type === 'directory') {
    const wanted = local.spec.type === 'directory' ? 'a directory' : 'a file or a directory';
    return { entries: [], findings: [wrong('not-a-file', at, `${file} is not ${wanted}`)] };
  }
  const read = await readFileEntry(local, { path: local.path, file, found, spec: local.spec }, signal);
  return 'severity' in read ? { entries: [], findings: [read] } : { entries: [read], findings: [] };
}

interface LocalFile {
  readonly path: string;
  readonly file: string;
  readonly found: Stats;
  readonly spec: EntrySpec;
}

async function readFileEntry(
  { at, read }: LocalSource,
  { path, file, found, spec }: LocalFile,
  signal: AbortSignal | undefined,
): Promise<PlacedEntry | Finding> {
  const mode = (found.mode & 0o111) === 0 ? '0644' : '0755';
  try {
    if (read && (await isPointer(file, found.size)))
      return wrong(
        'not-a-file',
        `${at}.source`,
        `${file} is a pointer of Git LFS, not the file`,
        'run git lfs pull; a controller does not fetch from LFS: commit the file itself, or use another kind of source',
      );
    const hash = read ? await sha256Of(createReadStream(file, signal === undefined ? {} : { signal })) : 'unread';
    return { path, at, entry: fileEntry(spec, hash, mode), content: { file } };
  } catch (error) {
    signal?.throwIfAborted();
    return wrong('file-not-found', `${at}.source`, `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** A checkout without the filter of Git LFS holds a short text in place of a file. */
const isPointer = async (file: string, size: number): Promise<boolean> =>
  size < 1024 && (await readFile(file, 'latin1')).startsWith('version https://git-lfs.github.com/spec/');

/** The directory itself, then its entries by name. A mode applies to its files. */
async function readTree(local: LocalSource, root: string, signal: AbortSignal | undefined): Promise<Contents> {
  const { at, spec } = local;
  const entries: PlacedEntry[] = [];
  const findings: Finding[] = [];
  const owner = {
    ...withoutUndefined({ uid: spec.uid, gid: spec.gid }),
  };
  const walk = async (directory: string, path: string): Promise<void> => {
    entries.push({ path, at, entry: { type: 'directory', ...owner } });
    const items = (await readdir(directory, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const item of items) {
      signal?.throwIfAborted();
      const [file, inner] = [join(directory, item.name), `${path}/${item.name}`];
      if (item.isDirectory()) await walk(file, inner);
      else if (item.isSymbolicLink()) {
        entries.push({ path: inner, at, entry: { type: 'symlink', target: await readlink(file) } });
      } else if (item.isFile()) {
        const read = await readFileEntry(local, { path: inner, file, found: await stat(file), spec }, signal);
        if ('severity' in read) findings.push(read);
        else entries.push(read);
      } else findings.push(wrong('not-a-file', `${at}.source`, `${file} is neither a file nor a directory nor a link`));
    }
  };
  try {
    await walk(root, local.path);
  } catch (error) {
    signal?.throwIfAborted();
    findings.push(wrong('file-not-found', `${at}.source`, `${root} cannot be read: ${(error as Error).message}`));
  }
  return { entries, findings };
}
