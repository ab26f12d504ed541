// A member that starts while its cluster has no majority: it answers from its stored records, stops at once on request, and continues
// by itself when the majority is back.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMembership } from '../../../../server/membership/membership.ts';
import { buildPrograms, type Programs } from '../../../support/cli/programs.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('gantryd without a majority at its start', () => {
  let cluster: TestCluster;
  let programs: Programs;
  let three: TestMember;
  beforeAll(async () => {
    programs = buildPrograms();
    cluster = await makeCluster(3, 'own');
    three = cluster.members[2] as TestMember;
    const storeOf = async (member: TestMember) => (await readMembership(member.dir))?.store.address ?? '';
    for (const member of cluster.members)
      await until(async () => (await storeOf(member)).split(',').length === 3, 90_000);
    const [one] = cluster.members as [TestMember];
    await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    for (const name of ['runs', 'stays', 'off'])
      await three.ok('POST', '/1.0/containers?target=m3', { name, source: { type: 'none' }, devices });
    for (const name of ['runs', 'stays']) await three.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    await Promise.all(cluster.members.map((member) => member.stop()));
  });
  afterAll(() => cluster.cleanUp());

  test('serves its stored records on the socket: containers are listed and can be stopped, none starts, nothing is changed', async () => {
    const starting = three.restart();
    starting.catch(() => {});
    await until(async () => (await three.call('GET', '/1.0').catch(() => undefined))?.status === 200, 60_000);
    const listed = await three.call('GET', '/1.0/containers?recursion=1');
    expect(listed.headers).toMatchObject({
      'x-svc-stale': 'true',
      'x-svc-stale-reason': expect.stringContaining('have not answered since'),
    });
    const statuses = async (): Promise<unknown> =>
      ((await three.get('/1.0/containers?recursion=1')) as { name: string; status: string }[]).map(
        ({ name, status }) => `${name} ${status}`,
      );
    expect(await statuses()).toEqual(['off Stopped', 'runs Running', 'stays Running']);
    await three.ok('PUT', '/1.0/containers/runs/state', { action: 'stop', force: true });
    expect(await statuses()).toEqual(['off Stopped', 'runs Stopped', 'stays Running']);
    const started = await three.run('PUT', '/1.0/containers/off/state', { action: 'start' });
    expect([started.status, started.err]).toEqual(['Failure', expect.stringContaining('No container starts here')]);
    const changed = await three.call('POST', '/1.0/profiles', { name: 'late' });
    expect(changed.metadata).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Nothing was changed'),
    });
    const members = (await three.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
    expect(members.map(({ status }) => status)).toEqual(['Unknown', 'Unknown', 'Online']);

    await Promise.all([starting, cluster.members[0]?.restart()]);
    const after = await three.call('GET', '/1.0/containers?recursion=1');
    expect(after.headers).not.toHaveProperty('x-svc-stale');
    expect((await three.call('POST', '/1.0/profiles', { name: 'late' })).status).toBe(200);
    await Promise.all([three.stop(), cluster.members[0]?.stop()]);
  });

  test('ends at once with code 0 when SIGTERM comes while it waits for the store', async () => {
    const child = spawn(process.execPath, [programs.gantryd, '--state-dir', three.dir, '--runtime', 'sim'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const exited = once(child, 'exit');
    try {
      await until(() => log.includes('Waiting for the store of the cluster'), 60_000);
      const asked = performance.now();
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      expect(performance.now() - asked).toBeLessThan(8_000);
      expect(log).toContain('was asked to end before it had started');
    } finally {
      child.kill('SIGKILL');
    }
  });
});
