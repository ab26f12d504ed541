// Runs between opening and serving: completes or undoes half-done changes, brings the host to the recorded state, then finds running
// containers.
import { reapplyLimits } from '../services/storage/reapply-limits.ts';
import type { Services } from './compose/services.ts';
import type { Foundation } from './foundation.ts';
import type { ServiceParts } from '../services/shared/service-parts.ts';
import { errorText } from '../lib/shared/reason.ts';
import { sweepBackups } from '../services/shared/backups.ts';
import { reportDamagedImages, sweepImageDir } from '../services/images/image-files.ts';
import type { AddImageDeps } from '../services/images/add-image.ts';

export async function recover(base: Foundation, services: Services): Promise<void> {
  const { records, dirs, log, isDryRun } = base;
  const {
    clusterMembership,
    trustTokens,
    containerEnds,
    maas,
    pools,
    poolWatch,
    sagas,
    profiles,
    projects,
    networkWatch,
    imageDeps,
    running,
    guests,
  } = services;
  await containerEnds.attach();
  await poolWatch.mountAll();
  await sagas.recover();
  if (!(await isRecordLost(base, services))) await sweepFiles({ records, imageDeps, backupsDir: dirs.backups, log });
  await clusterMembership.tokens.withdrawLeft();
  await trustTokens.withdrawLeft();
  await projects.ensureDefault();
  await profiles.ensureDefault();
  await networkWatch.upAll();
  await reapplyLimits({ records, pools, log });
  await containerEnds.recordEnds();
  if (isDryRun) return;
  // The start does not wait for a remote server.
  void maas.look();
  const names = records.containers.list().map(({ name }) => name);
  await running.resume(names);
  await guests.resume(names);
}

/** Files without a record stay then: `gantryd recover` restores their records. */
async function isRecordLost({ log, stateDir }: Foundation, { knownPools }: Services): Promise<boolean> {
  const lost = await knownPools.lost();
  if (lost.length === 0) return false;
  log.error(
    `The records do not know the storage ${lost.length === 1 ? 'pool' : 'pools'} ${lost.join(', ')} that this host has had: were they lost? ` +
      `gantryd recover --state-dir ${stateDir} finds what is in the pools; without them, remove ${knownPools.path}`,
  );
  return true;
}

interface SweepDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly imageDeps: Pick<AddImageDeps, 'dir' | 'damage'>;
  readonly backupsDir: string;
}

/**
 * Runs at daemon start, after recovery: removes files without a record and checks those with one.
 * Logs failures: they do not prevent the daemon's start.
 */
async function sweepFiles({ records, imageDeps, backupsDir, log }: SweepDeps): Promise<void> {
  const attempt = (what: string, work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => log.warn(`${what} failed: ${errorText(error)}`));
  await attempt('Removing left-over image files', sweepImageDir({ records, dir: imageDeps.dir }));
  await attempt('Looking at the sizes of image files', reportDamagedImages({ ...imageDeps, records, log }));
  await attempt('Removing left-over files of backups', sweepBackups({ records, dir: backupsDir }));
}
