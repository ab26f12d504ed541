// Limits the size of an image or a backup that comes into a project whose disk is limited: one that does not fit is refused while it comes,
// not when it is there.
import { AppError } from '../../../api/errors.ts';
import { limitOf, useOf } from '../../../api/project/project-limits.ts';
import { formatBinary } from '../../../api/text/byte-size.ts';
import type { Records } from '../../../records/records.ts';
import { projectWith } from '../../project-scope.ts';
import type { Room } from '../../room.ts';
import { contentsOf } from './contents-of.ts';
import { RecordView } from './view.ts';

/** Throws AppError forbidden. Undefined: without a bound. `asking`: the project of the request, whose images may be those of `default`. */
export const imageRoom = (records: Records, asking: string): Room | undefined =>
  roomIn(records, projectWith(records, asking, 'features.images'), 'image');

/** Of an uploaded backup, packed as it comes: what it has unpacked is bounded by the size of its root disk. */
export const backupRoom = (records: Records, project: string): Room | undefined => roomIn(records, project, 'backup');

function roomIn(records: Records, project: string, what: string): Room | undefined {
  const config = records.projects.get(project)?.document.config ?? {};
  const limit = limitOf(config, 'limits.disk');
  const contents = limit === undefined ? undefined : contentsOf(new RecordView(records, []), project);
  if (limit === undefined || contents === undefined) return undefined;
  const left = Math.max(0, limit - useOf(contents, 'limits.disk'));
  return (bytes) => {
    if (bytes <= left) return;
    const why = `the ${what} is larger than the ${formatBinary(left)} that are left of ${formatBinary(limit)}`;
    const details = [{ path: 'limits.disk', message: why }];
    throw new AppError('forbidden', `The project ${project} does not allow this: limits.disk: ${why}`, { details });
  };
}
