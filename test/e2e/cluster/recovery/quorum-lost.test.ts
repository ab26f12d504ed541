// A cluster whose etcds have lost their majority: a member reports that with its beginning, and assumes nothing about the others.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../../support/cli/io.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../../support/cluster/members.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

interface Row {
  readonly server_name: string;
  readonly status: string;
  readonly message: string;
}

describe.skipIf(etcdMissing() !== undefined)('a cluster without a majority', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(2);
    [one, two] = cluster.members as [TestMember, TestMember];
    await one.call('PATCH', '/1.0', { config: { 'cluster.offline_threshold': '5' } });
    expect((await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' })).status).toBe(200);
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    for (const [member, name] of [
      [one, 'a'],
      [two, 'b'],
    ] as const) {
      await member.ok('POST', `/1.0/containers?target=${member.name}`, { name, source: { type: 'none' }, devices });
      await member.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    }
    await until(async () => (await one.get('/1.0/containers/b')).status === 'Running');
    cluster.etcd.signal(0, 'SIGSTOP');
  });
  afterAll(async () => {
    cluster.etcd.signal(0, 'SIGCONT');
    await cluster.cleanUp();
  });

  const rows = async (): Promise<readonly Row[]> => await one.get('/1.0/cluster/members?recursion=1');
  const gantry = (...words: readonly string[]) => cli([...words, '--host', `unix://${one.socketPath}`]);

  test('a member reports since when the store does not answer, and shows the others as unknown', async () => {
    const before = Date.now();
    await until(async () => (await rows()).find(({ server_name: name }) => name === 'm2')?.status === 'Unknown');
    const [own, other] = await rows();
    const since = /have not answered since ([^ ]+)/.exec(own?.message ?? '')?.[1] ?? '';
    expect(own).toMatchObject({ status: 'Online', message: expect.stringContaining('it refuses changes') });
    expect(Math.abs(Date.parse(since) - before)).toBeLessThan(30_000);
    expect(other).toMatchObject({ status: 'Unknown', message: expect.stringContaining('have not answered since') });
  });

  test('a member shows its own containers as running, but not those of others', async () => {
    expect((await one.get('/1.0/containers/b')).status).toBe('Error');
    expect((await one.get('/1.0/containers/a')).status).toBe('Running');
  });

  test('a change is refused within seconds as unavailable, and nothing is changed', async () => {
    const began = performance.now();
    const answers = await Promise.all([
      one.call('POST', '/1.0/profiles', { name: 'late' }),
      one.call('POST', '/1.0/containers', { name: 'late', source: { type: 'none' } }),
      one.call('DELETE', '/1.0/profiles/default'),
    ]);
    for (const { status, metadata } of answers)
      expect({ status, metadata }).toMatchObject({
        status: 500,
        metadata: { code: 'unavailable', message: expect.stringContaining('Nothing was changed') },
      });
    expect(performance.now() - began).toBeLessThan(8_000);
  });

  test('the CLI says on standard error that its answers may be out of date, once for each command', async () => {
    for (const words of [
      ['cluster', 'list'],
      ['get', 'containers', '--json'],
    ]) {
      const { stdout, stderr, code } = await gantry(...words);
      expect(code).toBe(0);
      expect(stderr.match(/answers from its memory, which may be out of date/g)).toHaveLength(1);
      expect(stderr).toMatch(/have not answered since 20/);
      expect(stdout).not.toContain('answers from its memory');
    }
  });

  test('changes are accepted again as soon as etcd answers, without a read first', async () => {
    cluster.etcd.signal(0, 'SIGCONT');
    await until(async () => (await one.call('POST', '/1.0/profiles', { name: 'later' })).status === 200);
    await until(async () => (await rows()).every(({ status }) => status === 'Online'));
    expect((await gantry('cluster', 'list')).stderr).toBe('');
  });
});
