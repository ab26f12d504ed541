// Deletions of objects on an offline member: the plan names each one, the rest continues, and the next run finishes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliRun } from '../../support/cli/io.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('deleting objects of offline members', () => {
  const folder = new StackFolder();
  let cluster: TestCluster;
  let one: TestMember;
  let three: TestMember;

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, , three] = cluster.members as [TestMember, TestMember, TestMember];
    // Otherwise a task of the minute copies images to more members.
    const config = { 'cluster.images_minimal_replica': '1' };
    expect((await one.call('PATCH', '/1.0', { config })).status).toBe(200);
  });
  afterAll(async () => {
    await cluster.cleanUp();
    folder.remove();
  });

  const pool = 'kind: storage_pool\nname: fast\ndriver: dir\n';
  const network = 'kind: network\nname: gtom0\nconfig: { ipv4.address: none, ipv6.address: none }\n';
  const profile = 'kind: profile\nname: apart\nconfig: { limits.memory: 64MiB }\n';
  const volume = 'kind: storage_volume\nname: data\npool: fast\ntarget: m3\n';
  const container = (name: string, target: string): string =>
    `kind: container\nname: ${name}\ntarget: ${target}\nsource: { type: none }\ndevices: { root: { type: disk, path: /, pool: fast } }\n`;
  const all = [pool, network, profile, volume, container('c1', 'm1'), container('c2', 'm2'), container('c3', 'm3')];
  const run = (verb: string, of: readonly string[], ...more: readonly string[]): Promise<CliRun> =>
    folder.gantry(one.socketPath, verb, of, '--set', 'away', ...more);
  const good = async (verb: string, of: readonly string[], ...more: readonly string[]): Promise<void> => {
    const ran = await run(verb, of, '--auto-approve', ...more);
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  };
  const isOffline = async (): Promise<boolean> => {
    const members = (await one.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
    return members.some(({ status }) => status === 'Offline');
  };
  const away = async (): Promise<void> => {
    await three.stop();
    await until(isOffline);
  };
  const back = async (): Promise<void> => {
    await three.restart();
    await until(async () => !(await isOffline()));
  };
  const names = async (path: string): Promise<readonly string[]> =>
    ((await one.get(`/1.0/${path}?recursion=1`)) as { name: string }[]).map(({ name }) => name).sort();

  test('a prune says which member is missing, deletes the rest with --partial, and finishes when it is back', async () => {
    await good('apply', all);
    await away();
    const less = [pool, profile];
    const plan = await run('plan', less, '--prune', '--allow-destroy', '--prune-limit', '9', '--detailed-exitcode');
    expect(plan.code, plan.stdout).toBe(4);
    expect(plan.stdout).toContain('container/c3 cannot be deleted: its member m3 is offline');
    expect(plan.stdout).not.toContain('network/gtom0 cannot be deleted');
    expect(plan.stdout).toContain('bring m3 online and run this again');
    const flags = ['--prune', '--allow-destroy', '--prune-limit', '9', '--auto-approve'];
    const whole = await run('apply', less, ...flags);
    expect(whole.code, whole.stdout).toBe(4);
    expect(await names('containers')).toEqual(['c1', 'c2', 'c3']);
    const partial = await run('apply', less, ...flags, '--partial');
    expect(partial.code, partial.stdout + partial.stderr).toBe(4);
    expect(await names('containers')).toEqual(['c3']);
    await back();
    await good('apply', less, '--prune', '--allow-destroy', '--prune-limit', '9');
    expect(await names('containers')).toEqual([]);
    expect(await names('networks')).not.toContain('gtom0');
    expect(await one.get('/1.0/storage-pools/fast/volumes/custom')).toEqual([]);
  });

  test('a destroy does the same, and the set stays known until all of its objects are gone', async () => {
    await good('apply', all);
    await away();
    const plan = await run('destroy', all, '--dry-run=client');
    expect(plan.code, plan.stdout + plan.stderr).toBe(4);
    for (const said of [
      'container/c3 cannot be deleted: its member m3 is offline',
      'storage_volume/fast/data cannot be deleted: its member m3 is offline',
      'cannot delete storage_pool/fast: container/c3, storage_volume/fast/data use it',
    ])
      expect(plan.stdout).toContain(said);
    const partial = await run('destroy', all, '--auto-approve', '--partial');
    expect(partial.code, partial.stdout + partial.stderr).toBe(4);
    expect(await names('containers')).toEqual(['c3']);
    expect(await names('profiles')).not.toContain('apart');
    await back();
    await good('destroy', all);
    expect(await names('containers')).toEqual([]);
    expect(await names('storage-pools')).not.toContain('fast');
    const { config } = await one.get('/1.0');
    // The history with its documents outlives the set, so a rollback can restore it.
    const left = Object.keys(config as object).filter((key) => key.includes('away'));
    expect(left.filter((key) => !/^user\.gantry\.(?:history|documents)\.away\b/.test(key))).toEqual([]);
  });

  test('cluster-wide objects can be created and changed, and the offline member follows when it is back', async () => {
    await good('apply', all);
    await away();
    const changed = [
      pool,
      network.replace('ipv6', 'dns.domain: x, ipv6'),
      'kind: storage_pool\nname: more\ndriver: dir\n',
    ];
    await good('apply', [...changed, container('c9', 'm1')]);
    expect((await one.get('/1.0/containers/c9')).status).toBe('Running');
    expect(await names('storage-pools')).toContain('more');
    await back();
    expect(await one.get('/1.0/networks/gtom0?target=m3')).toMatchObject({ config: { 'dns.domain': 'x' } });
    expect(await one.get('/1.0/storage-pools/more')).toMatchObject({ locations: ['m1', 'm2', 'm3'] });
    const settled = await run('plan', [...changed, container('c9', 'm1')], '--detailed-exitcode');
    expect(settled.code, settled.stdout).toBe(0);
  });

  test('an image with a copy on an offline member is not deleted, and the plan says so; others are', async () => {
    const image = 'kind: image\nname: base\nfile: image.tar.gz\n';
    const apply = (of: readonly string[]): Promise<CliRun> =>
      folder.gantry(one.socketPath, 'apply', of, '--set', 'images', '--prune', '--allow-destroy', '--auto-approve');
    const applied = async (of: readonly string[]): Promise<void> => {
      const ran = await apply(of);
      expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    };
    const other = profile.replace('apart', 'beside');
    await applied([other, image]);
    const locations = async (): Promise<unknown> =>
      ((await one.get('/1.0/images?recursion=1')) as { locations: string[] }[]).map((each) => each.locations);
    expect(await locations()).toEqual([['m1']]);
    await away();
    await applied([other]);
    expect(await locations()).toEqual([]);
    await back();
    await applied([other, image]);
    await one.call('POST', '/1.0/storage-pools', { name: 'fast', driver: 'dir' });
    const [{ fingerprint }] = (await one.get('/1.0/images?recursion=1')) as [{ fingerprint: string }];
    const devices = { root: { type: 'disk', path: '/', pool: 'fast' } };
    await one.ok('POST', '/1.0/containers?target=m3', { name: 'of', source: { type: 'image', fingerprint }, devices });
    await one.ok('DELETE', '/1.0/containers/of');
    expect(await locations()).toEqual([['m1', 'm3']]);
    await away();
    const refused = await apply([other]);
    expect([refused.code, refused.stdout]).toEqual([
      4,
      expect.stringContaining(`image/${fingerprint} cannot be deleted: m3 has a copy and is offline`),
    ]);
    await back();
    await applied([other]);
    expect(await locations()).toEqual([]);
  });
});
