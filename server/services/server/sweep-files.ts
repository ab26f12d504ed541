// Runs at daemon start, after recovery: removes files without a record and checks those with one.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { sweepBackups } from '../shared/backups.ts';
import { reportDamagedImages, sweepImageDir } from '../images/image-files.ts';
import type { AddImageDeps } from '../images/add-image.ts';

export interface SweepDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly imageDeps: Pick<AddImageDeps, 'dir' | 'damage'>;
  readonly backupsDir: string;
}

/** Logs failures: they do not prevent the daemon's start. */
export async function sweepFiles({ records, imageDeps, backupsDir, log }: SweepDeps): Promise<void> {
  const attempt = (what: string, work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.warn(`${what} failed: ${errorText(error)}`));
  await attempt('Removing left-over image files', sweepImageDir({ records, dir: imageDeps.dir }));
  await attempt('Looking at the sizes of image files', reportDamagedImages({ ...imageDeps, records, log }));
  await attempt('Removing left-over files of backups', sweepBackups({ records, dir: backupsDir }));
}
