// Waits until no other client has an image open to write.
import { setTimeout as sleep } from 'node:timers/promises';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { recordsFolder } from '../layout.ts';
import { clusterOf, osdPoolOf } from './calls.ts';
import { commands, watchersIn } from './commands.ts';
import { imageName } from './names.ts';

/** A client that has died is forgotten after 30 s. */
const patienceMs = 40_000;

/** A writing client watches the image. Two clients that mount it at once would corrupt the file system. */
export async function waitUntilFree(pool: PoolSpec, id: string): Promise<void> {
  const image = `${osdPoolOf(pool)}/${imageName(id)}`;
  const until = Date.now() + patienceMs;
  for (;;) {
    const { stdout } = await exec(commands.watchers(clusterOf(pool), image));
    const [other] = watchersIn(stdout);
    if (other === undefined) return;
    if (Date.now() > until) {
      const what = id === recordsFolder ? `pool ${pool.name}` : `volume ${id} of pool ${pool.name}`;
      throw driverErrors.inUse(
        `${what} is in use at another host: the client ${other} has the image ${image} open; stop it there first`,
      );
    }
    await sleep(1_000);
  }
}
