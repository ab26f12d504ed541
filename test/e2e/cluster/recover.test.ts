// Two of the three hosts that keep the records of a cluster are lost. The third one starts without them: it answers from its stored
// records, stops at once on request, and continues when one is back. If they are lost for good, it continues alone, with everything that
// was acknowledged, and hosts join it again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runClusterCommand } from '../../../server/daemon/cluster/cluster-command.ts';
import { backUp, restore } from '../../../server/daemon/stores/store-tasks.ts';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { readMembership } from '../../../server/membership/membership.ts';
import { buildPrograms } from '../../support/cli/programs.ts';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

describe.skipIf(etcdMissing() !== undefined)('gantryd cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  let three: TestMember;
  beforeAll(async () => {
    cluster = await makeCluster(3, 'own');
    const [first, second, third] = cluster.members;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three were asked for');
    [one, two, three] = [first, second, third];
    await one.call('PATCH', '/1.0', { config: { 'cluster.offline_threshold': '5' } });
    const storeOf = async (member: TestMember) => (await readMembership(member.dir))?.store.address ?? '';
    for (const member of cluster.members)
      await until(async () => (await storeOf(member)).split(',').length === 3, 90_000);
  });
  afterAll(() => cluster.cleanUp());

  const run = async (...words: readonly string[]) => {
    const said = { out: '', err: '' };
    const spies = (['stdout', 'stderr'] as const).map((stream) =>
      vi.spyOn(process[stream], 'write').mockImplementation((text) => {
        said[stream === 'stdout' ? 'out' : 'err'] += String(text);
        return true;
      }),
    );
    const code = await runClusterCommand(words).finally(() => spies.forEach((spy) => spy.mockRestore()));
    return { code, ...said };
  };

  test('reports missing and wrong arguments', async () => {
    expect(await run()).toMatchObject({ code: 64, err: expect.stringContaining('one of these is required') });
    expect(await run('list')).toMatchObject({ code: 64, err: expect.stringContaining('--state-dir is required') });
    expect(await run('leave', '--state-dir', one.dir)).toMatchObject({
      code: 64,
      err: expect.stringContaining('--yes'),
    });
    const nowhere = await run('list', '--state-dir', '/none');
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('there is no directory /none') });
  });

  test('refuses a host whose daemon runs, and so does a second daemon', async () => {
    const inUse = expect.stringContaining(`another gantryd works on ${one.dir}`);
    for (const verb of ['leave', 'recover-from-quorum-loss'])
      expect(await run(verb, '--state-dir', one.dir, '--yes')).toMatchObject({ code: 1, err: inUse });
    const second = startDaemon({ stateDir: one.dir, runtime: 'sim', log: silentLog });
    await expect(second).rejects.toThrow(`another gantryd works on ${one.dir}`);
    expect((await one.call('POST', '/1.0/profiles', { name: 'still' })).status).toBe(200);
  });

  test('list and show print the members; a backup has the records of the cluster, which a restore must not replace', async () => {
    const { out } = await run('list', '--state-dir', two.dir);
    for (const { name, address } of cluster.members) expect(out).toMatch(new RegExp(`${name} .*${address}`));
    expect((await run('show', '--state-dir', two.dir)).out).toContain('number: 2');
    const file = join(two.dir, 'backup');
    const task = { stateDir: two.dir, databaseDir: join(two.dir, 'database'), etcd: undefined, say: () => {} };
    await backUp(task, file);
    expect(readFileSync(file, 'utf8')).toContain('"/profiles/still"');
    await expect(restore(task, file, true)).rejects.toThrow('member of a cluster, whose records it shares');
  });

  test('serves its stored records on the socket: containers are listed and can be stopped, none starts, nothing is changed', async () => {
    await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    for (const name of ['runs', 'stays', 'off'])
      await three.ok('POST', '/1.0/containers?target=m3', { name, source: { type: 'none' }, devices });
    for (const name of ['runs', 'stays']) await three.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    await one.call('POST', '/1.0/profiles', { name: 'kept', config: { 'user.a': 'b' } });
    await Promise.all(cluster.members.map((member) => member.stop()));
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
    const child = spawn(process.execPath, [buildPrograms().gantryd, '--state-dir', three.dir, '--runtime', 'sim'], {
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

  test('the surviving member recovers with all acknowledged changes, and the lost hosts join again', async () => {
    const alone = await run('list', '--state-dir', three.dir);
    expect(alone).toMatchObject({
      code: 0,
      out: expect.stringMatching(/m1 .*\n.*m2 .*\n.*m3 .*as the copy on this host/s),
    });

    const recovered = await run('recover-from-quorum-loss', '--state-dir', three.dir, '--yes');
    expect([recovered.code, recovered.out, recovered.err]).toEqual([0, expect.stringContaining('m3'), '']);
    await three.restart();
    expect(await three.get('/1.0/profiles/kept')).toMatchObject({ config: { 'user.a': 'b' } });
    expect((await three.call('POST', '/1.0/profiles', { name: 'after' })).status).toBe(200);
    await until(async () => (await three.get('/1.0/cluster/members/m1')).status === 'Offline');
    // A returning host does not rejoin the cluster that continued without it.
    await one.restart().then(
      () => expect.unreachable('it started'),
      (error: unknown) => expect(String(error)).toContain('is not that of the cluster'),
    );
    for (const name of ['m1', 'm2']) await three.ok('DELETE', `/1.0/cluster/members/${name}?force=1`);

    expect(await run('leave', '--state-dir', one.dir, '--yes')).toMatchObject({ code: 0 });
    expect(existsSync(join(one.dir, 'cluster', 'membership.json'))).toBe(false);
    await one.restart();
    expect(await one.get('/1.0/cluster')).toMatchObject({ enabled: false });
    const asked = await three.call('POST', '/1.0/cluster/members', { server_name: 'anew' });
    await one.ok('PUT', '/1.0/cluster', {
      server_name: 'anew',
      enabled: true,
      server_address: one.address,
      cluster_token: tokenOf(asked.body.metadata.metadata as Record<string, unknown>),
    });
    expect(await one.get('/1.0/profiles')).toEqual(
      expect.arrayContaining(['/1.0/profiles/kept', '/1.0/profiles/after']),
    );
  });
});
