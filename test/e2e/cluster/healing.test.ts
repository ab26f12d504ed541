// Containers of a lost member on shared storage start on another one, and the lost member leaves them alone when it is back.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayBegin } from '../../../server/drivers/runtime/guard/start-until.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { statusOf } from '../../support/daemons/daemon.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster with shared storage', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  const mount = tempFolder('gtcs-');

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two] = cluster.members as [TestMember, TestMember];
    const config = { 'cluster.offline_threshold': '5', 'cluster.healing_threshold': '15' };
    expect((await one.call('PATCH', '/1.0', { config })).status).toBe(200);
    // A changed time to live applies from the next lease on.
    for (const member of cluster.members) await member.restart();
  });
  afterAll(() => cluster.cleanUp());

  const onShared = (name: string, more: object = {}) => ({
    name,
    source: { type: 'none' },
    devices: { root: { type: 'disk', path: '/', pool: 'nfs' } },
    ...more,
  });
  const pool = (source: string) => ({ name: 'nfs', driver: 'dir', config: { source, 'source.shared': 'true' } });
  const locationOf = async (name: string): Promise<string> => (await one.get(`/1.0/containers/${name}`)).location;

  test('a shared pool needs the same file system on every member, otherwise no member creates it', async () => {
    const other = join(mount, 'other');
    const shared = join(mount, 'shared');
    for (const dir of [other, shared]) mkdirSync(dir);
    const overrides = { member_overrides: { m3: { source: other } } };
    const refused = await one.call('POST', '/1.0/storage-pools', { ...pool(shared), ...overrides });
    expect(refused.status).toBe(400);
    expect(refused.bytes.toString()).toContain('On the cluster member m3');
    expect(refused.bytes.toString()).toContain('mount that one there first');
    expect(await one.get('/1.0/storage-pools')).toEqual([]);
    expect((await one.call('POST', '/1.0/storage-pools', pool(shared))).status).toBeLessThan(300);
    for (const member of cluster.members) expect((await member.get('/1.0/storage-pools/nfs')).status).toBe('Created');
    expect((await one.call('PATCH', '/1.0/storage-pools/nfs', { config: { 'source.shared': 'false' } })).status).toBe(
      400,
    );
  });

  test('containers and volumes of a lost member continue elsewhere with their snapshots, except those that must stay', async () => {
    expect((await two.call('POST', '/1.0/storage-pools/nfs/volumes/custom', { name: 'data' })).status).toBe(200);
    const data = { type: 'disk', pool: 'nfs', source: 'data', path: '/data' };
    const root = { type: 'disk', path: '/', pool: 'nfs' };
    for (const name of ['web', 'worker'])
      await one.ok('POST', '/1.0/containers?target=m2', onShared(name, { devices: { root, data } }));
    await one.ok('POST', '/1.0/containers?target=m2', onShared('idle'));
    await one.ok('POST', '/1.0/containers?target=m2', onShared('stays', { config: { 'cluster.evacuate': 'stop' } }));
    expect((await one.call('POST', '/1.0/cluster/groups', { name: 'left', members: ['m2'] })).status).toBeLessThan(300);
    await one.ok('POST', '/1.0/containers?target=@left', onShared('grouped'));
    await one.ok('POST', '/1.0/containers/web/snapshots', { name: 'before' });
    for (const name of ['web', 'worker', 'stays'])
      await one.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    // The member is off while it is empty: containers that its evacuation stopped wait for it.
    const three = cluster.members[2] as TestMember;
    await one.ok('POST', '/1.0/containers?target=m3', onShared('parked'));
    await one.ok('PUT', '/1.0/containers/parked/state', { action: 'start' });
    await one.ok('POST', '/1.0/cluster/members/m3/state', { action: 'evacuate', mode: 'stop' });
    await three.stop();
    // The last step of a start needs the lease.
    for (const name of ['web', 'worker', 'stays'])
      expect(two.sim.runOf(name).startUntilFile).toBe(join(two.dir, 'cluster/start-until'));
    expect(mayBegin(join(two.dir, 'cluster/start-until'))).toBe(true);
    const before = await one.get('/1.0/containers/web');
    const events = await one.listen('lifecycle');
    await two.stop();
    await until(async () => (await locationOf('web')) !== 'm2' && (await statusOf(one, 'web')) === 'Running');
    await until(async () => (await locationOf('idle')) !== 'm2');
    expect(await locationOf('worker')).toBe(await locationOf('web'));
    expect(await statusOf(one, 'idle')).toBe('Stopped');
    expect(await locationOf('stays')).toBe('m2');
    expect(await statusOf(one, 'stays')).toBe('Error');
    expect(await locationOf('grouped')).toBe('m2');
    await until(() => /grouped of the lost member m2 .*in the group left/.test(one.logged.join('\n')));
    expect(await one.get('/1.0/containers/web/snapshots')).toEqual(['/1.0/containers/web/snapshots/before']);
    await until(async () => (await statusOf(one, 'worker')) === 'Running');
    expect((await one.get('/1.0/containers/web')).created_at).toBe(before.created_at);
    await until(async () => !('volatile.cluster.lost_member' in (await one.get('/1.0/containers/web')).config));
    expect(await one.get('/1.0/storage-pools/nfs/volumes/custom')).toHaveLength(1);
    const healed = await events.next((event) => JSON.stringify(event).includes('cluster-member-healed'));
    expect(JSON.stringify(healed)).toContain('web');
    expect(one.logged.join('\n')).toContain('stays waits for the lost member m2: it has cluster.evacuate set to stop');
    await until(() => one.logged.join('\n').includes('parked waits for the lost member m3: it was stopped by an evac'));
    await three.restart();
    await one.ok('POST', '/1.0/cluster/members/m3/state', { action: 'restore' });
    expect([await locationOf('parked'), await statusOf(one, 'parked')]).toEqual(['m3', 'Running']);
  });

  test('the lost member ended its containers in time, and has no leftovers of them when it is back', async () => {
    expect(mayBegin(join(two.dir, 'cluster/start-until'))).toBe(false);
    const runsBy = (name: string): string => join(two.dir, 'runtime', `${name}.json`);
    for (const name of ['web', 'worker', 'stays']) expect(existsSync(runsBy(name))).toBe(false);
    await two.restart();
    await until(async () => (await statusOf(one, 'stays')) === 'Running');
    for (const name of ['web', 'worker']) {
      expect(await locationOf(name)).not.toBe('m2');
      expect(two.sim.probe(name).status).toBe('stopped');
      await until(() => !existsSync(join(two.dir, 'logs', name)));
      expect(existsSync(join(mount, 'shared/containers', name, 'rootfs'))).toBe(true);
    }
    const again = { name: 'data' };
    expect((await two.call('POST', '/1.0/storage-pools/nfs/volumes/custom', again)).status).toBe(409);
    await one.ok('POST', '/1.0/containers?target=m2', onShared('new'));
    await one.ok('PUT', '/1.0/containers/new/state', { action: 'start' });
    expect(await statusOf(one, 'new')).toBe('Running');
  });

  test('a stopped container in a shared pool moves by its records alone, with its snapshots and its own volume', async () => {
    const root = { type: 'disk', path: '/', pool: 'nfs' };
    const logs = { type: 'disk', pool: 'nfs', source: 'logs', path: '/logs' };
    expect((await two.call('POST', '/1.0/storage-pools/nfs/volumes/custom', { name: 'logs' })).status).toBe(200);
    await one.ok('POST', '/1.0/containers?target=m2', onShared('moving', { devices: { root, logs } }));
    expect((await one.call('POST', '/1.0/containers/moving/files?path=/mark', Buffer.from('marked'))).status).toBe(200);
    await one.ok('POST', '/1.0/containers/moving/snapshots', { name: 'first' });
    const move = { name: 'moving', migration: true };
    await one.ok('PUT', '/1.0/containers/moving/state', { action: 'start' });
    expect((await one.call('POST', '/1.0/containers/moving?target=m3', move)).status).toBe(400);
    await one.ok('PUT', '/1.0/containers/moving/state', { action: 'stop', force: true });
    await one.ok('POST', '/1.0/containers/moving?target=m3', move);
    expect(await locationOf('moving')).toBe('m3');
    expect(await one.get('/1.0/containers/moving/snapshots')).toEqual(['/1.0/containers/moving/snapshots/first']);
    expect((await one.call('GET', '/1.0/containers/moving/files?path=/mark')).bytes.toString()).toBe('marked');
    await one.ok('PUT', '/1.0/containers/moving/state', { action: 'start' });
    expect(await statusOf(two, 'moving')).toBe('Running');
    const shared = await one.call('POST', '/1.0/containers/web?target=m2', { name: 'web', migration: true });
    expect(shared.status).toBe(400);
  });

  test.skipIf(!isLongRun)(
    'without the store all containers on shared storage end in time and none starts; afterwards they continue in place',
    async () => {
      const third = cluster.members[2] as TestMember;
      await one.ok('POST', '/1.0/containers?target=m3', onShared('steady'));
      await one.ok('PUT', '/1.0/containers/steady/state', { action: 'start' });
      await cluster.etcd.kill(0);
      try {
        await until(() => third.sim.probe('steady').status === 'stopped');
        const start = await third.call('PUT', '/1.0/containers/steady/state', { action: 'start' });
        if (start.status === 202) expect((await third.wait(start.body.operation as string)).status).toBe('Failure');
        expect(third.sim.probe('steady').status).toBe('stopped');
      } finally {
        await cluster.etcd.start(0);
      }
      await until(() => third.sim.probe('steady').status === 'running');
      expect(await locationOf('steady')).toBe('m3');
    },
    120_000,
  );
});
