// Requests to any member of a cluster are carried out where the object is, seen by all, and traced; containers are made at the
// request's target, or spread over the members that can have them.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { ancestors, startCollector } from '../../support/daemons/collector.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('a cluster of three members', () => {
  let cluster: TestCluster;
  let [one, two, three] = [] as unknown as [TestMember, TestMember, TestMember];

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two, three] = cluster.members as [TestMember, TestMember, TestMember];
    for (const member of cluster.members)
      await member.ok('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' }).catch(() => {});
  });
  afterAll(() => cluster.cleanUp());

  const empty = (name: string) => ({
    name,
    source: { type: 'none' },
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  });
  const locationOf = async (name: string): Promise<string> => (await one.get(`/1.0/containers/${name}`)).location;

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
    await two.ok('POST', '/1.0/containers', empty('c1'));
    expect(await one.get('/1.0/containers')).toContain('/1.0/containers/c1');
    expect(await three.get('/1.0/containers/c1')).toMatchObject({ name: 'c1', location: 'm2', status: 'Stopped' });
    await one.ok('PUT', '/1.0/containers/c1/state', { action: 'start', timeout: 10 });
    for (const member of cluster.members)
      expect((await member.get('/1.0/containers?recursion=1'))[0]).toMatchObject({ location: 'm2', status: 'Running' });
    expect(await three.get('/1.0/containers/c1/state')).toMatchObject({ status: 'Running' });
    await three.ok('PUT', '/1.0/containers/c1/state', { action: 'stop', timeout: 10, force: true });
    expect(await one.get('/1.0/containers/c1')).toMatchObject({ status: 'Stopped' });
    expect(await one.call('POST', '/1.0/containers', empty('c1'))).toMatchObject({ status: 409 });
    await one.ok('DELETE', '/1.0/containers/c1');
    expect(await two.get('/1.0/containers')).toEqual([]);
  });

  test('the target gets the container, whichever member gets the request', async () => {
    await one.ok('POST', '/1.0/containers?target=m3', empty('t1'));
    expect(await locationOf('t1')).toBe('m3');
    expect(await one.call('POST', '/1.0/containers?target=m9', empty('t2'))).toMatchObject({ status: 404 });
    expect(await one.call('POST', '/1.0/containers?target=@none', empty('t2'))).toMatchObject({ status: 404 });
    await one.ok('POST', '/1.0/containers?target=@default', empty('t2'));
    expect(await locationOf('t2')).not.toBe('m3');
    for (const name of ['t1', 't2']) await one.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('six containers created at once are spread evenly over three members', async () => {
    const names = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
    await Promise.all(names.map((name) => one.ok('POST', '/1.0/containers', empty(name))));
    const locations = await Promise.all(names.map(locationOf));
    expect(locations.toSorted()).toEqual(['m1', 'm1', 'm2', 'm2', 'm3', 'm3']);
    expect(await one.call('POST', '/1.0/containers?target=m2', empty('p1'))).toMatchObject({ status: 409 });
    for (const name of names) await one.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('the operation and the copy name their member, and a copy stays with its source', async () => {
    await one.ok('POST', '/1.0/containers?target=m2', empty('c1'));
    const copy = { name: 'c2', source: { type: 'copy', source: 'c1' } };
    const asked = await one.call('POST', '/1.0/containers', copy);
    expect(asked.body.metadata).toMatchObject({ location: 'm2' });
    await one.get(`/1.0/operations/${asked.body.metadata.id}/wait`);
    expect(await locationOf('c2')).toBe('m2');
    for (const name of ['c1', 'c2']) await one.ok('DELETE', `/1.0/containers/${name}`);
  });

  test('a container is copied from another member, with or without snapshots, or from one snapshot', async () => {
    const original = { ...empty('s1'), description: 'first', config: { 'user.color': 'red', 'user.size': 'big' } };
    await one.ok('POST', '/1.0/containers?target=m2', original);
    expect((await one.call('POST', '/1.0/containers/s1/files?path=/mark', Buffer.from('marked'))).status).toBe(200);
    await one.ok('POST', '/1.0/containers/s1/snapshots', { name: 'early' });
    const copy = (name: string, source: object, more: object = {}) => ({
      name,
      source: { type: 'copy', source: 's1', ...source },
      ...more,
    });
    await one.ok('POST', '/1.0/containers?target=m3', copy('s2', {}, { config: { 'user.color': 'blue' } }));
    expect(await one.get('/1.0/containers/s2')).toMatchObject({
      location: 'm3',
      config: { 'user.color': 'blue', 'user.size': 'big' },
    });
    expect(await one.get('/1.0/containers/s2/snapshots')).toEqual(['/1.0/containers/s2/snapshots/early']);
    await one.ok('POST', '/1.0/containers?target=m1', copy('s3', { container_only: true }));
    expect(await one.get('/1.0/containers/s3/snapshots')).toEqual([]);
    await one.ok('POST', '/1.0/containers?target=m3', copy('s4', { source: 's1/early' }));
    expect(await one.get('/1.0/containers/s4')).toMatchObject({ location: 'm3' });
    for (const name of ['s2', 's3', 's4'])
      expect((await one.call('GET', `/1.0/containers/${name}/files?path=/mark`)).bytes.toString()).toBe('marked');
    expect(await one.call('POST', '/1.0/containers?target=m3', copy('s2', {}))).toMatchObject({ status: 409 });
    expect(await one.call('POST', '/1.0/containers?target=m3', copy('s5', { source: 's1/none' }))).toMatchObject({
      status: 404,
    });
    for (const name of ['s1', 's2', 's3', 's4']) await one.ok('DELETE', `/1.0/containers/${name}`);
  });

  describe('the status of a container of another member', () => {
    beforeAll(async () => {
      await one.ok('POST', '/1.0/containers?target=m2', empty('seen'));
      await one.ok('POST', '/1.0/containers/seen/snapshots', { name: 's1' });
    });
    const statusAt = async (member: TestMember): Promise<string> => (await member.get('/1.0/containers/seen')).status;
    const steps: readonly (readonly [what: string, body: object, status: string])[] = [
      ['start', { action: 'start' }, 'Running'],
      ['freeze', { action: 'freeze' }, 'Frozen'],
      ['unfreeze', { action: 'unfreeze' }, 'Running'],
      ['stateful stop', { action: 'stop', stateful: true }, 'Stopped'],
      ['stateful start', { action: 'start', stateful: true }, 'Running'],
      ['restart', { action: 'restart', force: true }, 'Running'],
      ['stop', { action: 'stop', force: true }, 'Stopped'],
    ];

    test('is known to the other member when the operation has ended, for each action', async () => {
      const seen: string[] = [];
      for (const asked of [two, one])
        for (const [what, body] of steps) {
          await asked.ok('PUT', '/1.0/containers/seen/state', body);
          seen.push(`${what}: ${await statusAt(one)}`);
        }
      const expected = steps.map(([what, , status]) => `${what}: ${status}`);
      expect(seen).toEqual([...expected, ...expected]);
    });

    test('is known after a restored snapshot and a failed action', async () => {
      await two.ok('PUT', '/1.0/containers/seen/state', { action: 'start' });
      await two.ok('PUT', '/1.0/containers/seen', { restore: 's1' });
      const after = await statusAt(two);
      expect(await statusAt(one)).toBe(after);
      two.sim.faults.refuseCheckpoints('no tool');
      const failed = await two.run('PUT', '/1.0/containers/seen/state', { action: 'stop', stateful: true });
      const status = await statusAt(two);
      expect([failed.status, await statusAt(one)]).toEqual(['Failure', status]);
    });
  });

  test('the span of a request at another member is inside the span of the first, whose config applies to all members', async () => {
    const collector = await startCollector();
    onTestFinished(() => collector.close());
    expect((await one.call('PATCH', '/1.0', { config: { 'core.trace_endpoint': collector.url } })).status).toBe(200);
    await one.ok('POST', '/1.0/containers?target=m2', empty('traced'));
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await one.ok('PUT', '/1.0/containers/traced/state', { action: 'start' }, { traceparent });
    const start = await collector.span('start container');
    await until(() => ancestors(collector, start).length === 3);
    const above = ancestors(collector, start);
    expect(above.map(({ name, attributes }) => [name, attributes['gantry.member']])).toEqual([
      ['operation: Starting container', undefined],
      ['PUT /1.0/containers/:name/state', 'm2'],
      ['PUT /1.0/containers/:name/state', 'm1'],
    ]);
    expect(above.at(-1)).toMatchObject({ traceId: traceparent.slice(3, 35), parentSpanId: traceparent.slice(36, 52) });
    await one.call('PATCH', '/1.0', { config: { 'core.trace_endpoint': '' } });
  });
});
