// Runs between opening and serving: completes or undoes half-done changes, brings the host to the recorded state, then finds running
// containers.
import { reapplyLimits } from '../services/storage/reapply-limits.ts';
import { sweepFiles } from '../services/server/sweep-files.ts';
import type { Services } from './compose/services.ts';
import type { Foundation } from './foundation.ts';

export async function recover(base: Foundation, services: Services): Promise<void> {
  const { records, dirs, log, isDryRun } = base;
  const { containerEnds, maas, pools, poolWatch, sagas, profiles, projects, networkWatch, imageDeps, running, guests } =
    services;
  await containerEnds.attach();
  await poolWatch.mountAll();
  await sagas.recover();
  if (!(await isRecordLost(base, services))) await sweepFiles({ records, imageDeps, backupsDir: dirs.backups, log });
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
