// Lists across members: objects of an absent member are listed from its records.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import type { HostDrivers } from '../../../server/daemon/host-drivers.ts';
import { runningMinutes } from '../../support/daemons/clock.ts';
import type { Json } from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = etcdMissing() ?? busyboxMissing();

const minutes = runningMinutes();
const withoutApparmor = (host: HostDrivers): HostDrivers => ({
  ...host,
  runtime: Object.assign(host.runtime, { missing: ['apparmor'] }),
});

describe.skipIf(missing !== undefined)('lists while a member is away', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  const dir = tempFolder('gantry-absent-');
  const pool = '/1.0/storage-pools/default/volumes';

  beforeAll(async () => {
    cluster = await makeCluster(2, 1, (name) => ({
      time: minutes.time,
      ...(name === 'm2' ? { adapt: withoutApparmor } : {}),
    }));
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await one.call('POST', '/1.0/networks', { name: 'gtab0', config: { 'ipv6.address': 'none' } });
    await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '1' } });
  });
  afterAll(() => cluster.cleanUp());

  async function fill(): Promise<void> {
    const metadata = 'architecture: x86_64\ncreation_date: 1700000000\n';
    const built = await buildBusyboxImage(join(dir, 'image'), {
      metadata,
      busybox: { withoutPrograms: true },
    });
    const type = { 'content-type': 'application/octet-stream' };
    await two.ok('POST', '/1.0/images', await readFile(built.metadataPath), type);
    const { config } = await one.get('/1.0/networks/gtab0?target=m2');
    const base = String(config['ipv4.address']).replace(/\.\d+\/.*$/, '');
    const devices = {
      root: { type: 'disk', path: '/', pool: 'default' },
      data: { type: 'disk', path: '/data', pool: 'default', source: 'data' },
      eth0: { type: 'nic', nictype: 'bridged', parent: 'gtab0', 'ipv4.address': `${base}.20` },
    };
    for (const [member, name] of [
      ['m1', 'here'],
      ['m2', 'data'],
    ] as const)
      await one.call('POST', `${pool}?target=${member}`, { name, type: 'custom', config: { 'user.of': member } });
    await one.ok('POST', `${pool}/custom/data/snapshots`, { name: 'v0' });
    const source = { type: 'image', fingerprint: built.fingerprint };
    await one.ok('POST', '/1.0/containers?target=m2', { name: 'away', source, devices });
    await one.ok('POST', '/1.0/containers/away/snapshots', { name: 's0' });
    await one.call('POST', '/1.0/projects', { name: 'other', config: { 'features.images': 'false' } });
    const root = { type: 'disk', path: '/', pool: 'default' };
    const body = { name: 'elsewhere', source: { type: 'none' }, devices: { root } };
    await one.ok('POST', '/1.0/containers?target=m2&project=other', body);
  }

  const lists = [
    pool,
    `${pool}?recursion=1`,
    `${pool}/custom?recursion=1`,
    `${pool}/image?recursion=1`,
    `${pool}/container?recursion=1&project=other`,
    `${pool}?recursion=1&all-projects=true`,
    '/1.0/networks/gtab0/leases',
  ];
  const all = async (): Promise<unknown> => {
    const found: [string, unknown][] = [];
    for (const path of lists) found.push([path, await one.get(path)]);
    return found;
  };

  test('objects of the absent member stay listed, its containers with status Error and without state', async () => {
    await fill();
    const before = await all();
    const names = ['here', 'data', 'data/v0', 'away', 'away/s0', 'elsewhere'];
    const volumes = (await one.get(`${pool}?recursion=1&all-projects=true`)) as { name: string; type: string }[];
    expect(volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    expect(volumes.map(({ type }) => type)).toContain('image');
    const containers = await one.get('/1.0/containers?recursion=2');
    expect(containers).toMatchObject([{ name: 'away', status: 'Stopped', state: { status: 'Stopped' } }]);
    await two.restart(async () => {
      await until(async () => (await one.get('/1.0/cluster/members/m2')).status === 'Offline');
      expect(await all()).toEqual(before);
      const [{ state, status, status_code, ...rest }] = await one.get('/1.0/containers?recursion=2');
      expect({ state, status, status_code }).toEqual({ state: null, status: 'Error', status_code: 112 });
      expect(containers).toEqual([{ ...rest, state: expect.anything(), status: 'Stopped', status_code: 102 }]);
      expect(await one.get('/1.0/containers?recursion=2&all-projects=true')).toHaveLength(2);
      const asked = await one.call('GET', `${pool}/custom/data`);
      expect([asked.status, asked.bytes.toString()]).toEqual([500, expect.stringContaining('m2')]);
    });
    await until(async () => (await one.get('/1.0/cluster/members/m2')).status === 'Online');
    expect(await all()).toEqual(before);
  });

  test('any member lists, acknowledges and deletes warnings of all, and an online member warns about an absent one', async () => {
    const warnings = async (of = one): Promise<Json[]> => of.get('/1.0/warnings?recursion=1');
    const statusOf = async (type: string, of = one): Promise<string | undefined> =>
      (await warnings(of)).find((each) => each.type === type)?.status;
    const [apparmor, offline] = ['AppArmor support has been disabled', 'Offline cluster member'];
    await until(async () => (await statusOf(apparmor)) === 'new');
    const [found] = (await warnings()).filter(({ type }) => type === apparmor);
    expect(found).toMatchObject({ location: 'm2', entity_url: '' });
    const path = `/1.0/warnings/${found.uuid}`;
    expect((await one.call('PUT', path, { status: 'acknowledged' })).status).toBe(200);
    expect(await statusOf(apparmor, two)).toBe('acknowledged');
    await two.restart(async () => {
      await until(async () => (await one.get('/1.0/cluster/members/m2')).status === 'Offline');
      minutes.pass(60_000);
      await until(async () => (await statusOf(offline)) === 'new');
      minutes.pass(60_000);
      const about = { location: 'm1', count: 1, entity_url: '/1.0/cluster/members/m2' };
      expect((await warnings()).find(({ type }) => type === offline)).toMatchObject(about);
      // Its warnings can be changed while it is away.
      expect((await one.call('PATCH', path, { status: 'new' })).status).toBe(200);
      expect(await statusOf(apparmor)).toBe('new');
    });
    await until(async () => (await one.get('/1.0/cluster/members/m2')).status === 'Online');
    minutes.pass(60_000);
    await until(async () => (await statusOf(offline, two)) === 'resolved');
    expect(await statusOf(apparmor, two)).toBe('new');
    expect((await one.call('DELETE', path)).status).toBe(200);
    expect((await two.call('GET', path)).status).toBe(404);
    expect((await two.call('DELETE', path)).status).toBe(404);
  });
});
