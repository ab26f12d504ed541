// The example that sets up a fresh host, by its tutorial: a preseed and more, on the simulation, with real containers and on a stock LXD.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { cli } from '../../support/cli/io.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd } from '../../support/daemons/gantryd.ts';
import { buildShellPrograms, typeExample, walksOnSimulation } from '../../support/cli/examples.ts';
import { writeQuickstartImage } from '../../support/images/quickstart.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { startStockLxd, stockLxdMissing } from '../../support/hosts/stock-lxd.ts';

const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
const missingLxd = stockLxdMissing() ?? missing;
if (noImage !== undefined) console.log(`skipped: the example that sets up a fresh host: ${noImage}`);
else if (missingLxd !== undefined)
  console.log(`skipped: the example that sets up a fresh host on a stock LXD: ${missingLxd}`);
const network = 'boot0';

const programs = buildShellPrograms();

async function walkThrough(runtime: 'lxc' | 'sim'): Promise<void> {
  const gantryd = await startGantryd(programs, { runtime });
  try {
    await typeExample(programs, {
      name: 'host-bootstrap',
      tutorial: 'preseed',
      env: { GANTRY_SOCKET: gantryd.socketPath },
    });
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, [network])).toEqual(nothing);
    for (const kind of ['containers', 'images', 'storage-pools']) expect(await gantryd.get(`/1.0/${kind}`)).toEqual([]);
    expect((await gantryd.get('/1.0/profiles/default')).devices).toEqual({});
    expect((await gantryd.get('/1.0')).config).not.toHaveProperty('user.site');
  } finally {
    await remove(gantryd, [network]);
  }
}

describe('the example that sets up a fresh host', () => {
  test.skipIf(noImage !== undefined || !walksOnSimulation(missing))('works on the simulation', () =>
    walkThrough('sim'),
  );

  test.skipIf(noImage !== undefined || missing !== undefined)(
    'works with real containers, and leaves nothing behind',
    { timeout: 300_000 },
    () => withRealNetwork(network, () => walkThrough('lxc')),
  );

  test.skipIf(noImage !== undefined || missingLxd !== undefined)(
    'is applied to a stock LXD, found unchanged there, and destroyed',
    { timeout: 300_000 },
    () =>
      withRealNetwork(network, async () => {
        const folder = join(programs.root, 'examples', 'host-bootstrap');
        writeQuickstartImage(join(folder, 'base.tar.gz'));
        const lxd = await startStockLxd();
        try {
          const gantry = async (verb: string, ...more: readonly string[]): Promise<string> => {
            const run = await cli([verb, '-f', folder, '--host', `unix://${lxd.socketPath}`, ...more]);
            expect(run.code, `gantry ${verb}\n${run.stdout}${run.stderr}`).toBe(0);
            return run.stdout;
          };
          await gantry('apply', '--auto-approve');
          expect(await gantry('plan', '--detailed-exitcode')).toContain('No changes');
          expect(await lxd.get('/1.0/containers/builder')).toMatchObject({ status: 'Running' });
          await gantry('destroy', '--auto-approve');
          expect(await lxd.get('/1.0/storage-pools')).toEqual([]);
        } finally {
          await lxd.cleanUp();
        }
      }),
  );
});
