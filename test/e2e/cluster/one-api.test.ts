// Requests to any member of a cluster: they are carried out where the object is, and answered as if it were here.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster of three members', () => {
  let cluster: TestCluster;
  let [one, two, three]: readonly TestMember[] = [];

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two, three] = cluster.members;
    for (const member of cluster.members) {
      await member.ok('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' }).catch(() => {});
    }
  });
  afterAll(() => cluster.cleanUp());

  const empty = (name: string) => ({
    name,
    source: { type: 'none' },
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  });

  test('every member lists all of them, online', async () => {
    for (const member of cluster.members) {
      const members = await member.get('/1.0/cluster/members?recursion=1');
      expect(members.map((each: { server_name: string; status: string }) => [each.server_name, each.status])).toEqual([
        ['m1', 'Online'],
        ['m2', 'Online'],
        ['m3', 'Online'],
      ]);
      expect((await member.get('/1.0')).environment).toMatchObject({
        server_clustered: true,
        server_name: member.name,
      });
    }
  });

  test('a container of one member is listed, read, started and deleted through another one', async () => {
    await two?.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await two?.ok('POST', '/1.0/containers', empty('c1'));
    expect(await one?.get('/1.0/containers')).toContain('/1.0/containers/c1');
    expect(await three?.get('/1.0/containers/c1')).toMatchObject({ name: 'c1', location: 'm2', status: 'Stopped' });
    await one?.ok('PUT', '/1.0/containers/c1/state', { action: 'start', timeout: 10 });
    for (const member of cluster.members)
      expect((await member.get('/1.0/containers?recursion=1'))[0]).toMatchObject({ location: 'm2', status: 'Running' });
    expect(await three?.get('/1.0/containers/c1/state')).toMatchObject({ status: 'Running' });
    await three?.ok('PUT', '/1.0/containers/c1/state', { action: 'stop', timeout: 10, force: true });
    expect(await one?.get('/1.0/containers/c1')).toMatchObject({ status: 'Stopped' });
    expect(await one?.call('POST', '/1.0/containers', empty('c1'))).toMatchObject({ status: 409 });
    await one?.ok('DELETE', '/1.0/containers/c1');
    expect(await two?.get('/1.0/containers')).toEqual([]);
  });
});
