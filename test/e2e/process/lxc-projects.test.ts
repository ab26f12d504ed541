// The stock client `lxc` in projects: real containers and volumes of one name in two projects, and what `--target-project` sends.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  hostRemains,
  makeDaemon,
  realRuntimeMissing,
  seed,
  type TestDaemon,
  type TestDaemonOptions,
} from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = { sim: busyboxMissing() ?? clientMissing('lxc'), lxc: await realRuntimeMissing() };
for (const [what, why] of Object.entries(missing)) if (why !== undefined) console.log(`skipped: ${what}: ${why}`);

let daemon: TestDaemon;
let work: string;
let lxc: ReturnType<typeof lxcClient>;
const inProject =
  (project: string) =>
  (...words: readonly string[]): Promise<string> =>
    lxc('--project', project, ...words);

async function start(runtime: NonNullable<TestDaemonOptions['runtime']>): Promise<string> {
  daemon = await makeDaemon({ runtime, lxd: { socket: join(work, 'lxd', 'unix.socket') } });
  const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: true } });
  await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
  return built.metadataPath;
}
beforeEach(() => {
  work = tempFolder('gtyl-');
  lxc = lxcClient(join(work, 'lxd'), work);
});
afterEach(async () => {
  await daemon.cleanUp();
  expect(hostRemains(daemon.dir)).toEqual([]);
});

describe.skipIf((missing.sim ?? missing.lxc) !== undefined)('real containers of one name in two projects', () => {
  const bridge = 'gtyaprj0';

  test('run together with their own addresses and volumes, across a restart and a rename of the project', async () => {
    await start('lxc');
    const config = { 'ipv4.address': '10.213.77.1/24', 'ipv4.nat': 'false', 'ipv6.address': 'none' };
    await daemon.call('POST', '/1.0/networks', { name: bridge, config });
    await seed(daemon, { eth0: { type: 'nic', network: bridge, name: 'eth0' } });
    await lxc('project', 'create', 'team', '-c', 'features.images=false', '-c', 'features.profiles=false');
    const team = inProject('team');
    for (const [run, text] of [
      [lxc, 'first'],
      [team, 'second'],
    ] as const) {
      await run('storage', 'volume', 'create', 'default', 'data');
      await run('launch', 'bb', 'web');
      // Plugged into a container that runs.
      await run('storage', 'volume', 'attach', 'default', 'data', 'web', 'data', '/mnt');
      await run('exec', 'web', '--', 'sh', '-c', `echo ${text} | tee /root/f > /mnt/f`);
      expect(await run('exec', 'web', '--', 'hostname')).toBe('web\n');
    }
    const files = join(daemon.dir, 'storage-pools/default/custom');
    expect(await readFile(join(files, 'data/f'), 'utf8')).toBe('first\n');
    expect(await readFile(join(files, 'team%data/f'), 'utf8')).toBe('second\n');
    await until(async () => {
      const leases = (await daemon.get(`/1.0/networks/${bridge}/leases`)) as { hostname: string; address: string }[];
      const addresses = new Set(leases.map(({ address }) => address));
      return addresses.size >= 2 && leases.some(({ hostname }) => hostname === 'team_web');
    });
    await team('stop', 'web', '-f');
    await daemon.restart();
    expect(await lxc('list', '--all-projects', '-f', 'csv', '-c', 'ens')).toBe(
      'default,web,RUNNING\nteam,web,STOPPED\n',
    );
    await team('config', 'set', 'web', 'boot.autostart=true');
    await daemon.restart();
    await until(async () => (await team('list', '-f', 'csv', '-c', 'ns')) === 'web,RUNNING\n');
    await team('stop', 'web', '-f');
    await lxc('project', 'rename', 'team', 'crew');
    const crew = inProject('crew');
    await crew('start', 'web');
    expect(await crew('exec', 'web', '--', 'cat', '/root/f', '/mnt/f')).toBe('second\nsecond\n');
    expect(await lxc('exec', 'web', '--', 'cat', '/root/f', '/mnt/f')).toBe('first\nfirst\n');
  });

  test('work with the longest names together', async () => {
    await start('lxc');
    await seed(daemon);
    const [project, container, volume] = ['p'.repeat(64), 'c'.repeat(63), 'v'.repeat(63)];
    await lxc('project', 'create', project, '-c', 'features.images=false', '-c', 'features.profiles=false');
    const inside = inProject(project);
    await inside('storage', 'volume', 'create', 'default', volume);
    await inside('init', 'bb', container);
    await inside('storage', 'volume', 'attach', 'default', volume, container, 'data', '/mnt');
    await inside('start', container);
    await inside('exec', container, '--', 'sh', '-c', 'echo long > /mnt/file');
  });
});

test.skipIf(missing.sim !== undefined)(
  'lxc copies and moves images, volumes and containers to another project',
  async () => {
    const image = await start('sim');
    await seed(daemon);
    // The client fetches over the network, also from the server itself.
    await lxc('config', 'set', `core.https_address=127.0.0.1:${await freePort()}`);
    for (const name of ['red', 'blue']) await lxc('project', 'create', name, '-c', 'features.profiles=false');
    const [red, blue] = [inProject('red'), inProject('blue')];
    await red('image', 'import', image, '--alias', 'bb');
    // The client uses the project of the remote for the source, not the project of the flag.
    await lxc('project', 'switch', 'red');
    await lxc('image', 'copy', 'bb', 'local:', '--alias', 'copied', '--target-project', 'blue');
    await lxc('project', 'switch', 'default');
    expect(await blue('image', 'list', '-f', 'csv', '-c', 'l')).toBe('copied\n');
    await red('init', 'bb', 'c');
    await red('snapshot', 'c', 's');
    await lxc('copy', 'c', 'copied', '--project', 'red', '--target-project', 'blue');
    await lxc('move', 'c', '--project', 'red', '--target-project', 'blue');
    expect(await blue('list', '-f', 'csv', '-c', 'nS')).toBe('c,1\ncopied,1\n');
    expect(await red('list', '-f', 'csv')).toBe('');
    await red('storage', 'volume', 'create', 'default', 'data');
    await red('storage', 'volume', 'snapshot', 'default', 'data', 's');
    await red('storage', 'volume', 'copy', 'default/data', 'default/copied', '--target-project', 'blue');
    expect(await blue('storage', 'volume', 'show', 'default', 'copied/s')).toMatch(/name: s$/m);
    await red('storage', 'volume', 'move', 'default/data', 'default/moved', '--target-project', 'blue');
    const custom = async (run: typeof red) =>
      await run('storage', 'volume', 'list', 'default', '-f', 'csv', '-c', 'tn');
    expect(await custom(red)).not.toMatch(/custom/);
    expect(await custom(blue)).toMatch(/^custom,moved$/m);
  },
);
