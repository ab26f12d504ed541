// Devices of running containers over the real daemon: rules on the simulation, traffic and files on real containers (spec 2.5).
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  createContainer,
  type Json,
  leaveNothing,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import type { SimProxies } from '../../../../server/drivers/devices/proxy/sim-proxies.ts';
import { ownMount } from '../../../../server/drivers/device-parts.ts';
import { dirTag } from '../../../../server/drivers/runtime/safe-names.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { until } from '../../../support/until.ts';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const subnet = freeSubnet();

const missing = await realRuntimeMissing();
const leaseArgs = '-s /usr/share/udhcpc/default.script -i eth0 -n -q -t 10 -T 1';

describe('on the simulation', () => {
  let daemon: TestDaemon;
  const shared = tempFolder('gtyd-');
  let count = 0;
  beforeAll(async () => (daemon = await makeSeeded()));
  afterAll(() => daemon.cleanUp());
  afterEach(() => daemon.sim.faults.clear());
  const running = async (more: object = {}): Promise<string> => {
    const name = `d${(count += 1)}`;
    await createContainer(daemon, name, more);
    expect((await setState(daemon, name, 'start')).err).toBe('');
    return name;
  };
  const patch = (name: string, devices: object): ReturnType<TestDaemon['call']> =>
    daemon.call('PATCH', `/1.0/containers/${name}`, { devices });
  const disk = (path = '/data', source = shared): object => ({ type: 'disk', path, source });
  const nic = (name: string): object => ({ type: 'nic', nictype: 'p2p', name });
  const targets = (name: string): string[] =>
    daemon.sim.runOf(name).mounts.flatMap(({ device, target }) => (device === ownMount ? [] : [target]));
  const interfaces = (name: string): string[] => daemon.sim.runOf(name).nics.map((each) => each.name);
  const devicesOf = async (name: string): Promise<string[]> =>
    Object.keys((await daemon.get(`/1.0/containers/${name}`)).devices as object).sort();

  test('PATCH plugs in, PUT unplugs, and the container runs on', async () => {
    const name = await running();
    const { initPid } = daemon.sim.probe(name);
    expect((await patch(name, { data: disk(), eth1: nic('eth1') })).status).toBe(200);
    expect([targets(name), interfaces(name)]).toEqual([['/data'], ['eth1']]);
    expect((await daemon.get(`/1.0/containers/${name}`)).config).toMatchObject({
      'volatile.eth1.hwaddr': expect.stringMatching(/^00:16:3e/),
      'volatile.eth1.host_name': expect.stringMatching(/^veth/),
    });
    await daemon.ok('PUT', `/1.0/containers/${name}`, { profiles: ['default'], devices: { data: disk('/other') } });
    expect([targets(name), interfaces(name)]).toEqual([['/other'], []]);
    expect(daemon.sim.probe(name).initPid).toBe(initPid);
    const { config } = await daemon.get(`/1.0/containers/${name}`);
    expect(Object.keys(config as object).filter((key) => key.includes('eth1'))).toEqual([]);
  });

  test('a nic without a name gets the lowest free one, and keeps it', async () => {
    const name = await running({ devices: { a: { type: 'nic', nictype: 'p2p' } } });
    await patch(name, { b: { type: 'nic', nictype: 'p2p' } });
    expect(interfaces(name)).toEqual(['eth0', 'eth1']);
    await patch(name, { a: { type: 'none' } });
    await patch(name, { c: { type: 'nic', nictype: 'p2p' } });
    expect(interfaces(name)).toEqual(['eth1', 'eth0']);
  });

  test('a device that cannot be plugged in leaves record and container as they were, and says why', async () => {
    const name = await running({ devices: { data: disk() } });
    const before = await daemon.get(`/1.0/containers/${name}`);
    const answer = await patch(name, {
      data: disk('/elsewhere'),
      eth1: nic('eth1'),
      gone: disk('/gone', '/nonexistent'),
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body.metadata.message).toMatch(/gone.*\/nonexistent/);
    expect([targets(name), interfaces(name)]).toEqual([['/data'], []]);
    expect(await daemon.get(`/1.0/containers/${name}`)).toEqual(before);
  });

  test('a failure half way puts back what was unplugged already', async () => {
    const name = await running({ devices: { data: disk() } });
    daemon.sim.faults.inject({ operation: 'plug', container: name, error: 'no room', times: 1 });
    const put = { profiles: ['default'], devices: { more: disk('/more') } };
    const operation = await daemon.run('PUT', `/1.0/containers/${name}`, put);
    expect(operation.err).toMatch(/device more of the running container .*no room/);
    expect(targets(name)).toEqual(['/data']);
    expect(await devicesOf(name)).toEqual(['data']);
    await daemon.ok('PUT', `/1.0/containers/${name}`, put);
    expect(targets(name)).toEqual(['/more']);
  });

  test.each(['late', 'web'])(
    'a disk that is plugged in again stays as it was when the device %s fails',
    async (failing) => {
      const web = { type: 'proxy', listen: 'tcp:127.0.0.1:8090', connect: 'tcp:127.0.0.1:80' };
      const other = await running({ devices: { web } });
      const source = join(shared, `late${(count += 1)}`);
      const late = { ...disk('/late', source), required: 'false' };
      const name = await running({ devices: { late } });
      const before = await daemon.get(`/1.0/containers/${name}`);
      // The source is there by now: the change of its limit plugs it in for the first time.
      await mkdir(source);
      if (failing === 'late')
        daemon.sim.faults.inject({ operation: 'plug', container: name, error: 'no room', times: 1 });
      const answer = await patch(name, { late: { ...late, 'limits.max': '1MB' }, web });
      expect([answer.status, answer.body.metadata.message]).toEqual([
        400,
        expect.stringMatching(new RegExp(`device ${failing} of the running container .*(no room|8090 belongs to)`)),
      ]);
      expect(await daemon.get(`/1.0/containers/${name}`)).toEqual(before);
      expect(daemon.sim.live?.plugged(name)).toMatchObject({ late });
      expect(targets(name)).toEqual([]);
      await setState(daemon, other, 'stop', { force: true });
    },
  );

  test('a reboot after which a device cannot be followed is logged, and the daemon serves on', async () => {
    const source = join(shared, `node${(count += 1)}`);
    const node = { type: 'unix-char', source, path: '/dev/late', required: 'false' };
    const name = await running({ devices: { node } });
    daemon.sim.faults.inject({ operation: 'adjust', container: name, error: 'it is rebooting' });
    execFileSync('mknod', [source, 'c', '1', '3']);
    await daemon.sim.reboot(name);
    await until(() => daemon.logged.some((line) => line.includes(`${name} could not be followed after a reboot`)));
    expect((await daemon.get(`/1.0/containers/${name}`)).status).toBe('Running');
  });

  test('names and paths that are taken are refused', async () => {
    const name = await running({ devices: { data: disk(), eth0: nic('eth0') } });
    for (const devices of [{ twin: disk() }, { twin: nic('eth0') }]) {
      const answer = await patch(name, devices);
      expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringMatching(/twin|data|eth0/)]);
    }
    await daemon.call('POST', '/1.0/profiles', { name: `p-${name}`, devices: { other: disk() } });
    const answer = await daemon.call('PATCH', `/1.0/containers/${name}`, { profiles: ['default', `p-${name}`] });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      400,
      expect.stringContaining('devices.other.path: is /data like that of data'),
    ]);
    expect(targets(name)).toEqual(['/data']);
  });

  test('a profile plugs into all its running containers; none masks it; a container that fails is named', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'shared' });
    const more = { profiles: ['default', 'shared'] };
    const [a, b] = [await running(more), await running({ ...more, devices: { data: { type: 'none' } } })];
    const devices = { data: disk(), eth5: nic('eth5') };
    expect((await daemon.call('PUT', '/1.0/profiles/shared', { devices })).status).toBe(200);
    expect([targets(a), targets(b), interfaces(a), interfaces(b)]).toEqual([['/data'], [], ['eth5'], ['eth5']]);
    daemon.sim.faults.inject({ operation: 'unplug', container: a, error: 'stuck', times: 1 });
    const answer = await daemon.call('PUT', '/1.0/profiles/shared', {});
    expect([answer.status, answer.body.metadata.message]).toEqual([
      500,
      expect.stringMatching(new RegExp(`${a}.*stuck`)),
    ]);
    expect([targets(a), interfaces(b)]).toEqual([['/data'], []]);
    // The next change finds what is still to be done, whatever the last one left.
    expect((await daemon.call('PUT', '/1.0/profiles/shared', {})).status).toBe(200);
    expect([targets(a), interfaces(a)]).toEqual([[], []]);
  });

  test('proxies are opened and closed with the container, and an address belongs to one of them', async () => {
    const web = { type: 'proxy', listen: 'tcp:127.0.0.1:8080', connect: 'tcp:127.0.0.1:80' };
    const [a, b] = [await running({ devices: { web } }), await running()];
    const { proxies } = daemon.host as unknown as { proxies: SimProxies };
    expect(Object.keys(proxies.of(a))).toEqual(['web']);
    const answer = await patch(b, { web });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      400,
      expect.stringMatching(/8080 belongs to .*web/),
    ]);
    expect(await devicesOf(b)).toEqual([]);
    await daemon.restart();
    const again = (daemon.host as unknown as { proxies: SimProxies }).proxies;
    expect(Object.keys(again.of(a))).toEqual(['web']);
    await setState(daemon, a, 'stop', { force: true });
    expect((await patch(b, { web })).status).toBe(200);
    expect((await setState(daemon, a, 'start')).err).toMatch(/8080 belongs to/);
    expect((await daemon.get(`/1.0/containers/${a}`)).status).toBe('Stopped');
    expect((await patch(b, { web: { type: 'none' } })).status).toBe(200);
    expect((await setState(daemon, a, 'start')).err).toBe('');
  });

  test('a change that a killed daemon recorded but did not make is made by the next one', async () => {
    const name = await running();
    await patch(name, { data: disk() });
    const run = daemon.sim.runOf(name);
    await daemon.sim.live?.unplug(name, 'data');
    expect(targets(name)).toEqual([]);
    await daemon.restart();
    expect(targets(name)).toEqual(['/data']);
    expect(daemon.sim.runOf(name).mounts).toEqual(expect.arrayContaining([...run.mounts]));
  });

  test('a start names the disk whose source has gone, and does without an optional one', async () => {
    const name = `d${(count += 1)}`;
    const source = await mkdtemp('/tmp/gtyd-gone-');
    await createContainer(daemon, name, { devices: { gone: disk('/gone', source) } });
    await rm(source, { recursive: true });
    expect((await setState(daemon, name, 'start')).err).toMatch(new RegExp(`gone.*${source}`));
    await patch(name, { gone: { ...disk('/gone', source), optional: 'true' } });
    expect((await setState(daemon, name, 'start')).err).toBe('');
  });
});

describe.skipIf(missing !== undefined)('on real containers', () => {
  const bridge = 'gtydbr0';
  let real: TestDaemon;
  const work = tempFolder('gtyd-real-');
  /** How the kernel's list of interfaces shows those that this daemon made for rates. */
  const ours = (): string => `gantry:nic:${dirTag(join(real.dir, 'runtime'))}`;
  beforeAll(async () => {
    // Throughput is limited on a block device, which files in memory do not have.
    real = await makeSeeded({ runtime: 'lxc', dir: await mkdtemp('/var/tmp/gtya-') });
    await uploadBusybox(real);
    const config = { 'ipv4.address': `${subnet}.1/24`, 'ipv6.address': 'none', 'ipv4.nat': 'false' };
    const made = await real.call('POST', '/1.0/networks', { name: bridge, config });
    expect([made.status, made.bytes.toString()]).toEqual([200, expect.anything()]);
    await createContainer(real, 'c1', { source: { type: 'image', alias: 'busybox' } });
    expect((await setState(real, 'c1', 'start')).err).toBe('');
  });
  afterAll(async () => {
    await leaveNothing(real);
    expect(execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })).not.toMatch(new RegExp(`gtyd|${ours()}`));
  });

  const sh = async (script: string): Promise<{ code: number; out: string }> => {
    const { exitCode, stdout, stderr } = await execIn(real.host.runtime, 'c1', ['sh', '-c', script]);
    return { code: exitCode, out: `${stdout}${stderr}` };
  };
  const patch = async (devices: object): Promise<void> => {
    const answer = await real.call('PATCH', '/1.0/containers/c1', { devices });
    expect([answer.status, answer.bytes.toString()]).toEqual([200, expect.anything()]);
  };
  const nic = (more: object = {}): object => ({
    type: 'nic',
    nictype: 'bridged',
    parent: bridge,
    name: 'eth0',
    ...more,
  });
  const hostNameOf = async (device: string): Promise<string> =>
    (await real.get('/1.0/containers/c1')).config[`volatile.${device}.host_name`] as string;
  const tables = (): string => execFileSync('nft', ['list', 'tables', 'bridge'], { encoding: 'utf8' });

  test('a nic that is plugged in gets its fixed lease, is filtered and slowed down, and leaves nothing when unplugged', async () => {
    await patch({ eth0: nic({ 'ipv4.address': `${subnet}.7`, 'security.mac_filtering': 'true' }) });
    const lease = await sh(`udhcpc ${leaseArgs} && ping -c 1 -W 2 ${subnet}.1`);
    expect([lease.code, lease.out]).toEqual([0, expect.stringContaining(`lease of ${subnet}.7`)]);
    const host = await hostNameOf('eth0');
    expect(existsSync(`/sys/class/net/${host}`)).toBe(true);

    const spoof = 'ip link set eth0 down; ip link set eth0 address 00:16:3e:66:66:66; ip link set eth0 up';
    const route = `ip addr replace ${subnet}.7/24 dev eth0`;
    expect((await sh(`${spoof}; ${route}; ping -c 2 -W 1 ${subnet}.1`)).code).not.toBe(0);
    await patch({ eth0: nic({ 'ipv4.address': `${subnet}.7` }) });
    // The host has to learn the other address first.
    await until(async () => (await sh(`ping -c 1 -W 1 ${subnet}.1`)).code === 0);

    await patch({ eth0: nic({ 'limits.egress': '8Mbit', 'limits.ingress': '8Mbit' }) });
    const shaped = execFileSync('tc', ['qdisc', 'show'], { encoding: 'utf8' });
    expect(shaped).toMatch(new RegExp(`tbf .* dev ${host} root.* rate 8Mbit`));
    expect(shaped).toMatch(/tbf .* dev gtifb[0-9a-f]{8} root.* rate 8Mbit/);
    const received = await receive(`${subnet}.1`, 2_000_000, async (port) => {
      await sh(`head -c 2000000 /dev/zero | nc -w 10 ${subnet}.1 ${port}`);
    });
    // 16 Mbit at 8 Mbit a second; unlimited it would be some milliseconds.
    expect(received).toBeGreaterThan(1200);
    expect(received).toBeLessThan(6000);

    await patch({ eth0: { type: 'none' } });
    expect((await sh('ls /sys/class/net')).out.trim()).toBe('lo');
    expect(existsSync(`/sys/class/net/${host}`)).toBe(false);
    expect(execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })).not.toContain(ours());
    expect(tables()).not.toContain('gantry_');
  });

  test('a disk is plugged in and out while it runs; read-only is read-only', async () => {
    const dir = join(work, 'shared');
    await mkdir(dir, { mode: 0o777 });
    execFileSync('chmod', ['0777', dir]);
    await writeFile(join(dir, 'word'), 'hello\n');
    await patch({ data: { type: 'disk', source: dir, path: '/mnt/data' } });
    expect((await sh('cat /mnt/data/word; echo from-inside > /mnt/data/reply')).out).toBe('hello\n');
    expect(readFileSync(join(dir, 'reply'), 'utf8')).toBe('from-inside\n');
    await patch({ data: { type: 'disk', source: dir, path: '/mnt/data', readonly: 'true' } });
    expect(await sh('echo no > /mnt/data/reply')).toMatchObject({ code: 1, out: expect.stringContaining('Read-only') });
    await patch({ data: { type: 'none' } });
    expect((await sh('ls /mnt/data')).out).toBe('');
  });

  test('a place behind a link of the container is refused, plugged in and at a start: it would be another one, or the host’s', async () => {
    await sh('mkdir -p /srv/real; ln -sfn /srv/real /srv/link');
    const disk = { type: 'disk', source: work, path: '/srv/link/sub' };
    const answer = await real.call('PATCH', '/1.0/containers/c1', { devices: { data: disk } });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      400,
      expect.stringContaining('/srv/link is a link to /srv/real'),
    ]);
    await setState(real, 'c1', 'stop', { force: true });
    await patch({ data: disk });
    expect((await setState(real, 'c1', 'start')).err).toContain('/srv/link in it is a link to /srv/real');
    await patch({ data: { ...disk, path: '/srv/real/sub' } });
    expect((await setState(real, 'c1', 'start')).err).toBe('');
    expect((await sh('grep " /srv/real/sub " /proc/self/mountinfo')).code).toBe(0);
    await patch({ data: { type: 'none' } });
  });

  test('a file may at a start be where a directory was at the last one', async () => {
    const start = async (source: string): Promise<void> => {
      await patch({ data: { type: 'disk', source, path: `/mnt/${basename(source)}` } });
      expect((await setState(real, 'c1', 'restart', { force: true })).err).toBe('');
    };
    const [dir, file] = [join(work, 'either-dir'), join(work, 'either-file')];
    await mkdir(dir);
    await writeFile(file, 'a file');
    for (const source of [dir, file, dir]) await start(source);
    expect((await sh('ls -d /mnt/either-dir')).code).toBe(0);
    await patch({ data: { type: 'none' } });
  });

  test('later mounts of the host below a disk are seen inside as propagation says, plugged in or there from the start', async () => {
    const dir = join(work, 'shares');
    await mkdir(join(dir, 'later'), { recursive: true });
    const disk = { type: 'disk', source: dir, path: '/mnt/shares' };
    const mount = (...words: string[]): Buffer => execFileSync('mount', words);
    const seen = async (): Promise<boolean> => {
      mount('-t', 'tmpfs', 'none', join(dir, 'later'));
      try {
        return (await sh('grep " /mnt/shares/later " /proc/self/mountinfo')).code === 0;
      } finally {
        execFileSync('umount', [join(dir, 'later')]);
      }
    };
    mount('--bind', dir, dir);
    onTestFinished(() => void execFileSync('umount', ['-l', dir]));
    mount('--make-shared', dir);
    for (const [propagation, expected] of [
      [undefined, false],
      ['unbindable', false],
      ['rslave', true],
      ['shared', true],
    ] as const) {
      await patch({ data: { ...disk, ...(propagation === undefined ? {} : { propagation }) } });
      expect([propagation, 'plugged in', await seen()]).toEqual([propagation, 'plugged in', expected]);
      expect((await setState(real, 'c1', 'restart', { force: true })).err).toBe('');
      expect([propagation, 'at the start', await seen()]).toEqual([propagation, 'at the start', expected]);
    }
    await patch({ data: { ...disk, propagation: 'shared' } });
    await sh('mount -t tmpfs none /mnt/shares/later');
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(join(dir, 'later'));
    await patch({ data: { type: 'none' } });
    const file = await real.call('PATCH', '/1.0/containers/c1', {
      devices: { data: { ...disk, source: work, path: '/etc/passwd' } },
    });
    expect([file.status, file.body.metadata.message]).toEqual([
      400,
      expect.stringContaining('/etc/passwd is a file, and the source is a directory'),
    ]);
  });

  test('throughput of the root disk is set and lifted, where the kernel can', async () => {
    // cgroup v1 asks the group that processes are in, and no other.
    const group = `*/gantry/${dirTag(join(real.dir, 'runtime'))}/c1/ns`;
    const groups = execFileSync('find', ['/sys/fs/cgroup', '-path', `${group}/blkio.throttle.read_bps_device`], {
      encoding: 'utf8',
    }).split('\n');
    const [file] = groups.filter((path) => path !== '');
    if (file === undefined) {
      console.log('skipped: this host has no blkio.throttle.read_bps_device');
      return;
    }
    const root = { type: 'disk', path: '/', pool: 'default' };
    await patch({ root: { ...root, 'limits.read': '10MB' } });
    expect(readFileSync(file, 'utf8')).toMatch(/^\d+:\d+ 10000000$/m);
    await patch({ root });
    expect(readFileSync(file, 'utf8')).not.toMatch(/10000000/);
  });

  test('a kernel without VLANs says so, and nothing is left of the try', async () => {
    const lacks = /Unknown device type/.test(
      execFileSync(
        'sh',
        ['-c', 'ip link add link lo name gtydv0 type vlan id 5 2>&1; ip link delete gtydv0 2>/dev/null; true'],
        { encoding: 'utf8' },
      ),
    );
    if (!lacks) {
      console.log('skipped: this kernel has VLANs');
      return;
    }
    const vlan = { type: 'nic', nictype: 'macvlan', parent: bridge, vlan: '5', name: 'eth8' };
    const answer = await real.call('PATCH', '/1.0/containers/c1', { devices: { vlan } });
    expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringMatching(/vlan.*kernel lacks/)]);
    expect(Object.keys((await real.get('/1.0/containers/c1')).devices as object)).not.toContain('vlan');
  });

  test('a missing parent is said before anything is started or plugged in', async () => {
    const answer = await real.call('PATCH', '/1.0/containers/c1', {
      devices: { eth9: nic({ parent: 'gtydnone', name: 'eth9' }) },
    });
    expect([answer.status, answer.body.metadata.message]).toEqual([
      expect.any(Number),
      expect.stringContaining('gtydnone'),
    ]);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    const { devices } = await real.get('/1.0/containers/c1');
    expect(Object.keys(devices as object)).not.toContain('eth9');
    await createContainer(real, 'c2', { source: { type: 'none' }, devices: { eth9: nic({ parent: 'gtydnone' }) } });
    expect((await setState(real, 'c2', 'start')).err).toMatch(/gtydnone/);
  });

  async function receive(address: string, bytes: number, send: (port: number) => Promise<void>): Promise<number> {
    const { createServer } = await import('node:net');
    let begin = 0;
    let end = 0;
    let got = 0;
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        begin ||= performance.now();
        got += chunk.length;
        end = performance.now();
        if (got >= bytes) socket.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, address, resolve));
    const port = (server.address() as Json).port as number;
    await send(port);
    await until(() => got >= bytes);
    server.close();
    return end - begin;
  }
});
