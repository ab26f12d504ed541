// A Debian with systemd in an unprivileged container over the real daemon: the usual actions of its users, from boot to poweroff.
import { createReadStream, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { readCgroupTree, readGroupFile } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import { createClient, type Client } from '../../../../server/client/client.ts';
import {
  hostRemains,
  lifecycleOf,
  makeDaemon,
  realRuntimeMissing,
  setState,
  statusOf,
} from '../../../support/daemons/daemon.ts';
import type { Listening, TestDaemon } from '../../../support/daemons/daemon.ts';
import { debianImage } from '../../../support/images/debian.ts';
import { until } from '../../../support/until.ts';
import { freeSubnet } from '../../../support/hosts/free-resources.ts';

const subnet = freeSubnet();

const image = (await realRuntimeMissing()) === undefined ? debianImage() : undefined;
const missing = image === undefined ? 'no real containers here' : image.missing;
if (missing !== undefined) console.log(`skipped: a Debian with systemd: ${missing}`);

const network = 'gtysd0';
const bootMs = 60_000;

describe.skipIf(missing !== undefined)('a Debian with systemd', () => {
  let daemon: TestDaemon;
  let client: Client;
  let events: Listening;

  beforeAll(async () => {
    daemon = await makeDaemon({ runtime: 'lxc' });
    client = createClient(`unix://${daemon.socketPath}`);
    // Snapshots and restores of a whole Debian are copies of 200 MB on the plain driver.
    const driver =
      (await btrfsMissing()) === undefined ? { driver: 'btrfs', config: { size: '2GiB' } } : { driver: 'dir' };
    expect((await daemon.call('POST', '/1.0/storage-pools', { name: 'default', ...driver })).status).toBe(200);
    await daemon.call('POST', '/1.0/networks', {
      name: network,
      config: { 'ipv4.address': `${subnet}.1/24`, 'ipv4.nat': 'false', 'ipv6.address': 'none' },
    });
    const root = { type: 'disk', path: '/', pool: 'default' };
    const eth0 = { type: 'nic', nictype: 'bridged', parent: network, name: 'eth0' };
    await daemon.call('PUT', '/1.0/profiles/default', { devices: { root, eth0 } });
  });
  afterAll(async () => {
    events?.close();
    await client?.close();
    await daemon?.cleanUp();
    if (daemon !== undefined) expect(hostRemains(daemon.dir)).toEqual([]);
  });

  const path = '/1.0/containers/deb';
  const pid = async (): Promise<number> => (await daemon.get(`${path}/state`)).pid as number;
  async function inside(...command: string[]): Promise<{ readonly code: number; readonly text: string }> {
    let text = '';
    const collect = (): Writable =>
      new Writable({
        write(chunk: Buffer, _encoding, done) {
          text += chunk.toString('utf8');
          done();
        },
      });
    const session = await client.exec('deb', { command, stdout: collect(), stderr: collect() });
    return { code: await session.exited, text: text.trim() };
  }
  const shell = async (script: string): Promise<string> => (await inside('sh', '-c', script)).text;

  /** Until all of its units are up. */
  async function booted(): Promise<string> {
    let state = '';
    await until(async () => {
      state = (await inside('systemctl', 'is-system-running').catch(() => ({ text: 'not yet' }))).text;
      return state === 'running' || state === 'degraded';
    }, bootMs).catch(() => {});
    return state;
  }

  test('is made from its image and boots until all units run', async () => {
    const uploaded = await daemon.ok('POST', '/1.0/images', createReadStream(image?.file ?? ''), {
      'content-type': 'application/octet-stream',
    });
    const { fingerprint } = uploaded.metadata as { fingerprint: string };
    await daemon.ok('POST', '/1.0/containers', {
      name: 'deb',
      source: { type: 'image', fingerprint },
      config: { 'limits.memory': '512MiB' },
    });
    events = await daemon.listen('lifecycle');
    expect((await setState(daemon, 'deb', 'start')).err).toBe('');
    expect(await booted(), await shell('systemctl --failed --no-legend; systemctl list-jobs')).toBe('running');
    expect(await shell('cat /proc/1/comm; systemd-detect-virt; cat /etc/hostname; id -u')).toBe('systemd\nlxc\ndeb\n0');
    expect(await shell('cat /proc/self/uid_map')).toMatch(/^0 +[1-9]\d+ +\d+$/);
  });

  test('gets an address of our bridge, by DHCP', async () => {
    let address: string | undefined;
    await until(async () => {
      const { network: nics } = await daemon.get(`${path}/state`);
      const addresses = nics.eth0.addresses as { family: string; address: string }[];
      address = addresses.find(({ family }) => family === 'inet')?.address;
      return address !== undefined;
    });
    expect(address?.startsWith(`${subnet}.`)).toBe(true);
    const leases = (await daemon.get(`/1.0/networks/${network}/leases`)) as { hostname: string; address: string }[];
    expect(leases).toContainEqual(expect.objectContaining({ hostname: 'deb', address }));
    expect((await inside('ping', '-V')).code).toBe(127);
    expect(await shell('ip route show default')).toContain(`via ${subnet}.1 dev eth0`);
  });

  test('commands exit with their own codes, in the control groups of the container', async () => {
    expect((await inside('sh', '-c', 'exit 3')).code).toBe(3);
    expect((await inside('sh', '-c', 'kill -TERM $$; sleep 60')).code).toBe(143);
    expect((await inside('/etc/passwd')).code).toBe(126);
    expect((await inside('no-such-program')).code).toBe(127);
    expect((await inside('systemctl', 'is-active', 'dbus.service')).text).toBe('active');
    // A transient unit: systemd may make groups below its own.
    expect(await shell('systemd-run --quiet --pipe --wait echo from a unit')).toBe('from a unit');
  });

  test('the journal and the console log exist', async () => {
    await shell('echo written to the journal | systemd-cat -t gantry-test');
    let found = '';
    await until(async () => (found = await shell('journalctl --no-pager -q -o cat -t gantry-test')) !== '');
    expect(found).toBe('written to the journal');
    const log = (await daemon.call('GET', `${path}/console`)).bytes.toString('utf8');
    expect(log).toMatch(/Debian GNU\/Linux|Reached target|systemd 25/);
  });

  test('files are read and written with the ids of the container', async () => {
    const file = `${path}/files?path=/srv/note`;
    const headers = { 'x-svc-uid': '1000', 'x-svc-gid': '1001', 'x-svc-mode': '0640', 'x-svc-type': 'file' };
    expect((await daemon.call('POST', file, 'from outside', headers)).status).toBe(200);
    expect(await shell('stat -c "%u:%g %a" /srv/note; cat /srv/note')).toBe('1000:1001 640\nfrom outside');
    await shell('chown 33:33 /srv/note; chmod 600 /srv/note; echo from inside > /srv/note');
    const read = await daemon.call('GET', file);
    expect(read.bytes.toString('utf8')).toBe('from inside\n');
    expect(read.headers).toMatchObject({ 'x-svc-uid': '33', 'x-svc-gid': '33', 'x-svc-mode': '0600' });
  });

  test('limits take effect at once when they are changed', async () => {
    const group = /:(?:memory)?:\/(gantry\/[^/\n]+\/[^/\n]+)/.exec(
      readFileSync(`/proc/${await pid()}/cgroup`, 'utf8'),
    )?.[1];
    const tree = readCgroupTree();
    const limit = (): string | undefined =>
      readGroupFile(tree, group ?? '', tree.version === 1 ? 'memory.limit_in_bytes' : 'memory.max')?.trim();
    expect(limit()).toBe(String(512 * 1_048_576));
    const patched = await daemon.call('PATCH', path, {
      config: { 'limits.memory': '256MiB', 'limits.processes': '120' },
    });
    expect(patched.status, patched.bytes.toString()).toBe(200);
    expect(limit()).toBe(String(256 * 1_048_576));
    expect(await shell('i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done 2>&1')).toMatch(/[Cc]annot fork/);
    await daemon.call('PATCH', path, { config: { 'limits.processes': '' } });
    expect(await shell('sleep 0 & wait; echo fine')).toBe('fine');
  });

  test('a clean stop ends the units of systemd in order, within its timeout', async () => {
    const stopped = await setState(daemon, 'deb', 'stop', { timeout: 60 });
    expect(stopped.err).toBe('');
    expect(await statusOf(daemon, 'deb')).toBe('Stopped');
    expect((await setState(daemon, 'deb', 'start')).err).toBe('');
    expect(await booted()).toBe('running');
    const last = await shell('journalctl --no-pager -q -o cat -b -1 | tail -n 60');
    expect(last).toContain('Journal stopped');
    expect(last).toMatch(/Reached target .*(shutdown|Shutdown|halt|Halt|Power)/);
  });

  test('a reboot from inside is noticed, and the machine boots again', async () => {
    const before = await pid();
    await inside('systemctl', '--no-block', 'reboot').catch(() => undefined);
    await events.next((event) => lifecycleOf(event).action === 'container-restarted', 60_000);
    expect(await statusOf(daemon, 'deb')).toBe('Running');
    expect(await pid()).not.toBe(before);
    expect(await booted()).toBe('running');
  });

  test('a poweroff from inside is a stop, and a snapshot restores lost files', async () => {
    await shell('echo kept > /root/kept; sync');
    await daemon.ok('POST', `${path}/snapshots`, { name: 'before' });
    await shell('rm -rf /root/kept /usr/bin/systemd-run');
    await inside('systemctl', '--no-block', 'poweroff').catch(() => undefined);
    await events.next((event) => lifecycleOf(event).action === 'container-stopped', 60_000);
    await until(async () => (await statusOf(daemon, 'deb')) === 'Stopped');
    await daemon.ok('PUT', path, { restore: 'before' });
    expect((await daemon.call('GET', `${path}/files?path=/root/kept`)).bytes.toString()).toBe('kept\n');
    expect((await daemon.call('GET', `${path}/files?path=/usr/bin/systemd-run`)).status).toBe(200);
  });
});
