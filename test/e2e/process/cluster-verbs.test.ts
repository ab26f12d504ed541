// Mistakes of new users with `gantry cluster`: no cluster, wrong names, no address, --json.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeCluster, type TestCluster } from '../../support/cluster/members.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('gantry cluster', () => {
  let single: TestDaemon;
  let cluster: TestCluster;

  beforeAll(async () => {
    single = await makeDaemon();
    cluster = await makeCluster(2);
  });
  afterAll(async () => {
    await cluster.cleanUp();
    await single.cleanUp();
  });
  const alone = (...words: string[]): Promise<CliRun> =>
    cli(['cluster', ...words, '--host', `unix://${single.socketPath}`]);
  const run = (...words: string[]): Promise<CliRun> =>
    cli(['cluster', ...words, '--host', `unix://${cluster.members[0]?.socketPath ?? ''}`]);

  test.each([
    ['list'],
    ['show', 'one'],
    ['add', 'two'],
    ['remove', 'two'],
    ['rename', 'two', 'three'],
    ['evacuate', 'two'],
    ['restore', 'two'],
  ])('without a cluster, says how to make one: %s', async (...words) => {
    const { code, stderr } = await alone(...words);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/is not part of a cluster: gantry cluster bootstrap NAME makes one of it/),
    ]);
  });

  test('asks for the address of a first member with the flag that gives it', async () => {
    const { code, stderr } = await alone('bootstrap', 'one');
    expect([code, stderr]).toEqual([64, expect.stringContaining('Say it with --address HOST:PORT')]);
  });

  test.each([
    ['show', 'm3'],
    ['show', 'm1', 'm3'],
    ['remove', 'm3'],
    ['rename', 'm3', 'x'],
    ['evacuate', 'm3'],
    ['restore', 'm3'],
  ])('names the members when one does not exist: %s', async (...words) => {
    const { code, stdout, stderr } = await run(...words);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/The cluster has no member m3.*: its members are m1, m2/);
  });

  test('refuses an unknown mode of evacuation', async () => {
    const { code, stderr } = await run('evacuate', 'm2', '--mode', 'stpo');
    expect([code, stderr]).toEqual([64, expect.stringContaining('auto, migrate, live-migrate, stop')]);
  });

  test('each verb with --json prints the resulting member', async () => {
    const status = async (...words: string[]): Promise<unknown> => {
      const { code, stdout, stderr } = await run(...words, '--json');
      expect(code, stderr).toBe(0);
      const { server_name: name, status: now } = JSON.parse(stdout) as { server_name: string; status: string };
      return [name, now];
    };
    expect(await status('evacuate', 'm2')).toEqual(['m2', 'Evacuated']);
    expect(await status('restore', 'm2')).toEqual(['m2', 'Online']);
    expect(await status('rename', 'm2', 'second')).toEqual(['second', 'Online']);
    const removed = await run('remove', 'second', '--json');
    expect(JSON.parse(removed.stdout)).toEqual({ server_name: 'second', removed: true });
    expect((await run('list', '-o', 'name')).stdout).toBe('m1\n');
  });
});
