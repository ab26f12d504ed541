// Custom volumes and leases of a cluster: each member has its own, and any member, also through lxc, serves all of them.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StorageDriver } from '../../../server/drivers/storage/driver.ts';
import { mergeParts } from '../../../server/http/routes/merged-lists.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { setState } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

test('only URLs that several members list name their member', () => {
  const one = { member: 'm1', items: ['/a', '/b?project=p', { name: 'x' }] };
  const two = { member: 'm 2', items: ['/b?project=p', '/c', { name: 'x' }] };
  expect(mergeParts([one, two])).toEqual([
    '/a',
    '/b?project=p&target=m1',
    { name: 'x' },
    '/b?project=p&target=m%202',
    '/c',
    { name: 'x' },
  ]);
});

const noLxc = clientMissing('lxc');
if (noLxc !== undefined) console.log(`skipped: volumes of a cluster by lxc: ${noLxc}`);

let gate: Promise<void> = Promise.resolve();
let isSending = false;
/** Custom volumes are sent to other members when the gate is open. */
const slow = (driver: StorageDriver): StorageDriver => ({
  ...driver,
  async exportVolume(...all) {
    await driver.exportVolume(...all);
    isSending = true;
    await gate;
  },
});

describe.skipIf(etcdMissing() !== undefined)('volumes of a cluster', () => {
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];
  const work = tempFolder('gtcv-');
  const volumes = '/1.0/storage-pools/default/volumes';
  const custom = `${volumes}/custom`;

  beforeAll(async () => {
    cluster = await makeCluster(3, 1, (name) => ({
      lxd: { socket: join(work, name, 'unix.socket') },
      adapt: (host) => ({ ...host, storage: { ...host.storage, dir: slow(host.storage['dir'] as StorageDriver) } }),
    }));
    [one, two, three] = cluster.members as [TestMember, TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  });
  afterAll(() => cluster.cleanUp());

  const done = async (member: TestMember, method: string, path: string, body?: object): Promise<void> => {
    const { status, bytes } = await member.call(method, path, body);
    expect([path, status, bytes.toString()]).toEqual([path, 200, expect.anything()]);
  };
  const refusal = async (member: TestMember, method: string, path: string, body?: object) => {
    const { status, bytes } = await member.call(method, path, body);
    return [status, bytes.toString()];
  };

  test('the target gets the volume, and any member lists it with its location, reads, changes, snapshots and deletes it', async () => {
    await done(one, 'POST', `${volumes}?target=m2`, { name: 'data', type: 'custom', config: { 'user.a': '1' } });
    for (const member of cluster.members) {
      expect(await member.get(`${custom}?recursion=1`)).toMatchObject([{ name: 'data', location: 'm2' }]);
      expect(await member.get(custom)).toEqual([`${custom}/data`]);
      expect(await member.get(`${custom}/data`)).toMatchObject({ location: 'm2', config: { 'user.a': '1' } });
    }
    expect(await three.get(`${custom}?recursion=1&target=m1`)).toEqual([]);
    await done(three, 'PATCH', `${custom}/data`, { config: { 'user.b': '2' } });
    await one.ok('POST', `${custom}/data/snapshots`, { name: 's0' });
    expect(await three.get(`${custom}/data/snapshots`)).toEqual([`${custom}/data/snapshots/s0`]);
    expect(await three.get(`${custom}/data/snapshots/s0`)).toMatchObject({ name: 's0' });
    expect(await one.get(`${volumes}/custom/data%2Fs0`)).toMatchObject({ name: 'data/s0', location: 'm2' });
    await done(one, 'PUT', `${custom}/data`, { restore: 's0' });
    await done(three, 'DELETE', `${custom}/data`);
    for (const member of cluster.members) expect(await member.get(volumes)).toEqual([]);
  });

  test('a name that several members use needs a target, even on one of them', async () => {
    for (const target of ['m1', 'm3'])
      await done(two, 'POST', `${volumes}?target=${target}`, { name: 'v', type: 'custom' });
    for (const member of cluster.members) {
      for (const method of ['GET', 'DELETE'])
        expect(await refusal(member, method, `${custom}/v`)).toEqual([
          400,
          expect.stringContaining('volume v of the pool default is on m1, m3: name one of them with target'),
        ]);
      expect(await member.get(custom)).toEqual(
        expect.arrayContaining([`${custom}/v?target=m1`, `${custom}/v?target=m3`]),
      );
    }
    expect(await two.get(`${custom}/v?target=m3`)).toMatchObject({ location: 'm3' });
    expect(await refusal(two, 'GET', `${custom}/v?target=m2`)).toEqual([404, expect.stringContaining('not found')]);
    expect(await refusal(two, 'POST', `${volumes}?target=m7`, { name: 'w', type: 'custom' })).toEqual([
      404,
      expect.stringContaining('m7'),
    ]);
    await done(two, 'DELETE', `${custom}/v?target=m3`);
    expect(await two.get(`${custom}/v`)).toMatchObject({ location: 'm1' });
    await done(two, 'DELETE', `${custom}/v`);
  });

  test('a copy comes from the member that has the source, with its snapshots', async () => {
    await done(one, 'POST', `${volumes}?target=m2`, { name: 'origin', type: 'custom', config: { 'user.a': '1' } });
    await one.ok('POST', `${custom}/origin/snapshots`, { name: 's0' });
    const copy = (name: string, more: object = {}) => ({
      name,
      type: 'custom',
      source: { name: 'origin', pool: 'default', ...more },
    });
    await one.ok('POST', `${volumes}?target=m3`, copy('copied'));
    expect(await two.get(`${custom}/copied`)).toMatchObject({ location: 'm3', config: { 'user.a': '1' } });
    expect(await two.get(`${custom}/copied/snapshots`)).toEqual([`${custom}/copied/snapshots/s0`]);
    await one.ok('POST', volumes, copy('alone', { volume_only: true, location: 'm2' }));
    expect(await two.get(`${custom}/alone`)).toMatchObject({ location: 'm1' });
    expect(await two.get(`${custom}/alone/snapshots`)).toEqual([]);
    expect(await refusal(one, 'POST', volumes, copy('copy', { location: 'm3' }))).toEqual([
      404,
      expect.stringContaining('default/origin on the member m3'),
    ]);
    await done(one, 'PATCH', `${custom}/origin`, { config: { 'user.a': '2' } });
    await one.ok('POST', `${volumes}?target=m3`, copy('snapshot', { name: 'origin/s0' }));
    expect(await two.get(`${custom}/snapshot`)).toMatchObject({ location: 'm3', config: { 'user.a': '1' } });
    expect(await two.get(`${custom}/snapshot/snapshots`)).toEqual([]);
    expect(await refusal(one, 'POST', volumes, copy('snapshot2', { name: 'origin/s9' }))).toEqual([
      404,
      expect.stringContaining('origin/s9'),
    ]);
    await done(one, 'PATCH', `${custom}/origin`, { config: { 'user.a': '1' } });
    await one.ok('POST', `${volumes}?target=m2`, copy('beside', { name: 'origin/s0' }));
    expect(await refusal(one, 'POST', volumes, copy('alone'))).toEqual([409, expect.stringContaining('alone')]);
  });

  test('a volume moves to the target with its snapshots, from its only location or from the named one', async () => {
    await done(one, 'POST', `${volumes}?target=m2`, { name: 'goes', type: 'custom', config: { 'user.a': '1' } });
    await one.ok('POST', `${custom}/goes/snapshots`, { name: 's0' });
    for (const [asked, target] of [
      [one, 'm3'],
      [two, 'm1'],
      [one, 'm2'],
    ] as const) {
      await asked.ok('POST', `${custom}/goes?target=${target}`, { name: 'goes', pool: 'default' });
      for (const member of cluster.members)
        expect(await member.get(`${custom}/goes`)).toMatchObject({ location: target, config: { 'user.a': '1' } });
      expect(await three.get(`${custom}/goes/snapshots`)).toEqual([`${custom}/goes/snapshots/s0`]);
    }
    await done(one, 'POST', `${volumes}?target=m1`, { name: 'goes', type: 'custom' });
    const twice = await refusal(three, 'POST', `${custom}/goes?target=m3`, { name: 'goes' });
    expect(twice).toEqual([400, expect.stringContaining('is on m1, m2: name one of them')]);
    await three.ok('POST', `${custom}/goes?target=m3`, { name: 'went', source: { location: 'm2' } });
    expect(await one.get(`${custom}/went`)).toMatchObject({ location: 'm3', config: { 'user.a': '1' } });
    expect(await one.get(`${custom}/goes`)).toMatchObject({ location: 'm1' });
    await one.call('POST', '/1.0/profiles', {
      name: 'with',
      devices: { data: { type: 'disk', path: '/data', pool: 'default', source: 'went' } },
    });
    expect(await refusal(two, 'POST', `${custom}/went?target=m1`, { name: 'went' })).toEqual([
      400,
      expect.stringContaining('is used by profile with: detach it there before it moves to the member m1'),
    ]);
    expect((await one.call('DELETE', '/1.0/profiles/with')).status).toBe(202);
    expect(await refusal(two, 'POST', `${custom}/none?target=m1`, { name: 'none' })).toEqual([404, expect.anything()]);
    for (const name of ['goes', 'went']) await done(one, 'DELETE', `${custom}/${name}`);
  });

  test('a container that gets a volume during its move to another member does not start with what is left behind', async () => {
    await done(one, 'POST', `${volumes}?target=m2`, { name: 'leaves', type: 'custom' });
    const root = { type: 'disk', path: '/', pool: 'default' };
    const bare = { source: { type: 'none' }, devices: { root } };
    for (const name of ['late', 'other']) await one.ok('POST', '/1.0/containers?target=m2', { name, ...bare });
    let open = (): void => {};
    gate = new Promise((resolve) => (open = resolve));
    isSending = false;
    const moved = one.run('POST', `${custom}/leaves?target=m3`, { name: 'leaves' });
    await until(() => isSending);
    const data = { type: 'disk', path: '/data', pool: 'default', source: 'leaves' };
    expect((await one.call('PATCH', '/1.0/containers/late', { devices: { root, data } })).status).toBe(200);
    const started = setState(one, 'late', 'start');
    // Whatever waits for nothing has ended when this has.
    for (const action of ['start', 'stop'])
      expect((await setState(one, 'other', action, { force: true })).err).toBe('');
    expect(await one.get('/1.0/containers/late')).toMatchObject({ status: 'Stopped' });
    open();
    expect((await moved).err).toContain('in use by container late');
    expect((await started).err).toBe('');
    expect(await one.get(`${custom}/leaves`)).toMatchObject({ location: 'm2', used_by: ['/1.0/containers/late'] });
    expect((await setState(one, 'late', 'stop', { force: true })).err).toBe('');
    for (const name of ['late', 'other']) await one.ok('DELETE', `/1.0/containers/${name}`);
    await done(one, 'DELETE', `${custom}/leaves`);
  });

  test('a container with a volume is made on the member that has it', async () => {
    const devices = {
      root: { type: 'disk', path: '/', pool: 'default' },
      data: { type: 'disk', path: '/data', pool: 'default', source: 'origin' },
    };
    const body = { name: 'user', source: { type: 'none' }, devices };
    await three.ok('POST', '/1.0/containers', body);
    expect(await one.get('/1.0/containers/user')).toMatchObject({ location: 'm2' });
    expect(await one.get(`${custom}/origin`)).toMatchObject({ used_by: ['/1.0/containers/user'] });
    expect(await refusal(one, 'POST', '/1.0/containers?target=m3', { ...body, name: 'other' })).toEqual([
      400,
      expect.stringContaining('m3 has no storage volume origin in the pool default'),
    ]);
    await one.ok('DELETE', '/1.0/containers/user');
  });

  test('the space of a pool is reported for the target', async () => {
    for (const target of ['m1', 'm3']) {
      const { space } = await two.get(`/1.0/storage-pools/default/resources?target=${target}`);
      expect(space.total).toBeGreaterThan(0);
    }
    expect(await refusal(two, 'GET', '/1.0/storage-pools/default/resources?target=m8')).toEqual([
      404,
      expect.anything(),
    ]);
  });

  test('leases of all members are listed with their locations, or only those of the target', async () => {
    await done(one, 'POST', '/1.0/networks', { name: 'gtcv0', config: { 'ipv6.address': 'none' } });
    const { config } = await one.get('/1.0/networks/gtcv0?target=m1');
    const base = String(config['ipv4.address']).replace(/\.\d+\/.*$/, '');
    for (const [index, target] of ['m1', 'm2'].entries())
      await three.ok('POST', `/1.0/containers?target=${target}`, {
        name: `leased${index}`,
        source: { type: 'none' },
        devices: {
          root: { type: 'disk', path: '/', pool: 'default' },
          eth0: { type: 'nic', nictype: 'bridged', parent: 'gtcv0', 'ipv4.address': `${base}.${index + 20}` },
        },
      });
    const of = async (query = ''): Promise<unknown> =>
      ((await three.get(`/1.0/networks/gtcv0/leases${query}`)) as { hostname: string; location: string }[])
        .map(({ hostname, location }) => `${hostname} ${location}`)
        .toSorted();
    expect(await of()).toEqual(['gtcv0.gw ', 'leased0 m1', 'leased1 m2']);
    expect(await of('?target=m2')).toEqual(['leased1 m2']);
    expect(await three.get('/1.0/networks/gtcv0/state?target=m1')).toMatchObject({ state: expect.any(String) });
  });

  test.skipIf(noLxc !== undefined)(
    'lxc makes, lists, shows, copies and deletes volumes with --target, and lists leases',
    async () => {
      const lxc = lxcClient(join(work, 'm1'), work);
      await lxc('storage', 'volume', 'create', 'default', 'stock', 'user.a=1', '--target', 'm3');
      const listed = await lxc('storage', 'volume', 'list', 'default', '-f', 'csv', '-c', 'nL');
      expect(listed.split('\n')).toEqual(expect.arrayContaining(['stock,m3', 'origin,m2', 'copied,m3', 'alone,m1']));
      expect(await lxc('storage', 'volume', 'show', 'default', 'stock')).toContain('location: m3');
      await lxc('storage', 'volume', 'set', 'default', 'stock', 'user.a=2', '--target', 'm3');
      expect(await lxc('storage', 'volume', 'get', 'default', 'stock', 'user.a')).toBe('2\n');
      await lxc('storage', 'volume', 'snapshot', 'default', 'stock', 'early');
      // The client makes the member fetch the volume from the address for clients.
      await lxc('config', 'set', 'core.https_address', `127.0.0.1:${await freePort()}`);
      await lxc(
        'storage',
        'volume',
        'copy',
        'default/stock',
        'default/stock2',
        '--target',
        'm3',
        '--destination-target',
        'm2',
      );
      expect(await two.get(`${custom}/stock2`)).toMatchObject({ location: 'm2', config: { 'user.a': '2' } });
      await lxc('storage', 'volume', 'copy', 'default/stock/early', 'default/stock3', '--destination-target', 'm1');
      expect(await two.get(`${custom}/stock3`)).toMatchObject({ location: 'm1', config: { 'user.a': '2' } });
      await lxc(
        'storage',
        'volume',
        'move',
        'default/stock3',
        'default/stock3',
        '--target',
        'm1',
        '--destination-target',
        'm3',
      );
      expect(await two.get(`${custom}/stock3`)).toMatchObject({ location: 'm3' });
      await lxc('storage', 'volume', 'delete', 'default', 'stock3');
      await lxc('storage', 'volume', 'create', 'default', 'stock', '--target', 'm2');
      const refused = await lxc.run(['storage', 'volume', 'show', 'default', 'stock']);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is on m2, m3: name one of them')]);
      for (const target of ['m2', 'm3'])
        await lxc('storage', 'volume', 'delete', 'default', 'stock', '--target', target);
      await lxc('storage', 'volume', 'delete', 'default', 'stock2');
      const leases = await lxc('network', 'list-leases', 'gtcv0', '-f', 'csv');
      expect(leases).toMatch(/leased0,.*,m1\n(.*\n)*.*leased1,.*,m2/i);
      expect(await lxc('storage', 'info', 'default', '--target', 'm2')).toContain('name: default');
    },
  );
});
