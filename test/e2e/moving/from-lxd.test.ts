// `gantry migrate-from-lxd` takes a stock LXD host with many containers over, killed again and again, and back.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPrograms, plainEnv, runGantry } from '../../support/cli/programs.ts';
import { makeDaemon, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { treeFacts } from '../../support/daemons/tree-facts.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { addOddFiles } from '../../support/images/odd-trees.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = stockLxdMissing() ?? (await realRuntimeMissing());
if (missing !== undefined) console.log(`skipped: a move from a real LXD, since ${missing}`);

const bridge = `gm${process.pid % 100_000}`;
const running = ['r1', 'r2', 'withdata'];
/** Stopped containers of the default project. */
const stopped = Array.from({ length: isLongRun ? 24 : 7 }, (_, index) => `c${index + 1}`);
const ofTeam = ['t1', 't2'];

describe.skipIf(missing !== undefined)('a stock LXD host that moves', () => {
  const home = tempFolder('gmv-');
  const programs = buildPrograms();
  let lxd: StockLxd;
  let daemon: TestDaemon;
  /** The nic of r1. */
  let hwaddr = '';
  const send = (method: string, path: string, body?: object | Buffer): Promise<void> => lxd.ok(method, path, body);
  const container = (name: string, more: object = {}): Promise<void> =>
    send('POST', '/1.0/containers', { name, source: { type: 'copy', source: 'seed' }, profiles: ['default'], ...more });
  const lxdTree = (name: string, part = 'containers'): string => join(lxd.dir, 'storage-pools/default', part, name);
  const ourTree = (name: string, part = 'containers'): string => join(daemon.dir, 'storage-pools/default', part, name);

  beforeAll(async () => {
    lxd = await startStockLxd(realpathSync(tmpdir()));
    await send('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir', description: 'the first' });
    await send('POST', '/1.0/networks', {
      name: bridge,
      type: 'bridge',
      config: { 'ipv4.address': `${freeSubnet()}.1/24`, 'ipv6.address': 'none', 'ipv4.nat': 'false' },
    });
    const root = { path: '/', pool: 'default', type: 'disk' };
    await send('PUT', '/1.0/profiles/default', { devices: { root } });
    await send('POST', '/1.0/profiles', { name: 'net', devices: { eth0: { type: 'nic', network: bridge } } });
    await send('POST', '/1.0/profiles', { name: 'limits', config: { 'limits.memory': '64MiB', 'user.a': 'b' } });
    await send('POST', '/1.0/projects', {
      name: 'team',
      config: { 'features.images': 'false', 'features.profiles': 'true' },
    });
    await send('PUT', '/1.0/profiles/default?project=team', { devices: { root } });
    await send('POST', '/1.0/network-acls', { name: 'wall' });
    const { certPem } = await makeClient('friend');
    await send('POST', '/1.0/certificates', {
      type: 'client',
      name: 'friend',
      certificate: certPem.replaceAll(/-----.*-----|\n/g, ''),
    });
    mkdirSync(join(home, 'image'));
    const built = await buildBusyboxImage(join(home, 'image'), {});
    await send('POST', '/1.0/images', readFileSync(built.metadataPath));
    await send('POST', '/1.0/images/aliases', { name: 'busybox', target: built.fingerprint });
    await send('POST', '/1.0/containers', { name: 'seed', source: { type: 'image', alias: 'busybox' } });
    mkdirSync(join(lxdTree('seed'), 'rootfs/odd'));
    addOddFiles(join(lxdTree('seed'), 'rootfs/odd'));
    // Backups of LXD support hard links only for files.
    rmSync(join(lxdTree('seed'), 'rootfs/odd/hard-to-soft'));
    for (const [pool, volume] of [
      ['default', 'idle'],
      ['default', 'busy'],
    ]) {
      await send('POST', `/1.0/storage-pools/${pool}/volumes/custom`, { name: volume, config: { 'user.v': '1' } });
      writeFileSync(join(lxdTree(`default_${volume}`, 'custom'), 'file'), volume ?? '');
    }
    await send('POST', '/1.0/storage-pools/default/volumes/custom/idle/snapshots', { name: 's0' });
    const data = { type: 'disk', pool: 'default', source: 'busy', path: '/data' };
    const cases: Readonly<Record<string, object>> = {
      c1: { config: { 'security.privileged': 'true' } },
      c2: {
        profiles: ['default', 'limits'],
        description: 'with limits',
        config: { 'boot.autostart': 'true', 'user.long': 'x'.repeat(5000) },
      },
      c3: { ephemeral: true },
      c4: {
        devices: {
          zero: { type: 'unix-char', source: '/dev/zero', path: '/dev/own' },
          idle: { ...data, source: 'idle' },
        },
      },
      c5: { config: { 'security.nesting': 'true', 'linux.sysctl.net.ipv4.ip_forward': '1' } },
      r1: { profiles: ['default', 'net'] },
      withdata: { devices: { data } },
    };
    for (const name of [...stopped, ...running]) await container(name, cases[name] ?? {});
    for (const name of ofTeam)
      await send('POST', '/1.0/containers?project=team', { name, source: { type: 'image', alias: 'busybox' } });
    await container('brief', { ephemeral: true });
    // LXD makes no container of another architecture than its host's; a cluster with hosts of both lists them.
    await container('arm');
    const query = "UPDATE instances SET architecture = 4 WHERE name = 'arm'";
    await send('POST', '/internal/sql', { database: 'global', query });
    for (const name of ['c6', 'c7', 'r2']) {
      await send('POST', `/1.0/containers/${name}/snapshots`, { name: 's0' });
      writeFileSync(join(lxdTree(name), 'rootfs/later'), name);
      await send('POST', `/1.0/containers/${name}/snapshots`, { name: 's1' });
    }
    const { config } = (await lxd.get('/1.0/instances/r1')) as { readonly config: Record<string, string> };
    hwaddr = config['volatile.eth0.hwaddr'] ?? '';
    // On kernels without idmapped mounts, shifting file ids on disk loses capabilities and ACLs.
    for (const name of running)
      for (const file of ['capable', 'listed', 'inherits'])
        rmSync(join(lxdTree(name), 'rootfs/odd', file), { recursive: true });
    for (const name of [...running, 'brief']) await send('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    daemon = await makeDaemon({ runtime: 'lxc' });
  }, 300_000);
  afterAll(async () => {
    await daemon?.cleanUp();
    await lxd?.call('DELETE', '/1.0/projects/team');
    await lxd?.cleanUp();
    removeLinks(hwaddr);
  }, 120_000);

  const words = (...more: readonly string[]): readonly string[] => [
    'migrate-from-lxd',
    '--host',
    `unix://${daemon.socketPath}`,
    '--lxd',
    `unix://${lxd.socketPath}`,
    '--grace',
    '1s',
    ...more,
  ];
  const run = (...more: readonly string[]) => runGantry(programs, words(...more), { cwd: home });

  test('the rehearsal names every difference and changes nothing', async () => {
    const ran = await run('--dry-run');
    expect(ran.code, ran.stderr).toBe(0);
    for (const text of [
      '+ container/r1 (runs: copied',
      '+ container/withdata (runs: stopped while',
      '+ container/t1@team',
      '+ network_acl/wall',
      `- network/${bridge}: the bridge ${bridge} is on the target's host already`,
      '- container/brief: is ephemeral',
      "- container/arm: has the architecture aarch64, which the target's host cannot run (",
      '~ storage_volume/default/busy: withdata stay stopped',
    ])
      expect(ran.stdout).toContain(text);
    expect(await daemon.get('/1.0/containers')).toEqual([]);
  });

  test('everything arrives exactly, with hard links, devices and ACLs, although the program is killed repeatedly', async () => {
    const random = seededRandom();
    let kills = 0;
    for (let code: number | null = null; code !== 0;) {
      const child = spawn(process.execPath, [programs.gantry, ...words('-y', '--exact')], {
        cwd: home,
        env: plainEnv(),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      // Later runs get more time, so that one of them finishes.
      const limitMs = 1000 + random.next() * 4000 + kills * 500;
      if (kills < (isLongRun ? 8 : 2)) void Promise.race([ended, sleep(limitMs)]).then(() => child.kill('SIGKILL'));
      code = await ended;
      if (code !== null && code !== 0) throw new Error(`ended with ${code}: ${said}`);
      kills += 1;
    }
    console.log(`moved with ${kills - 1} kills (seed ${random.seed})`);
    for (const name of [...stopped, ...running]) {
      const isRunning = running.includes(name);
      const exactly = { times: !isRunning };
      const there = treeFacts(join(lxdTree(name), 'rootfs'), exactly);
      expect(treeFacts(join(ourTree(name), 'rootfs'), exactly), name).toEqual(there);
      expect((await daemon.get(`/1.0/containers/${name}`)).status, name).toBe(isRunning ? 'Running' : 'Stopped');
      expect((await lxd.get(`/1.0/instances/${name}`)).status, name).toBe('Stopped');
    }
    for (const name of running) {
      const file = await daemon.call('GET', `/1.0/containers/${name}/files?path=/odd/owned`);
      expect([file.headers['x-svc-uid'], file.headers['x-svc-gid']], name).toEqual(['12345', '54321']);
    }
    for (const name of ofTeam) expect((await daemon.get(`/1.0/containers/${name}?project=team`)).name).toBe(name);
    expect((await daemon.call('GET', '/1.0/containers/arm')).status).toBe(404);
    expect((await lxd.get('/1.0/instances/arm')).architecture).toBe('aarch64');
    for (const name of ['c6', 'c7', 'r2'])
      for (const snapshot of ['s0', 's1'])
        expect(treeFacts(join(ourTree(name, 'containers-snapshots'), snapshot, 'rootfs'))).toEqual(
          treeFacts(join(lxdTree(name, 'containers-snapshots'), snapshot, 'rootfs')),
        );
    expect(readFileSync(join(ourTree('busy', 'custom'), 'file'), 'utf8')).toBe('busy');
    expect(readFileSync(join(ourTree('idle', 'custom-snapshots'), 's0/file'), 'utf8')).toBe('idle');
    expect((await daemon.get('/1.0/certificates?recursion=1')).map(({ name }: { name: string }) => name)).toEqual([
      'friend',
    ]);
    const [ours, theirs] = [await daemon.get('/1.0/containers/r1'), await lxd.get('/1.0/instances/r1')];
    expect(ours.config['volatile.eth0.hwaddr']).toBe(theirs.config['volatile.eth0.hwaddr']);
    const onBridge = { type: 'nic', nictype: 'bridged', parent: bridge };
    expect(ours.devices.eth0).toEqual(onBridge);
    expect((await daemon.get('/1.0/profiles/net')).devices.eth0).toEqual(onBridge);
    const source = { type: 'none' };
    await daemon.ok('POST', '/1.0/containers', { name: 'fresh', source, profiles: ['default', 'net'] });
    await daemon.ok('DELETE', '/1.0/containers/fresh');
  }, 600_000);

  test('the plan of the written manifests is empty, and a second run has nothing to do', async () => {
    const plan = await runGantry(
      programs,
      ['plan', '-f', join(home, 'lxd-move/manifests'), '--detailed-exitcode', '--host', `unix://${daemon.socketPath}`],
      { cwd: home },
    );
    expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    const again = await run('-y');
    expect(again.code, again.stderr).toBe(0);
    expect(again.stdout).toContain('0 to move');
  });

  test('the bridge is taken over from LXD with its address, and containers attach to it again', async () => {
    const { config } = (await lxd.get(`/1.0/networks/${bridge}`)) as { config: Record<string, string> };
    const master = (): string => execFileSync('ip', ['-o', 'link', 'show', 'master', bridge], { encoding: 'utf8' });
    expect(master()).not.toBe('');
    await lxd.call('PUT', '/1.0/profiles/net', { devices: {} });
    for (const name of ['r1', 'c6']) await send('DELETE', `/1.0/containers/${name}`);
    await send('DELETE', `/1.0/networks/${bridge}`);
    const network = { 'ipv4.address': config['ipv4.address'], 'ipv4.nat': false, 'ipv6.address': 'none' };
    writeFileSync(join(home, 'network.yaml'), JSON.stringify({ kind: 'network', name: bridge, config: network }));
    const host = ['--host', `unix://${daemon.socketPath}`];
    const applied = await runGantry(programs, ['apply', join(home, 'network.yaml'), '-y', ...host], { cwd: home });
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const restarted = await runGantry(programs, ['restart', '--force', 'r1', ...host], { cwd: home });
    expect(restarted.code, restarted.stderr).toBe(0);
    expect(master()).toMatch(/veth/);
  });

  test('a container moves back to LXD and is deleted at its source', async () => {
    // LXD's protocol loses hard links and ACLs.
    for (const name of ['first', 'second', 'far', 'soft', 'listed', 'inherits'])
      rmSync(join(ourTree('c6'), 'rootfs/odd', name), { recursive: true });
    const before = treeFacts(join(ourTree('c6'), 'rootfs'));
    expect((await run('--to-lxd', '-y', '--exact')).stderr).toContain('--exact goes from LXD only');
    const ran = await run('--to-lxd', '-y', '--delete-source', '--state-dir', 'back');
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    expect(treeFacts(join(lxdTree('c6'), 'rootfs'))).toEqual(before);
    expect((await daemon.call('GET', '/1.0/containers/c6')).status).toBe(404);
    expect(ran.stdout).toContain('- container/c7: exists on the target already');
  });
});

/** LXD may leave the pair of a nic on the host when a container has stopped. */
function removeLinks(hwaddr: string): void {
  const links = JSON.parse(execFileSync('ip', ['-j', 'link'], { encoding: 'utf8' })) as {
    readonly ifname: string;
    readonly address: string;
  }[];
  for (const { ifname, address } of links) if (address === hwaddr) execFileSync('ip', ['link', 'del', ifname]);
}
