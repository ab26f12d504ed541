// Manifests over a cluster: pools and networks with config of single members, containers and volumes on the members that they name.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliRun, cli } from '../../support/cli/io.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { until } from '../../support/until.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('manifests over a cluster', () => {
  const folder = new StackFolder();
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two] = cluster.members as [TestMember, TestMember];
    mkdirSync(join(folder.dir, 'm2-pool'));
  });
  afterAll(async () => {
    await cluster.cleanUp();
    folder.remove();
  });

  const pool = (more = ''): string =>
    `kind: storage_pool\nname: fast\ndriver: dir\nmember_overrides: { m2: { config: { source: ${join(folder.dir, 'm2-pool')} } } }\n${more}`;
  const network = 'kind: network\nname: gtrc0\nconfig: { ipv4.address: auto, ipv6.address: none }\n';
  const volume = 'kind: storage_volume\nname: data\npool: fast\ntarget: m3\n';
  const container = (name: string, target: string, more = ''): string =>
    `kind: container\nname: ${name}\ntarget: "${target}"\nstate: stopped\nsource: { type: none }\ndevices: { root: { type: disk, path: /, pool: fast } }\n${more}`;
  const onThree = (more = ''): string =>
    `${container('c5', 'm3', more).replace('stopped', 'running')}files: [{ path: /etc/mark, content: one }]\n`;
  const parts = (target = 'm2'): string[] => [
    pool(),
    network,
    volume,
    container('c1', target),
    container('c2', '@default'),
  ];
  const run = (verb: string, of: readonly string[], ...more: readonly string[]): Promise<CliRun> =>
    folder.gantry(one.socketPath, verb, of, ...more);
  const apply = async (of: readonly string[], ...more: readonly string[]): Promise<void> => {
    const applied = await run('apply', of, '--auto-approve', ...more);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const second = await run('plan', of, '--detailed-exitcode');
    expect(second.code, `a second plan\n${second.stdout}${second.stderr}`).toBe(0);
  };

  test('one document makes a pool on all members, and objects that name a member are created there', async () => {
    await apply(parts());
    expect((await one.get('/1.0/storage-pools/fast?target=m2')).config.source).toBe(join(folder.dir, 'm2-pool'));
    expect((await two.get('/1.0/containers/c1')).location).toBe('m2');
    expect(await one.get('/1.0/storage-pools/fast/volumes/custom/data')).toMatchObject({ location: 'm3' });
    const strange = await run('plan', [pool(), container('c3', '@fsat'), container('c4', 'm22')]);
    expect(strange.stderr).toContain('the cluster has no group with members @fsat');
    expect(strange.stderr).toContain('the cluster has no member m22 (did you mean m2?)');
  });

  test('a difference on one of several members is drift of that member', async () => {
    const elsewhere = pool().replace('m2-pool', 'other-pool');
    const plan = await run('plan', [elsewhere, ...parts().slice(1)], '--detailed-exitcode');
    expect(plan.code, plan.stdout).toBe(4);
    expect(plan.stdout).toContain('member_overrides.m2.source cannot be changed in place');
    const withCard = `${network}member_overrides: { m3: { config: { bridge.external_interfaces: gtnone0 } } }\n`;
    const changed = await run('plan', [pool(), withCard]);
    expect(changed.stdout).toContain('member_overrides.m3.bridge.external_interfaces');
  });

  test('a container moves to the member that its document names, and stops for it only if allowed', async () => {
    await apply(parts('m1'));
    expect((await two.get('/1.0/containers/c1')).location).toBe('m1');
    // Another client moves it away.
    await one.ok('POST', '/1.0/containers/c1?target=m3', { name: 'c1', migration: true });
    const drift = await run('drift', parts('m1'), '--detailed-exitcode');
    expect(drift.code, drift.stdout).toBe(2);
    expect(drift.stdout).toMatch(/target[^\n]*m3[^\n]*m1|target[^\n]*m1[^\n]*m3/);
    await apply(parts('m1'));
    const running = (target: string, more = ''): string[] => [
      ...parts().slice(0, 3),
      container('c1', target, more).replace('stopped', 'running'),
    ];
    await apply(running('m1'));
    const refused = await run('plan', running('m2', 'manage: { disruption: none }\n'), '--detailed-exitcode');
    expect(refused.code, refused.stdout).toBe(4);
    await apply(running('m2'));
    expect(await one.get('/1.0/containers/c1')).toMatchObject({ location: 'm2', status: 'Running' });
    await apply(running('m3', 'manage: { ignore: [target] }\n'));
    expect(await one.get('/1.0/containers/c1')).toMatchObject({ location: 'm2' });
    const volume = await run(
      'plan',
      parts('m2').map((part) => part.replace('target: m3', 'target: m1')),
    );
    expect(volume.stdout).toContain('would be deleted and created again, its data lost: target');
    await apply(parts('m2'));
  });

  test('an export of the cluster has an empty plan', async () => {
    const file = join(folder.dir, 'exported.yaml');
    const host = ['--host', `unix://${two.socketPath}`];
    const exported = await cli(['export', ...host, '-o', file, '--force']);
    expect(exported.code, exported.stderr).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('on the member m2: with target: m2 it would have to be there');
    const again = await cli(['plan', '-f', file, ...host, '--detailed-exitcode']);
    expect(again.stdout + again.stderr).toContain('Plan: 0 to add, 0 to change, 0 to destroy');
  });

  test('an apply moves no evacuated container back and starts none that waits on its member', async () => {
    const run2 = [
      ...parts().slice(0, 3),
      container('c1', 'm2').replace('stopped', 'running'),
      container('c6', 'm2', 'config: { cluster.evacuate: stop }\n').replace('stopped', 'running'),
    ];
    await apply(run2);
    await one.ok('POST', '/1.0/cluster/members/m2/state', { action: 'evacuate' });
    expect((await one.get('/1.0/containers/c1')).location).not.toBe('m2');
    expect(await one.get('/1.0/containers/c6')).toMatchObject({ location: 'm2', status: 'Stopped' });
    const during = await run('plan', run2, '--detailed-exitcode');
    expect(during.code, during.stdout + during.stderr).toBe(0);
    await one.ok('POST', '/1.0/cluster/members/m2/state', { action: 'restore' });
    const after = await run('plan', run2, '--detailed-exitcode');
    expect(after.code, after.stdout + after.stderr).toBe(0);
    expect(await one.get('/1.0/containers/c6')).toMatchObject({ location: 'm2', status: 'Running' });
  });

  test('objects of an offline member are neither missing nor changed, and changing them is refused with the name of the member', async () => {
    await apply([...parts(), onThree()]);
    await cluster.members[2]?.stop();
    await until(async () => {
      const members = (await one.get('/1.0/cluster/members?recursion=1')) as { status: string }[];
      return members.some(({ status }) => status === 'Offline');
    });
    const all = [pool(), network, container('c1', 'm2'), onThree()];
    const plan = await run('plan', all, '--detailed-exitcode');
    expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    const m3 = 'member_overrides: { m3: { config: { bridge.external_interfaces: x0 } } }\n';
    expect((await run('plan', [`${network}${m3}`])).stdout).toContain('0 to add, 0 to change');
    const seen = await run('plan', [pool(), volume.replace('target: m3\n', '')], '--detailed-exitcode');
    expect(seen.code, seen.stdout).toBe(0);
    const changed = await run('plan', [...all.slice(0, 3), onThree('description: other\n')], '--detailed-exitcode');
    expect(changed.code, changed.stdout).toBe(4);
    expect(changed.stdout).toContain('container/c5 cannot be changed: its member m3 is offline');
    expect((await run('plan', [...all, container('c9', 'm3')])).stdout).toContain(
      'cannot be created on m3: it is offline',
    );
    const elsewhere = await run('plan', [...all.slice(0, 2), container('c1', 'm3')]);
    expect(elsewhere.stdout).toContain('container/c1 is on the member m2, its document says m3, and m3 is offline');
  });
});
