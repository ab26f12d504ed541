// Reads a path in a container: a directory with its entries, or one entry.
import type { FileEntry, Files } from '../../../../server/client/files/container-files.ts';
import { discard } from '../../../../server/client/files/file-helpers.ts';
import { withLimit } from '../../../../server/lib/shared/deadline.ts';
import { compareText } from '../../../core/text/listing-order.ts';
import type { FileRow, FileView } from '../../contract/index.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** Max entries of a directory; people open others by path. */
const maxEntries = 500;
const lookTogether = 8;
const lookLimitMs = 5000;

export async function browse(files: Files, path: string, signal: AbortSignal): Promise<FileView> {
  const entry = await files.read(path, signal);
  const facts = factsOf(entry);
  if (entry.type !== 'directory') return { path, ...facts };
  const names = entry.names.toSorted(compareText);
  const shown = names.slice(0, maxEntries);
  const entries: FileRow[] = [];
  for (let at = 0; at < shown.length; at += lookTogether)
    entries.push(
      ...(await Promise.all(shown.slice(at, at + lookTogether).map((name) => look(files, path, name, signal)))),
    );
  return { path, ...facts, entries, ...(names.length > shown.length ? { isCut: true } : {}) };
}

/** Sockets, devices and entries that were deleted in between are listed without details. */
async function look(files: Files, directory: string, name: string, signal: AbortSignal): Promise<FileRow> {
  const limit = withLimit(signal, lookLimitMs);
  try {
    return { name, ...factsOf(await files.read(inside(directory, name), limit)) };
  } catch {
    signal.throwIfAborted();
    return { name, type: 'other' };
  }
}

export const inside = (directory: string, name: string): string => `${directory.replace(/\/+$/, '')}/${name}`;

function factsOf(entry: FileEntry): Omit<FileRow, 'name'> {
  const { type, uid, gid } = entry;
  const mode = entry.mode.toString(8).padStart(4, '0');
  if (entry.type === 'symlink') return { type, uid, gid, mode, target: entry.target };
  if (entry.type === 'directory') return { type, uid, gid, mode };
  discard(entry);
  return { type, uid, gid, mode, ...withoutUndefined({ sizeBytes: entry.sizeBytes }) };
}
