// A member is evacuated and restored: its containers run elsewhere or wait, and come back.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

describe.skipIf(etcdMissing() !== undefined)('evacuating a member', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two] = cluster.members as [TestMember, TestMember];
    expect((await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' })).status).toBeLessThan(300);
  });
  afterAll(() => cluster.cleanUp());
  afterEach(async () => {
    await change('restore');
    for (const { name } of await all()) {
      await one.call('PATCH', `/1.0/containers/${name}`, { config: { 'security.protection.delete': 'false' } });
      if ((await at(name))[1] === 'Running')
        await one.ok('PUT', `/1.0/containers/${name}/state`, { action: 'stop', force: true });
      await one.ok('DELETE', `/1.0/containers/${name}`);
    }
  });

  const create = async (name: string, isRunning: boolean, more: object = {}): Promise<void> => {
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await one.ok('POST', '/1.0/containers?target=m2', { name, source: { type: 'none' }, devices, ...more });
    if (isRunning) await one.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
  };
  const all = (): Promise<{ readonly name: string }[]> => one.get('/1.0/containers?recursion=1');
  const at = async (name: string): Promise<readonly [string, string]> => {
    const { location, status } = await one.get(`/1.0/containers/${name}`);
    return [location, status];
  };
  const configOf = async (name: string): Promise<Record<string, string>> =>
    (await one.get(`/1.0/containers/${name}`)).config;
  const statusOf = async (): Promise<string> => (await one.get('/1.0/cluster/members/m2')).status;
  const ask = (action: string, more: object = {}) =>
    one.run('POST', '/1.0/cluster/members/m2/state', { action, ...more });
  const change = async (action: string, more: object = {}): Promise<void> => {
    const { status, err } = await ask(action, more);
    expect(err).toBe('');
    expect(status).toBe('Success');
  };

  test('running containers move and come back running, stopped ones stay stopped, each according to cluster.evacuate', async () => {
    await create('runs', true, { config: { 'user.a': 'b' } });
    await create('rests', false);
    await create('stays', true, { config: { 'cluster.evacuate': 'stop' } });
    await create('bound', true, { devices: rootAnd({ shared: { type: 'disk', source: '/tmp', path: '/srv' } }) });
    await change('evacuate');
    expect(await statusOf()).toBe('Evacuated');
    expect((await at('runs'))[0]).not.toBe('m2');
    expect((await at('runs'))[1]).toBe('Running');
    expect((await at('rests'))[0]).not.toBe('m2');
    expect((await at('rests'))[1]).toBe('Stopped');
    expect(await at('stays')).toEqual(['m2', 'Stopped']);
    expect(await at('bound')).toEqual(['m2', 'Stopped']);
    expect(await configOf('runs')).toMatchObject({ 'volatile.evacuate.origin': 'm2', 'user.a': 'b' });
    await one.ok('POST', '/1.0/containers', { name: 'new', source: { type: 'none' }, devices: rootAnd({}) });
    expect((await at('new'))[0]).not.toBe('m2');
    const aimed = await one.call('POST', '/1.0/containers?target=m2', { name: 'x', source: { type: 'none' } });
    expect(aimed.bytes.toString()).toContain('m2 is evacuated');
    // A user's change during the evacuation is kept.
    await one.ok('PUT', '/1.0/containers/rests/state', { action: 'start' });

    await change('restore');
    expect(await statusOf()).toBe('Online');
    for (const name of ['runs', 'rests', 'stays', 'bound']) {
      expect([name, ...(await at(name))]).toEqual([name, 'm2', 'Running']);
      expect(Object.keys(await configOf(name)).filter((key) => key.includes('evacuate.'))).toEqual([]);
    }
    expect((await at('new'))[0]).not.toBe('m2');
  });

  test('the mode of the request applies to all containers, and a running one keeps its address', async () => {
    await create('c1', true);
    await change('evacuate', { mode: 'stop', force: true });
    expect(await at('c1')).toEqual(['m2', 'Stopped']);
    await change('evacuate', { mode: 'migrate' });
    expect((await at('c1'))[0]).not.toBe('m2');
    expect((await at('c1'))[1]).toBe('Running');
  });

  test('live-migrate moves the processes there and back, and what cannot be checkpointed runs on', async () => {
    const usageOf = async (name: string): Promise<number> => (await one.get(`/1.0/containers/${name}/state`)).cpu.usage;
    await create('goes', true, { config: { 'cluster.evacuate': 'live-migrate' } });
    await create('rests', false, { config: { 'cluster.evacuate': 'live-migrate' } });
    await create('bound', true, { ephemeral: true, config: { 'cluster.evacuate': 'live-migrate' } });
    await sleep(1_500);
    const before = await usageOf('goes');
    const { status, err } = await ask('evacuate');
    expect(status).toBe('Failure');
    expect(err).toMatch(
      /bound: The container bound is running and cannot be migrated live: it is ephemeral .* Stop it first, or evacuate with the mode migrate/,
    );
    expect(await at('bound')).toEqual(['m2', 'Running']);
    for (const [name, state] of [
      ['goes', 'Running'],
      ['rests', 'Stopped'],
    ] as const) {
      const [location, is] = await at(name);
      expect(location).not.toBe('m2');
      expect(is).toBe(state);
    }
    const there = await usageOf('goes');
    expect(there).toBeGreaterThanOrEqual(before);
    expect(await one.get('/1.0/containers/goes')).toMatchObject({ stateful: false });

    await change('restore');
    expect(await at('goes')).toEqual(['m2', 'Running']);
    expect(await usageOf('goes')).toBeGreaterThanOrEqual(there);
    expect(await at('rests')).toEqual(['m2', 'Stopped']);
    for (const name of ['goes', 'rests'])
      expect(Object.keys(await configOf(name)).filter((key) => key.startsWith('volatile.evacuate.'))).toEqual([]);
    await one.ok('PUT', '/1.0/containers/bound/state', { action: 'stop', force: true });
  });

  test('a member that is renamed while evacuated is restored under its new name', async () => {
    await create('c1', true);
    await create('c2', false, { config: { 'cluster.evacuate': 'stop' } });
    await change('evacuate');
    expect((await one.call('POST', '/1.0/cluster/members/m2', { server_name: 'second' })).status).toBe(200);
    expect((await at('c1'))[0]).not.toBe('second');
    expect(await configOf('c1')).toMatchObject({ 'volatile.evacuate.origin': 'second' });
    await one.ok('POST', '/1.0/cluster/members/second/state', { action: 'restore' });
    expect(await at('c1')).toEqual(['second', 'Running']);
    expect(await at('c2')).toEqual(['second', 'Stopped']);
    expect(await configOf('c1')).not.toHaveProperty('volatile.evacuate.origin');
    expect((await one.call('POST', '/1.0/cluster/members/second', { server_name: 'm2' })).status).toBe(200);
  });

  test('the daemon of an evacuated member starts no containers, and a restore starts those that ran', async () => {
    await create('c1', true, { config: { 'cluster.evacuate': 'stop', 'boot.autostart': 'true' } });
    await change('evacuate');
    await two.restart();
    expect(await statusOf()).toBe('Evacuated');
    expect(await at('c1')).toEqual(['m2', 'Stopped']);
    await change('restore');
    expect(await at('c1')).toEqual(['m2', 'Running']);
  });

  test('containers that cannot move are named, the others move, and a second request moves the rest', async () => {
    await create('a', true);
    await create('b', true);
    await one.ok('POST', '/1.0/containers/a/backups', { name: 'kept' });
    const { err } = await ask('evacuate');
    expect(err).toContain('a: The container a has backups');
    expect(err).toContain('Evacuate it again when the cause is gone');
    expect((await at('b'))[0]).not.toBe('m2');
    expect(await at('a')).toEqual(['m2', 'Stopped']);
    await one.ok('DELETE', '/1.0/containers/a/backups/kept');
    await change('evacuate');
    expect((await at('a'))[1]).toBe('Running');
    expect((await at('a'))[0]).not.toBe('m2');
  });

  test('a container that cannot move back keeps running where it is', async () => {
    await create('c1', true);
    await change('evacuate');
    const [place] = await at('c1');
    await one.ok('POST', '/1.0/containers/c1/backups', { name: 'kept' });
    const { err } = await ask('restore');
    expect(err).toContain('c1: ');
    expect(err).toContain('has backups');
    expect(await at('c1')).toEqual([place, 'Running']);
    await one.ok('DELETE', '/1.0/containers/c1/backups/kept');
  });

  test('wrong requests are refused', async () => {
    const refused = async (body: object, name = 'm2') => {
      const answer = await one.call('POST', `/1.0/cluster/members/${name}/state`, body);
      return [answer.status, answer.bytes.toString()] as const;
    };
    expect((await refused({ action: 'leave' }))[1]).toContain('must be evacuate or restore');
    expect((await refused({ action: 'evacuate', mode: 'fly' }))[1]).toContain('must be one of auto, migrate');
    expect((await refused({ action: 'restore', mode: 'stop' }))[1]).toContain('is for evacuate');
    expect((await refused({ action: 'evacuate' }, 'm9'))[0]).toBe(404);
    expect((await refused({}))[0]).toBe(400);
    const asMember = { 'x-gantry-from': 'm2', 'x-gantry-dialect': 'svc' };
    const back = await one.call('POST', '/internal/cluster/returns', { name: 'c1', force: true }, asMember);
    expect(back.status).toBe(403);
  });

  const rootAnd = (more: object) => ({ root: { type: 'disk', path: '/', pool: 'default' }, ...more });
});
