// Rollouts combined with suspensions, windows, dependencies between sets and rollbacks, and their history.
import { afterEach, describe, expect, test } from 'vitest';
import type { RunRecord, SetStatus } from '../../../reconciler/controller/contract/index.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  statusOf,
  simpleConfig,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
afterEach(() => world.close());

const noteText = (note: string, name = 'web'): string => profileText(name, { 'user.note': note });
/** Fails on hosts of this rack. */
const broken = (note: string, rack: string, name = 'web'): string =>
  `${noteText(note, name)}---
kind: container
name: of-${name}
source: { type: image, alias: nothing }
manage: { hosts: [rack=${rack}] }
`;

async function opened(hosts: number, config: string): Promise<void> {
  world = await openControllerWorld(hosts);
  await world.write('a.yaml', noteText('a'));
  await world.start(config);
  await hasStatus(world, 'web', 'synced');
}

const notes = (name = 'web'): Promise<readonly (string | undefined)[]> =>
  Promise.all(world.daemons.map(async (_, at) => (await world.profile(at + 1, name))?.['user.note']));
const have = (expected: readonly string[], name = 'web'): Promise<void> =>
  until(async () => (await notes(name)).join() === expected.join(), waitMs);
const set = (name = 'web'): SetStatus => statusOf(world, name);
const newest = (): RunRecord | undefined => world.engine.history('web')[0];
/** Waits until the set got another revision. */
const taken = async (before: string | undefined): Promise<string> => {
  await until(() => set().revision !== before, waitMs);
  return set().revision ?? '';
};

describe('a rollout', () => {
  test('waits with its canary while the set is suspended; a single suspended host gets it later', async () => {
    await opened(3, simpleConfig('rollout: { canary: 1 }, retry: { first: 60s }'));
    const freeze = await world.engine.suspend('web', { reason: 'freeze' }, 'ann');
    const alone = await world.engine.suspend('web', { reason: 'mine', host: 'h3' }, 'ann');
    await hasStatus(world, 'web', 'suspended');
    await world.write('a.yaml', broken('b', 'r1'));
    await taken(set().revision);
    await until(() => newest()?.hosts.length === 1, waitMs);
    await until(() => set().hosts[0]?.error?.startsWith('freeze; ') === true, waitMs);
    expect(set().status).toBe('suspended');
    expect(newest()).toMatchObject({ outcome: 'running', hosts: ['h1'] });
    await world.engine.resume('web', { id: freeze.id }, 'ann');
    await hasStatus(world, 'web', 'failed');
    expect(set().message).toMatch(/failed on h1, no further host gets it: ./);
    // The canary has the part of the revision without an error.
    expect(await notes()).toEqual(['b', 'a', 'a']);
    await world.write('a.yaml', noteText('c'));
    await have(['c', 'c', 'a']);
    await until(() => newest()?.outcome === 'done', waitMs);
    expect(newest()?.message).toBe('Not yet on h3: they get it later.');
    await world.engine.resume('web', { id: alone.id }, 'ann');
    await have(['c', 'c', 'c']);
    await hasStatus(world, 'web', 'synced');
    // The host gets the commit, not a repair of drift.
    expect(newest()).toMatchObject({ reason: 'commit', hosts: ['h3'], outcome: 'done' });
    expect(world.engine.drift('web')).toEqual([]);
  });

  test('goes on past a host with drift that is only reported', async () => {
    await opened(2, simpleConfig('mode: report, rollout: { batches: 1 }'));
    await world.meddle(1, 'web', { 'user.other': 'x', 'user.note': 'mine' });
    await hasStatus(world, 'web', 'drifted');
    await world.write('a.yaml', noteText('b'));
    await have(['mine', 'b']);
    await until(() => newest()?.outcome === 'done', waitMs);
    expect(set().status).toBe('drifted');
  });

  test('stops after the canary outside the window of its set, and continues when the window opens', async () => {
    const hour = (new Date().getUTCHours() + 6) % 24;
    const closed = `windows: { allow: [{ cron: "0 ${hour} * * *", duration: 1h }] }`;
    await opened(2, simpleConfig('rollout: { batches: 1 }'));
    await world.stop();
    await world.start(simpleConfig(`rollout: { batches: 1 }, ${closed}`));
    await hasStatus(world, 'web', 'synced');
    await world.write('a.yaml', noteText('b'));
    await hasStatus(world, 'web', 'waiting');
    expect(newest()).toMatchObject({ outcome: 'running', hosts: ['h1'] });
    await world.stop();
    await world.start(simpleConfig('rollout: { batches: 1 }'));
    await have(['b', 'b']);
    await hasStatus(world, 'web', 'synced');
  });

  test('rolls back to a revision that worked, not to one that was superseded before it was tried', async () => {
    await opened(2, simpleConfig('rollout: { batches: 1, rollback: true }, retry: { first: 60s }'));
    const good = set().revision;
    const freeze = await world.engine.suspend('web', { reason: 'freeze' }, 'ann');
    await hasStatus(world, 'web', 'suspended');
    await world.write('a.yaml', broken('b', 'r1'));
    const second = await taken(good);
    await world.write('a.yaml', broken('c', 'r1'));
    await taken(second);
    await world.engine.resume('web', { id: freeze.id }, 'ann');
    await until(() => set().revision === good, waitMs);
    await have(['a', 'a']);
    await hasStatus(world, 'web', 'synced');
    const tried = world.engine.history('web').map(({ outcome, message }) => ({ outcome, message }));
    expect(tried.filter(({ outcome }) => outcome === 'rolled-back')).toHaveLength(1);
    expect(tried.find(({ outcome }) => outcome === 'cancelled')?.message).toBe('A newer revision came first.');
  });
});

describe('sets that need sets', () => {
  test('get a revision on a host after the set that they need has it there, even if that set stops on the way', async () => {
    world = await openControllerWorld(3);
    await world.write('base.yaml', noteText('a', 'base'));
    await world.write('web.yaml', noteText('a'));
    const config = `hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 200ms } }
sets:
  - { name: base, source: shop, path: base.yaml, rollout: { batches: 1 }, retry: { first: 60s } }
  - { name: web, source: shop, path: web.yaml, dependsOn: [base] }
`;
    await world.start(config);
    for (const name of ['base', 'web']) await hasStatus(world, name, 'synced');
    // Both in one revision: a directory is read as a whole.
    await world.stop();
    await world.write('base.yaml', broken('b', 'r2', 'base'));
    await world.write('web.yaml', noteText('b'));
    await world.start(config);
    await hasStatus(world, 'base', 'failed');
    await have(['b', 'a', 'a']);
    // The reason follows the status: each host of web compares again when base has changed.
    const why = (): readonly string[] => set().hosts.map(({ error = '' }) => error);
    const expected = [
      /^$/,
      /^It waits until base is synced\. base failed on h2: .* the image alias nothing is neither/,
      /^It waits until base has revision [0-9a-f]{12}\.$/,
    ];
    await until(() => why().every((text, at) => expected[at]?.test(text) === true), waitMs).catch(() =>
      expect(why()).toEqual(expected.map((one) => expect.stringMatching(one) as string)),
    );
    // Hosts that the stopped rollout does not reach are kept as they are, also after a restart.
    await world.meddle(3, 'base', { 'user.note': 'by hand' });
    await until(async () => (await notes('base'))[2] === 'a', waitMs);
    await world.write('base.yaml', noteText('c', 'base'));
    await have(['c', 'c', 'c'], 'base');
    await have(['b', 'b', 'b']);
    for (const name of ['base', 'web']) await hasStatus(world, name, 'synced');
  });
});

describe('a rollback', () => {
  test('ends with the newest revision, never with the one that was rolled back', async () => {
    await opened(1, simpleConfig());
    const first = set().revision ?? '';
    await world.write('a.yaml', noteText('bad'));
    await have(['bad']);
    const bad = set().revision;
    await world.engine.rollback('web', { revision: first, reason: 'bad' }, 'ann');
    await have(['a']);
    await world.write('a.yaml', noteText('fixed'));
    const offered = (): string | undefined => world.engine.overview().sources[0]?.revision;
    await until(() => offered() !== bad, waitMs);
    expect(await notes()).toEqual(['a']);
    const before = world.engine.history('web').length;
    await world.engine.resume('web', {}, 'ann');
    await have(['fixed']);
    await hasStatus(world, 'web', 'synced');
    const runs = world.engine.history('web');
    expect(runs.slice(0, runs.length - before).map(({ revision }) => revision)).toEqual([offered()]);
  });

  test('a rollback of one host affects only this host, also after a restart', async () => {
    await opened(2, simpleConfig());
    const first = set().revision ?? '';
    await world.write('a.yaml', noteText('b'));
    await have(['b', 'b']);
    await hasStatus(world, 'web', 'synced');
    await world.engine.rollback('web', { revision: first, reason: 'test', hosts: ['h1'] }, 'ann');
    await have(['a', 'b']);
    expect(set().suspensions[0]?.reason).toMatch(/^held at \w+ on h1: test$/);
    await world.stop();
    await world.start();
    for (const host of [1, 2]) await world.meddle(host, 'web', { 'user.note': 'by hand' });
    await have(['a', 'b']);
    await world.engine.resume('web', {}, 'ann');
    await have(['b', 'b']);
  });

  test('a rollback of a suspended set takes effect when the suspension ends, and is not done before', async () => {
    await opened(1, simpleConfig());
    const first = set().revision ?? '';
    await world.write('a.yaml', noteText('b'));
    await have(['b']);
    const freeze = await world.engine.suspend('web', { reason: 'incident' }, 'ann');
    await hasStatus(world, 'web', 'suspended');
    await world.engine.rollback('web', { revision: first, reason: 'b is bad' }, 'ann');
    await until(() => newest()?.reason === 'rollback: b is bad', waitMs);
    await hasStatus(world, 'web', 'suspended');
    expect([newest()?.outcome, await notes()]).toEqual(['running', ['b']]);
    await world.engine.resume('web', { id: freeze.id }, 'ann');
    await have(['a']);
    await until(() => newest()?.outcome === 'done', waitMs);
  });
});
