// Limits the size of an image or a backup that arrives or is made in a project with a disk limit: one that does not fit is refused while it
// is written, not afterwards.
import { AppError } from '../../api/errors.ts';
import { limitOf, useOf } from '../../api/project/project-limits.ts';
import { formatBinary } from '../../api/text/byte-size.ts';
import type { Records } from '../../records/records.ts';
import { projectWith } from '../shared/project-scope.ts';
import type { Room } from '../shared/room.ts';
import { contentsOf } from './contents-of.ts';
import { RecordView } from './view.ts';

/** Throws AppError forbidden. Undefined: no limit. `asking`: the request's project, which may use the images of `default`. */
export const imageRoom = (records: Records, asking: string): Room | undefined =>
  roomIn(records, projectWith(records, asking, 'features.images'), 'image');

/** Room for an uploaded, packed backup: the size of its root disk limits the unpacked content. */
export const backupRoom = (records: Records, project: string): Room | undefined => roomIn(records, project, 'backup');

/** Undefined: no limit. */
function leftIn(records: Records, project: string): { readonly left: number; readonly limit: number } | undefined {
  const config = records.projects.get(project)?.document.config ?? {};
  const limit = limitOf(config, 'limits.disk');
  const contents = limit === undefined ? undefined : contentsOf(new RecordView(records, []), project);
  if (limit === undefined || contents === undefined) return undefined;
  return { left: Math.max(0, limit - useOf(contents, 'limits.disk')), limit };
}

function roomIn(records: Records, project: string, what: string): Room | undefined {
  const found = leftIn(records, project);
  if (found === undefined) return undefined;
  const { left, limit } = found;
  return (bytes) => {
    if (bytes > left) throw tooLarge(project, what, left, limit);
  };
}

function tooLarge(project: string, what: string, left: number, limit: number): AppError {
  const why = `the ${what} is larger than the ${formatBinary(left)} that are left of ${formatBinary(limit)}`;
  const details = [{ path: 'limits.disk', message: why }];
  return new AppError('forbidden', `The project ${project} does not allow this: limits.disk: ${why}`, { details });
}

interface Writer {
  bytes: number;
}

/** Backups being written, whose sizes are not recorded yet: by project. */
const writers = new WeakMap<Records, Map<string, Set<Writer>>>();

/** `write` makes the file of a backup. Concurrent writers share the remaining room. */
export async function withinRoom(
  records: Records,
  project: string,
  write: (room: Room) => Promise<void>,
): Promise<void> {
  const all = writers.get(records) ?? new Map<string, Set<Writer>>();
  writers.set(records, all);
  const together = all.get(project) ?? new Set();
  all.set(project, together);
  const self: Writer = { bytes: 0 };
  together.add(self);
  const leftNow = freshLeft(records, project);
  try {
    await write((bytes) => {
      self.bytes = bytes;
      const found = leftNow();
      if (found === undefined) return;
      const others = [...together].reduce((sum, each) => sum + (each === self ? 0 : each.bytes), 0);
      const left = Math.max(0, found.left - others);
      if (bytes > left) throw tooLarge(project, 'backup', left, found.limit);
    });
  } finally {
    together.delete(self);
    if (together.size === 0) all.delete(project);
  }
}

/** Recounted whenever a backup was recorded or a project changed. */
function freshLeft(records: Records, project: string) {
  let seen = '';
  let found: { readonly left: number; readonly limit: number } | undefined;
  return () => {
    const now = `${records.backups.generation} ${records.projects.generation}`;
    if (now !== seen) found = leftIn(records, project);
    seen = now;
    return found;
  };
}
