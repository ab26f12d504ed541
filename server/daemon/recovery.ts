// Between opening and serving: half-done changes first, then the host is brought to what is recorded, then running containers are
// found again.
import { reapplyLimits } from '../services/storage/reapply-limits.ts';
import { sweepFiles } from '../services/server/sweep-files.ts';
import type { Services } from './compose/services.ts';
import type { Foundation } from './foundation.ts';

export async function recover({ records, dirs, log, isDryRun }: Foundation, services: Services): Promise<void> {
  const { containerEnds, maas, pools, poolWatch, sagas, profiles, projects, networkWatch, imageDeps, running, guests } =
    services;
  await containerEnds.attach();
  await poolWatch.mountAll();
  await sagas.recover();
  await sweepFiles({ records, imageDeps, backupsDir: dirs.backups, log });
  await projects.ensureDefault();
  await profiles.ensureDefault();
  await networkWatch.upAll();
  await reapplyLimits({ records, pools, log });
  await containerEnds.recordEnds();
  if (isDryRun) return;
  // Nobody waits for a server elsewhere.
  void maas.look();
  const names = records.containers.list().map(({ name }) => name);
  await running.resume(names);
  await guests.resume(names);
}
