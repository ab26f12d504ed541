// Restraints of the controller: suspensions, drift that is only reported, stopped rollouts, and rollbacks. rollouts.test.ts and
// gates.test.ts have suspended sets, dependencies between sets and windows.
import { afterEach, describe, expect, test } from 'vitest';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  simpleConfig,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function opened(hosts: number, note = 'a', config = simpleConfig()): Promise<ControllerWorld> {
  world = await openControllerWorld(hosts);
  await world.write('a.yaml', profileText('web', { 'user.note': note, 'user.other': 'x' }));
  await world.start(config);
  return world;
}

const noteOf = async (own: ControllerWorld, host: number): Promise<string | undefined> =>
  (await own.profile(host, 'web'))?.['user.note'];

describe('a suspension', () => {
  test('a suspension of a field leaves it alone while the rest is healed, also after a restart, until it is resumed', async () => {
    const own = await opened(1);
    await hasStatus(own, 'web', 'synced');
    const request = { address: 'profile/web', path: 'config.user.note', reason: 'load test' };
    const made = await own.engine.suspend('web', request, 'ann');
    await own.stop();
    await own.start();
    await hasStatus(own, 'web', 'synced');
    expect(own.engine.overview().sets[0]?.suspensions).toEqual([made]);
    await own.meddle(1, 'web', { 'user.note': 'b', 'user.other': 'y' });
    await until(async () => (await own.profile(1, 'web'))?.['user.other'] === 'x', waitMs);
    expect(await noteOf(own, 1)).toBe('b');
    await own.engine.resume('web', { id: made.id }, 'ann');
    await until(async () => (await noteOf(own, 1)) === 'a', waitMs);
  });

  test('shows drift of the object and records it, heals nothing, and the record ends with the suspension', async () => {
    const own = await opened(1);
    await hasStatus(own, 'web', 'synced');
    await own.engine.suspend('web', { address: 'profile/web', reason: 'load test' }, 'ann');
    const object = () => own.engine.objects('web').objects[0];
    await until(() => object()?.status === 'suspended', waitMs);
    expect([object()?.message, own.engine.drift('web')]).toEqual(['load test', []]);
    await own.meddle(1, 'web', { 'user.note': 'b' });
    await until(() => object()?.message === 'load test; drifted: config.user.note', waitMs);
    expect(object()?.status).toBe('suspended');
    const record = { address: 'profile/web', action: 'suspended', paths: ['config.user.note'] };
    expect(own.engine.drift('web')).toMatchObject([record]);
    expect(own.engine.drift('web')[0]?.healedAt).toBeUndefined();
    // After a restart it is still the same record.
    const { id } = own.engine.drift('web')[0] ?? {};
    await own.stop();
    await own.start();
    await until(() => object()?.message?.includes('drifted') === true, waitMs);
    expect(own.engine.drift('web').map((one) => one.id)).toEqual([id]);
    expect(await noteOf(own, 1)).toBe('b');
    await own.engine.resume('web', {}, 'ann');
    await until(() => own.engine.drift('web')[0]?.action === 'healed', waitMs);
    expect(await noteOf(own, 1)).toBe('a');
    expect(own.engine.drift('web').map((one) => one.id)).toEqual([id]);
  });

  test('a suspension of a field records its drift while the rest of the object is healed; deleted objects count as drift', async () => {
    const own = await opened(1);
    await hasStatus(own, 'web', 'synced');
    const field = { address: 'profile/web', path: 'config.user.note', reason: 'load test' };
    await own.engine.suspend('web', field, 'ann');
    await own.meddle(1, 'web', { 'user.note': 'b' });
    await until(() => own.engine.drift('web')[0]?.action === 'suspended', waitMs);
    await own.meddle(1, 'web', { 'user.other': 'y' });
    await until(async () => (await own.profile(1, 'web'))?.['user.other'] === 'x', waitMs);
    await until(() => own.engine.drift('web')[0]?.action === 'suspended', waitMs);
    expect(await noteOf(own, 1)).toBe('b');
    await own.engine.suspend('web', { address: 'profile/web', reason: 'gone' }, 'ann');
    await own.daemons[0]?.client.delete('profile', 'web');
    await until(() => own.engine.drift('web').some(({ paths }) => paths.includes('')), waitMs);
    expect(await own.profile(1, 'web')).toBeUndefined();
  });

  test('a suspended object that is no longer declared is deleted when the suspension ends, and not before', async () => {
    const own = await opened(1, 'a', simpleConfig('prune: { max: 100% }'));
    await own.write('b.yaml', profileText('late', { 'user.note': 'b' }));
    await until(async () => (await own.profile(1, 'late')) !== undefined, waitMs);
    await hasStatus(own, 'web', 'synced');
    await own.engine.suspend('web', { address: 'profile/late', reason: 'debugging' }, 'ann');
    await own.write('b.yaml', profileText('beside', {}));
    await until(async () => (await own.profile(1, 'beside')) !== undefined, waitMs);
    await hasStatus(own, 'web', 'synced');
    expect(await own.profile(1, 'late')).toBeDefined();
    const shown = own.engine.objects('web').objects.find(({ address }) => address === 'profile/late');
    expect(shown).toMatchObject({ status: 'suspended', message: 'debugging' });
    await own.engine.resume('web', {}, 'ann');
    await until(async () => (await own.profile(1, 'late')) === undefined, waitMs);
  });

  test('a suspension with a past end, of a field without object or of an unknown host is refused', async () => {
    const own = await opened(1);
    const bad = [
      { reason: 'x', until: '2020-01-01T00:00:00Z' },
      { reason: 'x', path: 'config' },
      { reason: 'x', host: 'h9' },
    ];
    for (const request of bad)
      await expect(own.engine.suspend('web', request, 'ann')).rejects.toThrow(/past|address|h9/);
    await expect(own.engine.suspend('none', { reason: 'x' }, 'ann')).rejects.toThrow('there is no set none');
  });
});

describe('rules', () => {
  test('drift that is only reported stays while a new revision is applied', async () => {
    const own = await opened(1, 'a', simpleConfig('rules: [{ path: config.user.note, action: report }]'));
    await hasStatus(own, 'web', 'synced');
    await own.meddle(1, 'web', { 'user.note': 'b', 'user.other': 'y' });
    await hasStatus(own, 'web', 'drifted');
    await until(async () => (await own.profile(1, 'web'))?.['user.other'] === 'x', waitMs);
    expect(await noteOf(own, 1)).toBe('b');
    expect(
      own.engine.drift('web').some(({ action, paths }) => action === 'reported' && paths.includes('config.user.note')),
    ).toBe(true);
    await own.write('a.yaml', profileText('web', { 'user.note': 'a', 'user.other': 'z' }));
    await until(async () => (await own.profile(1, 'web'))?.['user.other'] === 'z', waitMs);
    expect(await noteOf(own, 1)).toBe('b');
  });
});

describe('sets and hosts', () => {
  test('a rollout stops at a failed host and is rolled back', async () => {
    const own = await opened(3, 'a', simpleConfig('rollout: { batches: 1, rollback: true }, retry: { first: 60s }'));
    await hasStatus(own, 'web', 'synced');
    const good = own.engine.overview().sets[0]?.revision;
    await own.write('a.yaml', broken('r2'));
    await until(() => own.engine.history('web').some(({ outcome }) => outcome === 'rolled-back'), waitMs);
    await hasStatus(own, 'web', 'synced');
    expect([await noteOf(own, 1), await noteOf(own, 2), await noteOf(own, 3)]).toEqual(['a', 'a', 'a']);
    expect(own.engine.overview().sets[0]).toMatchObject({
      revision: good,
      message: expect.stringContaining('failed on h2'),
    });
    expect(own.engine.history('web').find(({ outcome }) => outcome === 'rolled-back')?.hosts).not.toContain('h3');
    await own.write('a.yaml', profileText('web', { 'user.note': 'c', 'user.other': 'x' }));
    await until(async () => (await noteOf(own, 3)) === 'c', waitMs);
  });

  test('a set rolls back to a revision, stays there, and follows its source again when resumed', async () => {
    const own = await opened(2);
    await hasStatus(own, 'web', 'synced');
    const first = own.engine.overview().sets[0]?.revision ?? '';
    await own.write('a.yaml', profileText('web', { 'user.note': 'b' }));
    await until(async () => (await noteOf(own, 2)) === 'b', waitMs);
    await hasStatus(own, 'web', 'synced');
    await own.engine.rollback('web', { revision: first, reason: 'b is bad' }, 'ann');
    await until(async () => (await noteOf(own, 1)) === 'a' && (await noteOf(own, 2)) === 'a', waitMs);
    await hasStatus(own, 'web', 'synced');
    expect(own.engine.overview().sets[0]).toMatchObject({
      revision: first,
      suspensions: [{ id: 'rollback', by: 'ann' }],
    });
    expect(own.engine.history('web')[0]).toMatchObject({ by: 'ann', reason: 'rollback: b is bad', outcome: 'done' });
    await own.stop();
    await own.start();
    await own.meddle(1, 'web', { 'user.note': 'c' });
    await until(async () => (await noteOf(own, 1)) === 'a', waitMs);
    await own.engine.resume('web', {}, 'ann');
    await until(async () => (await noteOf(own, 1)) === 'b' && (await noteOf(own, 2)) === 'b', waitMs);
    await expect(own.engine.rollback('web', { revision: 'ffff', reason: 'x' }, 'ann')).rejects.toThrow(
      'has no revision ffff',
    );
  });

  test('shows one object with its differences, and what an earlier revision would change', async () => {
    const own = await opened(1, 'a', simpleConfig('mode: report'));
    await hasStatus(own, 'web', 'synced');
    const first = own.engine.overview().sets[0]?.revision ?? '';
    await own.meddle(1, 'web', { 'user.note': 'b' });
    await hasStatus(own, 'web', 'drifted');
    const detail = await own.engine.object('web', 'h1', 'profile/web');
    expect(detail.differences).toEqual([
      { path: 'config.user.note', desired: 'a', live: 'b', effect: 'live', isSecret: false },
    ]);
    const preview = await own.engine.preview('web', { ref: first });
    expect(preview.hosts[0]).toMatchObject({
      host: 'h1',
      changes: { update: 1 },
      objects: [{ address: 'profile/web' }],
    });
    await expect(own.engine.object('web', 'h1', 'profile/none')).rejects.toThrow('has no object profile/none');
  });
});

/** A good profile, and on hosts of this rack a container of an image that does not exist. */
const broken = (rack: string): string =>
  `${profileText('web', { 'user.note': 'b', 'user.other': 'x' })}---
kind: container
name: c1
source: { type: image, alias: nothing }
manage: { hosts: [rack=${rack}] }
`;
