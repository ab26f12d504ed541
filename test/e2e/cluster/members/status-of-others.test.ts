// Every member shows the result of an operation on a container as soon as it has ended, with or without an event.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('the status of a container of another member', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    await one.ok('POST', '/1.0/containers?target=m2', { name: 'c1', source: { type: 'none' }, devices });
    await one.ok('POST', '/1.0/containers/c1/snapshots', { name: 's1' });
  });
  afterAll(() => cluster.cleanUp());

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
        await asked.ok('PUT', '/1.0/containers/c1/state', body);
        seen.push(`${what}: ${(await one.get('/1.0/containers/c1')).status as string}`);
      }
    const expected = steps.map(([what, , status]) => `${what}: ${status}`);
    expect(seen).toEqual([...expected, ...expected]);
  });

  test('is known after a restored snapshot and a failed action', async () => {
    await two.ok('PUT', '/1.0/containers/c1/state', { action: 'start' });
    await two.ok('PUT', '/1.0/containers/c1', { restore: 's1' });
    const after = (await two.get('/1.0/containers/c1')).status as string;
    expect((await one.get('/1.0/containers/c1')).status).toBe(after);
    two.sim.faults.refuseCheckpoints('no tool');
    expect((await two.run('PUT', '/1.0/containers/c1/state', { action: 'stop', stateful: true })).status).toBe(
      'Failure',
    );
    const failed = (await two.get('/1.0/containers/c1')).status as string;
    expect((await one.get('/1.0/containers/c1')).status).toBe(failed);
  });
});
