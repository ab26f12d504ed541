// The example of two teams on one host, by its tutorial: on the simulation and with real containers.
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { buildShellPrograms, exampleFolder, typeExample, walksOnSimulation } from '../../support/cli/examples.ts';
import { runProcess } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the example of two teams: ${noImage}`);
const networks = ['red0', 'blue0'];

const programs = buildShellPrograms();

/** The container of a team reaches its gateway from its reserved address, and not from another address that root adds. */
async function expectFiltered(gantryd: Gantryd): Promise<void> {
  const sh = (script: string) =>
    runProcess([process.execPath, programs.gantry, 'exec', 'web', '--project', 'red', '--', 'sh', '-c', script], {
      env: { GANTRY_SOCKET: gantryd.socketPath },
    });
  const { config } = (await gantryd.get('/1.0/containers/web?project=red')) as { config: Record<string, string> };
  const own = config['volatile.eth0.ipv4.address'] ?? 'none';
  const subnet = own.slice(0, own.lastIndexOf('.'));
  await until(async () => (await sh('ip -4 addr show dev eth0')).stdout.includes(`${own}/24`));
  expect((await sh(`ping -c 1 -W 5 ${subnet}.1`)).code).toBe(0);
  const stolen = `${subnet}.${own.endsWith('.77') ? 78 : 77}`;
  await sh(`ip addr add ${stolen}/24 dev eth0`);
  expect((await sh(`ping -c 2 -W 1 -I ${stolen} ${subnet}.1`)).code).not.toBe(0);
  expect((await sh(`ping -c 1 -W 5 -I ${own} ${subnet}.1`)).code).toBe(0);
}

async function walkThrough(runtime: 'lxc' | 'sim'): Promise<void> {
  const gantryd = await startGantryd(programs, { runtime, https: '127.0.0.1:0' });
  try {
    copyFileSync(join(gantryd.dir, 'server.crt'), join(programs.root, 'examples', 'teams', 'server.crt'));
    await typeExample(programs, {
      name: 'teams',
      tutorial: 'teams',
      env: { GANTRY_SOCKET: gantryd.socketPath, TEAMS_HOST: `https://${gantryd.https}` },
      before: async (command) => {
        if (runtime === 'lxc' && command.startsWith('gantry destroy -f examples/teams')) await expectFiltered(gantryd);
      },
    });
    expect(readdirSync(join(programs.root, 'examples', 'teams')).toSorted()).toEqual(
      readdirSync(exampleFolder('teams')).toSorted(),
    );
    expect(readdirSync(join(programs.root, 'examples', 'quickstart'))).not.toContain('busybox.tar.gz');
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, networks)).toEqual(nothing);
    expect(await gantryd.get('/1.0/projects')).toEqual(['/1.0/projects/default']);
    for (const kind of ['certificates', 'images', 'storage-pools'])
      expect(await gantryd.get(`/1.0/${kind}`)).toEqual([]);
  } finally {
    await remove(gantryd, networks);
  }
}

describe('the example of two teams', () => {
  test.skipIf(noImage !== undefined || !walksOnSimulation(missing))(
    'separates the teams and holds their quotas on the simulation',
    () => walkThrough('sim'),
  );

  test.skipIf(noImage !== undefined || missing !== undefined)(
    'separates the teams and holds their quotas with real containers, and leaves nothing behind',
    { timeout: 300_000 },
    () => withRealNetwork('red0', () => withRealNetwork('blue0', () => walkThrough('lxc'))),
  );
});
