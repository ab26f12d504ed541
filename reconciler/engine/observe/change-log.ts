// Logs the changes of a server that watchers on this machine saw, in files of bounded size, for later commands.
import { appendFile, readFile, rename, stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Address } from '../../core/documents/document.ts';
import type { LifecycleChange } from '../../core/drift/lifecycle-changes.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';

export interface SeenPlace {
  /** $XDG_STATE_HOME/gantry. */
  readonly directory: string;
  /** As in `--host`. */
  readonly host: string;
}

/** Size of each of the two files: the older one is deleted when the newer one is full. */
const maxBytes = 512 * 1024;

const fileOf = ({ directory, host }: SeenPlace): string =>
  join(directory, 'seen', `${createHash('sha256').update(host).digest('hex').slice(0, 16)}.ndjson`);

/** Rejects when it cannot be written. */
export async function logSeen(place: SeenPlace, seen: readonly LifecycleChange[]): Promise<void> {
  if (seen.length === 0) return;
  const file = fileOf(place);
  await makeFolder(join(place.directory, 'seen'), 0o700);
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size > maxBytes) await rename(file, `${file}.1`);
  await appendFile(file, seen.map((one) => `${JSON.stringify(one)}\n`).join(''), { mode: 0o600 });
}

/** The last change of each object since `since` (RFC 3339). Ignores unreadable files and lines. */
export async function readSeen(place: SeenPlace, since: string): Promise<ReadonlyMap<Address, LifecycleChange>> {
  const file = fileOf(place);
  const texts = await Promise.all([`${file}.1`, file].map((path) => readFile(path, 'utf8').catch(() => '')));
  const last = new Map<Address, LifecycleChange>();
  const sinceMs = Date.parse(since);
  for (const line of texts.join('\n').split('\n')) {
    const seen = parse(line);
    if (seen !== undefined && !(Date.parse(seen.at) < sinceMs)) last.set(seen.address, seen);
  }
  return last;
}

function parse(line: string): LifecycleChange | undefined {
  try {
    const value = JSON.parse(line) as Partial<LifecycleChange> | null;
    const isSeen =
      typeof value?.address === 'string' && typeof value.at === 'string' && typeof value.action === 'string';
    return isSeen ? (value as LifecycleChange) : undefined;
  } catch {
    return undefined;
  }
}
