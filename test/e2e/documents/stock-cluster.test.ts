// Manifests over a cluster of three stock LXD servers, from its first plan to its last destroy.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { done } from '../../support/cluster/form.ts';
import { hostsMissing } from '../../support/cluster/hosts.ts';
import { startStockCluster, type StockCluster } from '../../support/cluster/stock-cluster.ts';
import { stockLxdMissing } from '../../support/hosts/stock-lxd.ts';

const missing = stockLxdMissing() ?? hostsMissing();
if (missing !== undefined) console.log(`skipped: manifests over a cluster of stock LXD: ${missing}`);

describe.skipIf(missing !== undefined)('manifests over a cluster of stock LXD', () => {
  const folder = new StackFolder();
  let cluster: StockCluster;
  type Member = StockCluster['members'][number];
  let [one, two, three] = [] as unknown as [Member, Member, Member];

  beforeAll(async () => {
    cluster = await startStockCluster({ ownHosts: true });
    [one, two, three] = cluster.members as [Member, Member, Member];
    mkdirSync(source);
  }, 240_000);
  afterAll(async () => {
    await cluster?.remove();
    folder.remove();
  });

  const source = join(folder.dir, 'pool2');
  const pool = (from = source): string =>
    `kind: storage_pool\nname: fast\ndescription: ours\ndriver: dir\nmember_overrides: { lxd2: { config: { source: ${from} } } }\n`;
  const network = (more = ''): string =>
    `kind: network\nname: gtsc0\ndescription: ours\nconfig: { ipv4.address: none, ipv6.address: none }\n${more}`;
  const profile =
    'kind: profile\nname: small\nconfig: { limits.memory: 64MiB }\ndevices: { root: { type: disk, path: /, pool: fast }, eth0: { type: nic, network: gtsc0 } }\n';
  const volume = (target = 'lxd3'): string =>
    `kind: storage_volume\nname: data\npool: fast\ntarget: ${target}\nconfig: { user.a: "1" }\n`;
  const container = (name: string, target: string, more = ''): string =>
    `kind: container\nname: ${name}\ntarget: ${target}\nstate: stopped\nprofiles: [small]\nsource: { type: none }\n${more}`;
  const stack = (target = 'lxd2'): string[] => [
    pool(),
    network(),
    profile,
    volume(),
    container('c1', target),
    container('c2', 'lxd3'),
  ];
  const run = (verb: string, parts: readonly string[], ...more: readonly string[]): Promise<CliRun> =>
    folder.gantry(one.socketPath, verb, parts, '--set', 'stack', ...more);
  const apply = async (parts: readonly string[], ...more: readonly string[]): Promise<string> => {
    const applied = await run('apply', parts, '--auto-approve', ...more);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    await expectSettled(parts);
    return applied.stdout;
  };
  const expectSettled = async (parts: readonly string[]): Promise<void> => {
    const second = await run('plan', parts, '--detailed-exitcode');
    expect(second.code, `a second plan\n${second.stdout}${second.stderr}`).toBe(0);
    // Every member gives the same answer.
    const other = await folder.gantry(two.socketPath, 'plan', parts, '--set', 'stack', '--detailed-exitcode');
    expect(other.code, `a plan by the second member\n${other.stdout}${other.stderr}`).toBe(0);
  };
  const locations = async (): Promise<Record<string, string>> => {
    const list = (await one.get('/1.0/containers?recursion=1')) as { name: string; location: string }[];
    return Object.fromEntries(list.map(({ name, location }) => [name, location]));
  };

  test('one apply makes pools and networks on all members, and the rest where it is declared', async () => {
    await apply(stack());
    expect((await one.get('/1.0/storage-pools/fast?target=lxd2')).config).toMatchObject({ source });
    for (const path of ['/1.0/storage-pools/fast', '/1.0/networks/gtsc0']) {
      const { status, locations: on } = (await one.get(path)) as { status: string; locations: string[] };
      expect([path, status, on.toSorted()]).toEqual([path, 'Created', ['lxd1', 'lxd2', 'lxd3']]);
    }
    expect(await locations()).toEqual({ c1: 'lxd2', c2: 'lxd3' });
    expect(await one.get('/1.0/storage-pools/fast/volumes/custom/data')).toMatchObject({ location: 'lxd3' });
  });

  test('a stopped container moves to the member of its document, also back after someone moved it', async () => {
    await apply(stack('lxd1'));
    expect(await locations()).toEqual({ c1: 'lxd1', c2: 'lxd3' });
    await done(one, 'POST', '/1.0/containers/c1?target=lxd3', { name: 'c1', migration: true });
    const drift = await run('drift', stack('lxd1'), '--detailed-exitcode');
    expect([drift.code, drift.stdout]).toEqual([2, expect.stringMatching(/target[^\n]*lxd/)]);
    await apply(stack('lxd1'));
    expect(await locations()).toEqual({ c1: 'lxd1', c2: 'lxd3' });
    await apply(stack());
  }, 240_000);

  test('drift of one member, a moved pool and a moved volume are reported with the member', async () => {
    const card = 'gtsc0x';
    const [program = '', ...words] = three.run;
    execFileSync(program, [...words, 'ip', 'link', 'add', card, 'type', 'veth', 'peer', 'name', `${card}p`]);
    const withCard = (value: string): string[] =>
      stack().map((part) =>
        part.startsWith('kind: network')
          ? network(`member_overrides: { lxd3: { config: { bridge.external_interfaces: ${value} } } }\n`)
          : part,
      );
    await apply(withCard(card));
    const own = '/1.0/networks/gtsc0?target=lxd3';
    expect((await one.get(own)).config).toMatchObject({ 'bridge.external_interfaces': card });
    await done(one, 'PATCH', own, { config: { 'bridge.external_interfaces': '' } });
    const drift = await run('drift', withCard(card));
    expect(drift.stdout).toContain('member_overrides.lxd3.bridge.external_interfaces');
    await apply(withCard(card));
    expect((await one.get(own)).config).toMatchObject({ 'bridge.external_interfaces': card });
    await apply(withCard('~'));
    await apply(stack());
    expect((await one.get('/1.0/networks/gtsc0?target=lxd1')).config).not.toHaveProperty([
      'bridge.external_interfaces',
    ]);

    const away = await run('plan', [pool('/elsewhere'), ...stack().slice(1)], '--detailed-exitcode');
    expect(away.code, away.stdout).toBe(4);
    expect(away.stdout).toContain('member_overrides.lxd2.source cannot be changed in place');
    const moved = await run(
      'plan',
      stack().map((part) => (part.includes('storage_volume') ? volume('lxd1') : part)),
    );
    expect(moved.stdout).toContain('would be deleted and created again, its data lost: target');
    const strange = await run('plan', [...stack(), container('c9', 'lxd22')]);
    expect(strange.stderr).toContain('the cluster has no member lxd22 (did you mean lxd2?)');
  });

  test('the plan is empty while a member is evacuated and after its restore', async () => {
    await done(one, 'POST', '/1.0/cluster/members/lxd2/state', { action: 'evacuate' });
    expect((await locations())['c1']).not.toBe('lxd2');
    await expectSettled(stack());
    await done(one, 'POST', '/1.0/cluster/members/lxd2/state', { action: 'restore' });
    expect((await locations())['c1']).toBe('lxd2');
    await expectSettled(stack());
  }, 240_000);

  test('a document means its own volume beside one of the same name on another member, also in export and adopt', async () => {
    const volumes = '/1.0/storage-pools/fast/volumes/custom';
    await done(one, 'POST', `${volumes}?target=lxd1`, { name: 'data', type: 'custom', config: { 'user.a': 'other' } });
    await expectSettled(stack());
    await apply(stack().map((part) => part.replace('user.a: "1"', 'user.a: "2"')));
    expect((await one.get(`${volumes}/data?target=lxd3`)).config).toMatchObject({ 'user.a': '2' });
    expect((await one.get(`${volumes}/data?target=lxd1`)).config).toMatchObject({ 'user.a': 'other' });
    await apply(stack());
    const vague = 'kind: storage_volume\nname: data\npool: fast\n';
    const host = ['--host', `unix://${two.socketPath}`];
    const unclear = await folder.gantry(one.socketPath, 'plan', [vague], '--set', 'vague');
    expect([unclear.code, unclear.stderr]).toEqual([1, expect.stringContaining('write target: lxd1 or target: lxd3')]);

    const file = join(folder.dir, 'exported.yaml');
    const exported = await cli(['export', ...host, '-o', file, '--force', '--set', 'stack']);
    expect(exported.code, exported.stderr).toBe(0);
    expect(readFileSync(file, 'utf8')).toMatch(/name: data\n *pool: fast\n *target: lxd3/);
    const again = await cli(['plan', '-f', file, ...host, '--set', 'stack', '--detailed-exitcode']);
    expect(again.stdout + again.stderr).toContain('Plan: 0 to add, 0 to change, 0 to destroy');
    const written = join(folder.dir, 'adopted.yaml');
    const adopted = await cli(['adopt', '--all', ...host, '--write', written, '--set', 'second']);
    expect(adopted.code, adopted.stdout + adopted.stderr).toBe(0);
    const empty = await cli(['plan', '-f', written, ...host, '--set', 'second', '--detailed-exitcode']);
    expect(empty.code, empty.stdout + empty.stderr).toBe(0);
    expect((await one.get(`${volumes}/data?target=lxd1`)).config).toHaveProperty(['user.gantry.own.second']);
    const released = await cli(['release', '--all', ...host, '--set', 'second']);
    expect(released.code, released.stdout + released.stderr).toBe(0);
    await expectSettled(stack());
  });

  test('objects that a stack no longer declares are pruned, and a destroy removes the rest on all members', async () => {
    await apply(stack().slice(0, 5), '--prune', '--allow-destroy');
    expect(await locations()).toEqual({ c1: 'lxd2' });
    const gone = await run('destroy', stack().slice(2, 5), '--auto-approve');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    expect(await locations()).toEqual({});
    // An undeclared volume remains and keeps the pool.
    expect(await one.get('/1.0/storage-pools/fast/volumes/custom/data')).toMatchObject({ location: 'lxd1' });
    await done(one, 'DELETE', '/1.0/storage-pools/fast/volumes/custom/data');
    const all = await run('destroy', stack().slice(0, 2), '--auto-approve');
    expect(all.code, all.stdout + all.stderr).toBe(0);
    expect(await one.get('/1.0/storage-pools')).toEqual([]);
  });
});
