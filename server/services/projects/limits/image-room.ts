// How large an image may be that is sent to a project whose disk is limited: what does not fit is refused while it comes, not when it is there.
import { AppError } from '../../../api/errors.ts';
import { limitOf, useOf } from '../../../api/project/project-limits.ts';
import { formatBinary } from '../../../api/text/byte-size.ts';
import type { Records } from '../../../records/records.ts';
import { projectWith } from '../../project-scope.ts';
import { contentsOf } from './contents-of.ts';
import { RecordView } from './view.ts';

/** Throws AppError forbidden when an image of that many bytes does not fit. */
export type ImageRoom = (bytes: number) => void;

/** Undefined: without a bound. `asking`: the project of the request, whose images may be those of `default`. */
export function imageRoom(records: Records, asking: string): ImageRoom | undefined {
  const project = projectWith(records, asking, 'features.images');
  const config = records.projects.get(project)?.document.config ?? {};
  const limit = limitOf(config, 'limits.disk');
  const contents = limit === undefined ? undefined : contentsOf(new RecordView(records, []), project);
  if (limit === undefined || contents === undefined) return undefined;
  const left = Math.max(0, limit - useOf(contents, 'limits.disk'));
  return (bytes) => {
    if (bytes <= left) return;
    const why = `the image is larger than the ${formatBinary(left)} that are left of ${formatBinary(limit)}`;
    const details = [{ path: 'limits.disk', message: why }];
    throw new AppError('forbidden', `The project ${project} does not allow this: limits.disk: ${why}`, { details });
  };
}
