// The controller brings manifests to several hosts, heals drift by events, and continues with the last good revision.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

describe('one set on two hosts', () => {
  let world: ControllerWorld;
  beforeAll(async () => {
    world = await openControllerWorld(2);
    await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
    await world.start();
    await hasStatus(world, 'web', 'synced');
  });
  afterAll(() => world.close());

  test('brings the manifests to all hosts, and notes who did it', async () => {
    expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'a' });
    expect(await world.profile(2, 'web')).toMatchObject({ 'user.note': 'a' });
    const [run] = world.engine.history('web');
    expect(run).toMatchObject({ outcome: 'done', reason: 'commit', hosts: ['h1', 'h2'], changes: { create: 2 } });
    expect(world.engine.overview().controller.isActive).toBe(true);
  });

  test('heals drift only on the drifted host, and writes nothing afterwards', async () => {
    const before = world.engine.history('web').length;
    await world.meddle(2, 'web', { 'user.note': 'b' });
    await until(async () => (await world.profile(2, 'web'))?.['user.note'] === 'a', waitMs);
    await until(() => world.engine.drift('web')[0]?.action === 'healed', waitMs);
    const [drift] = world.engine.drift('web');
    expect(drift).toMatchObject({ host: 'h2', address: 'profile/web', paths: ['config.user.note'], action: 'healed' });
    expect(drift?.by).toBeTypeOf('string');
    await hasStatus(world, 'web', 'synced');
    expect(world.engine.history('web').length).toBe(before + 1);
    expect(world.engine.drift('web').length).toBe(1);
    const { history } = await world.engine.object('web', 'h2', 'profile/web');
    expect(history.map(({ action, reason }) => `${action}: ${reason}`)).toEqual([
      'update: drift',
      'update: config.user.note: healed',
      'create: commit',
    ]);
    expect(history[0]?.by).toMatch(/^controller /);
    expect(history[2]?.revision).toBe(world.engine.history('web').at(-1)?.revision);
  });

  test('shows what is left alone for a while, since something keeps changing it back, as drifted', async () => {
    const rests = (): boolean =>
      world.hub.lines({ level: 'warn' }).some(({ message }) => /keeps changing/.test(message));
    for (let note = 0; !rests(); note += 1) {
      await world.meddle(2, 'web', { 'user.note': String(note) });
      await until(async () => rests() || (await world.profile(2, 'web'))?.['user.note'] === 'a', waitMs);
    }
    const onHost = () => world.engine.overview().sets[0]?.hosts[1];
    await until(() => onHost()?.status === 'drifted', waitMs);
    expect(onHost()).toMatchObject({ error: expect.stringContaining('keeps changing'), objects: { drifted: 1 } });
    await hasStatus(world, 'web', 'synced');
    expect(await world.profile(2, 'web')).toMatchObject({ 'user.note': 'a' });
  });

  test('keeps healing with the last good manifests while the newest are broken', async () => {
    await world.write('a.yaml', 'kind: profile\nname: [\n');
    await until(() => (world.engine.overview().sets[0]?.problems.length ?? 0) > 0, waitMs);
    expect(world.engine.overview().sets[0]?.problems[0]).toMatch(/^a\.yaml:\d+:\d+: /);
    await world.meddle(1, 'web', { 'user.note': 'c' });
    await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'a', waitMs);
    await world.write('a.yaml', profileText('web', { 'user.note': 'd' }));
    await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'd', waitMs);
    await hasStatus(world, 'web', 'synced');
    expect(world.engine.overview().sets[0]?.problems).toEqual([]);
  });

  test('a set keeps its revision after a restart, and treats changes during the downtime as drift', async () => {
    await world.stop();
    await world.meddle(1, 'web', { 'user.note': 'e' });
    await world.start();
    await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'd', waitMs);
    await hasStatus(world, 'web', 'synced');
    expect(world.engine.drift('web')[0]).toMatchObject({ host: 'h1', address: 'profile/web' });
    const { history } = await world.engine.object('web', 'h1', 'profile/web');
    expect(history.at(-1)).toMatchObject({ action: 'create', reason: 'commit' });
    expect(world.engine.history('web').filter(({ reason }) => reason === 'commit').length).toBe(2);
  });
});
