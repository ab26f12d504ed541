// Export and adoption of a cluster: config of single members, and custom volumes of one name on several members.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('objects of a cluster that nobody declared', () => {
  const folder = new StackFolder();
  let cluster: TestCluster;
  let one: TestMember;
  let host: readonly string[];
  const volumes = '/1.0/storage-pools/fast/volumes';

  beforeAll(async () => {
    cluster = await makeCluster(3);
    one = cluster.members[0] as TestMember;
    host = ['--host', `unix://${cluster.members[1]?.socketPath}`];
    const source = join(folder.dir, 'm2-pool');
    mkdirSync(source);
    const member_overrides = { m2: { source } };
    const make = async (path: string, body: object): Promise<void> => {
      const { status, bytes } = await one.call('POST', path, body);
      expect(status, bytes.toString()).toBeLessThan(300);
    };
    await make('/1.0/storage-pools', { name: 'fast', driver: 'dir', member_overrides });
    const config = { 'ipv4.address': 'none', 'ipv6.address': 'none' };
    await make('/1.0/networks', { name: 'gtad0', config });
    for (const target of ['m1', 'm3'])
      await make(`${volumes}?target=${target}`, { name: 'data', type: 'custom', config: { 'user.on': target } });
    await make(`${volumes}?target=m2`, { name: 'alone', type: 'custom' });
  });
  afterAll(async () => {
    await cluster.cleanUp();
    folder.remove();
  });

  const run = (...words: readonly string[]): Promise<CliRun> => cli([...words, ...host]);
  const configOn = async (target: string): Promise<Record<string, string>> =>
    (await one.get(`${volumes}/custom/data?target=${target}`)).config;
  const stack = (name: string, text: string): string[] => [text, '--set', name];
  const apply = async ([text = '', ...set]: readonly string[], ...more: readonly string[]): Promise<void> => {
    const applied = await folder.gantry(one.socketPath, 'apply', [text], ...set, '--auto-approve', ...more);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const second = await folder.gantry(one.socketPath, 'plan', [text], ...set, '--detailed-exitcode');
    expect(second.code, second.stdout + second.stderr).toBe(0);
  };

  test('adopting everything only writes records, and the plan of its manifests is empty', async () => {
    const file = join(folder.dir, 'written.yaml');
    const before = await configOn('m1');
    const adopted = await run('adopt', '--all', '--write', file, '--set', 'all');
    expect(adopted.code, adopted.stdout + adopted.stderr).toBe(0);
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/# m1, m3 have a volume of this name each: this is the one of m1[^]*target: m1/);
    const plan = await run('plan', '-f', file, '--set', 'all', '--detailed-exitcode');
    expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    const after = await configOn('m1');
    expect(after).toHaveProperty(['user.gantry.own.all']);
    delete after['user.gantry.own.all'];
    expect(after).toEqual(before);
    expect(await configOn('m3')).toEqual({ 'user.on': 'm3' });
    const released = await run('release', '--all', '--set', 'all');
    expect(released.code, released.stderr).toBe(0);
    expect(await configOn('m1')).toEqual(before);
  });

  test('a document means the volume of its target: each set changes, snapshots and destroys its own', async () => {
    const on = (target: string, value: string): string =>
      `kind: storage_volume\nname: data\npool: fast\ntarget: ${target}\nconfig: { user.on: ${value} }\nsnapshots: [{ name: s0 }]\n`;
    await apply(stack('first', on('m1', 'one')));
    await apply(stack('third', on('m3', 'three')));
    // A third volume of the same name.
    await apply(stack('second', on('m2', 'two')));
    for (const [target, value] of [
      ['m1', 'one'],
      ['m2', 'two'],
      ['m3', 'three'],
    ] as const) {
      expect(await configOn(target)).toMatchObject({ 'user.on': value });
      expect(await one.get(`${volumes}/custom/data/snapshots?target=${target}`)).toHaveLength(1);
    }
    await apply(stack('third', on('m3', 'changed')));
    expect([(await configOn('m1'))['user.on'], (await configOn('m3'))['user.on']]).toEqual(['one', 'changed']);
    // Without a target, the document means the volume that the set owns.
    await apply(stack('third', on('m3', 'again').replace('target: m3\n', '')));
    expect(await configOn('m3')).toMatchObject({ 'user.on': 'again' });
    const unclear = await folder.gantry(
      one.socketPath,
      'plan',
      [on('m1', 'x').replace('target: m1\n', '')],
      '--set',
      'x',
    );
    expect([unclear.code, unclear.stderr]).toEqual([
      1,
      expect.stringMatching(
        /m1, m2, m3 have a volume of this name each[^]*write target: m1 or target: m2 or target: m3/,
      ),
    ]);
    const gone = await folder.gantry(one.socketPath, 'destroy', [on('m2', 'two')], '--set', 'second', '--auto-approve');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    const left = (await one.get(`${volumes}/custom?recursion=1`)) as { name: string; location: string }[];
    expect(
      left
        .filter(({ name }) => name === 'data')
        .map(({ location }) => location)
        .toSorted(),
    ).toEqual(['m1', 'm3']);
  });
});
