// Reasons why a set waits or stops: prune limits, retries, health of other sets, windows for disruptive changes, expiring
// suspensions. One controller with three hosts.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { troubled, type BreakingProxy } from '../../support/daemons/breaking-proxy.ts';
import { call } from '../../support/daemons/daemon.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  statusOf,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const sets = ['pruned', 'shaky', 'base', 'web', 'calm'] as const;
type Name = (typeof sets)[number];

let world: ControllerWorld;
let proxy: BreakingProxy;
let isBroken = false;
const attempts: number[] = [];

/** `open`: the windows of disruptive changes. */
const config = (open: string): string => `hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 200ms } }
sets:
  - { name: pruned, source: shop, path: pruned, hosts: h2, prune: { max: 2 } }
  - { name: shaky, source: shop, path: shaky, hosts: h1, retry: { first: 400ms, longest: 1200ms } }
  - { name: base, source: shop, path: base, hosts: h3, retry: { first: 200ms, longest: 500ms }, health: { timeout: 1s } }
  - { name: web, source: shop, path: web, hosts: h3, dependsOn: [base] }
  - name: calm
    source: shop
    path: calm
    hosts: h2
    allow: { restart: true }
    prune: { max: 100% }
    windows: { disruptive: ${open} }
`;
const inSixHours = (new Date().getUTCHours() + 6) % 24;
const closed = `{ allow: [{ cron: "0 ${inSixHours} * * *", duration: 1h }] }`;

const write = (set: Name, text: string): void => writeFileSync(join(world.folder, 'manifests', set, 'a.yaml'), text);
const set = (name: Name): SetStatus => statusOf(world, name);
const profiles = (...names: readonly string[]): string =>
  names.map((name) => profileText(name, { 'user.note': name })).join('---\n');
const container = (name: string, more: string): string =>
  `${profileText('root', {})}devices: { root: { type: disk, path: /, pool: p1 } }
---
kind: storage_pool
name: p1
driver: dir
---
kind: container
name: ${name}
profiles: [root]
source: { type: none }
${more}`;

beforeAll(async () => {
  world = await openControllerWorld(3);
  proxy = await troubled(world.daemons[0]?.socketPath ?? '', {
    fails: (change) => {
      if (!isBroken || !change.includes('/1.0/profiles')) return false;
      attempts.push(Date.now());
      return true;
    },
  });
  const hosts = [proxy.host, world.daemons[1]?.host, world.daemons[2]?.host];
  const lines = hosts.map((host, at) => `  - { name: h${at + 1}, address: "${host}", labels: { rack: r${at + 1} } }`);
  writeFileSync(join(world.folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
  for (const name of sets) {
    mkdirSync(join(world.folder, 'manifests', name));
    write(name, profiles(`of-${name}`));
  }
  write('pruned', profiles('p1', 'p2', 'p3', 'p4', 'p5'));
  await world.start(config(closed));
  for (const name of sets) await hasStatus(world, name, 'synced');
});
afterAll(async () => {
  await world?.close();
  await proxy?.close();
});

describe('gates', () => {
  test('more objects than prune.max stay, with the reason, and fewer are deleted', async () => {
    write('pruned', profiles('p1', 'p2'));
    await hasStatus(world, 'pruned', 'waiting');
    expect(set('pruned').hosts[0]?.error).toMatch(
      /3 of the 5 objects of the set are no longer declared.*gantry controller prune pruned --approve/,
    );
    expect(set('pruned').pruneGate).toEqual({
      revision: set('pruned').revision,
      hosts: [{ host: 'h2', count: 3, objects: ['profile/p3', 'profile/p4', 'profile/p5'] }],
    });
    for (const name of ['p3', 'p4', 'p5']) expect(await world.profile(2, name)).toBeDefined();
    write('pruned', profiles('p1', 'p2', 'p3'));
    await hasStatus(world, 'pruned', 'synced');
    await until(async () => (await world.profile(2, 'p5')) === undefined, waitMs);
    expect([await world.profile(2, 'p3'), await world.profile(2, 'p4')]).toEqual([expect.anything(), undefined]);
  });

  test('a person approves exceeding prune.max for one revision, and the next one needs another approval', async () => {
    write('pruned', profiles('p1', 'p2', 'p3', 'p6', 'p7', 'p8'));
    await until(async () => (await world.profile(2, 'p8')) !== undefined, waitMs);
    await hasStatus(world, 'pruned', 'synced');
    const old = set('pruned').revision;
    const approve = (revision = '') =>
      world.engine.approvePrune('pruned', { revision, reason: 'the shop moved' }, 'ann');
    await expect(approve(old)).rejects.toThrow('no deletion of the set pruned waits for an approval');
    write('pruned', profiles('p1', 'p2', 'p3'));
    await hasStatus(world, 'pruned', 'waiting');
    await expect(approve(old)).rejects.toThrow(/has the revision [0-9a-f]{12} now: look at what it would delete/);
    await approve(set('pruned').revision);
    await hasStatus(world, 'pruned', 'synced');
    expect([await world.profile(2, 'p6'), await world.profile(2, 'p8')]).toEqual([undefined, undefined]);
    expect(set('pruned').pruneGate).toBeUndefined();
    expect(world.engine.history('pruned').map(({ reason }) => reason)).toContain('prune approved: the shop moved');
    write('pruned', profiles('p1', 'p2', 'p3', 'p4', 'p5', 'p6'));
    await until(async () => (await world.profile(2, 'p6')) !== undefined, waitMs);
    await hasStatus(world, 'pruned', 'synced');
    write('pruned', profiles('p1', 'p2', 'p3'));
    await hasStatus(world, 'pruned', 'waiting');
    expect(await world.profile(2, 'p6')).toBeDefined();
    write('pruned', profiles('p1', 'p2', 'p3', 'p4', 'p5', 'p6'));
    await hasStatus(world, 'pruned', 'synced');
  });

  test('a failed host is retried with growing pauses up to a maximum, and succeeds when the fault is gone', async () => {
    isBroken = true;
    write('shaky', profileText('of-shaky', { 'user.note': 'new' }));
    await hasStatus(world, 'shaky', 'failed');
    await until(() => attempts.length >= 5, waitMs);
    const failed = () => world.engine.history('shaky').filter(({ outcome }) => outcome === 'failed');
    await until(() => (failed()[0]?.tries ?? 0) >= 4, waitMs);
    isBroken = false;
    const pauses = attempts.slice(1, 5).map((at, index) => at - (attempts[index] ?? 0));
    // Half of 400, 800, 1200, 1200 ms: jitter takes the other half.
    for (const [index, least] of [200, 400, 600, 600].entries()) expect(pauses[index]).toBeGreaterThanOrEqual(least);
    await until(async () => (await world.profile(1, 'of-shaky'))?.['user.note'] === 'new', waitMs);
    await hasStatus(world, 'shaky', 'synced');
    expect(set('shaky').hosts[0]?.error).toBeUndefined();
    // All tries are one entry of the history and one line of the log, so that they hide nothing else.
    expect(failed()).toHaveLength(1);
    expect(Date.parse(failed()[0]?.at ?? '') - Date.parse(failed()[0]?.since ?? '')).toBeGreaterThan(1000);
    const errors = world.hub.lines({ set: 'shaky', level: 'error' });
    const why = failed()[0]?.message ?? '';
    expect(errors.map(({ message }) => message)).toEqual([why, expect.stringMatching(/^Revision .* failed on h1: /)]);
    const changes = await world.engine.object('shaky', 'h1', 'profile/of-shaky');
    expect(changes.history.filter(({ message }) => message !== undefined).length).toBeLessThanOrEqual(2);
  });

  test('a set waits until the containers of another set are ready, and then continues', async () => {
    write('base', container('c1', 'manage: { wait: [{ file: /ready, timeout: 20s }] }\n'));
    await hasStatus(world, 'base', 'failed');
    expect(set('base').hosts[0]?.error).toContain('the file /ready did not come');
    write('web', profileText('of-web', { 'user.note': 'new' }));
    await hasStatus(world, 'web', 'waiting');
    // Between two tries of base, the text includes why base failed.
    expect(set('web').hosts[0]?.error).toMatch(/^It waits until base is synced\./);
    expect(await world.profile(3, 'of-web')).toMatchObject({ 'user.note': 'of-web' });
    const { socketPath } = world.daemons[2] ?? { socketPath: '' };
    const put = await call({ socketPath }, 'POST', '/1.0/containers/c1/files?path=/ready', Buffer.from('yes'));
    expect(put.status).toBe(200);
    await hasStatus(world, 'base', 'synced');
    await hasStatus(world, 'web', 'synced');
    expect(await world.profile(3, 'of-web')).toMatchObject({ 'user.note': 'new' });
  });

  test('changes that restart or prune wait for the disruptive window, others are made at once', async () => {
    const { client } = world.daemons[1] ?? {};
    const live = async () => (await client?.get('container', 'c2').catch(() => undefined))?.metadata.config;
    const says = (): string => set('calm').hosts[0]?.error ?? '';
    write('calm', `${container('c2', '')}---\n${profiles('of-calm')}`);
    await until(async () => (await live()) !== undefined, waitMs);
    await hasStatus(world, 'calm', 'synced');
    const nested = container('c2', "config: { security.nesting: 'true', user.note: live }\n");
    write('calm', `${nested}---\n${profileText('of-calm', { 'user.note': 'new' })}`);
    await until(async () => (await world.profile(2, 'of-calm'))?.['user.note'] === 'new', waitMs);
    await hasStatus(world, 'calm', 'waiting');
    // Changes of the same object that need no restart are made at once.
    expect(await live()).toMatchObject({ 'user.note': 'live' });
    expect((await live())?.['security.nesting']).toBeUndefined();
    const c2 = () => world.engine.objects('calm').objects.find(({ address }) => address === 'container/c2');
    await until(() => c2()?.status === 'waiting', waitMs);
    expect(c2()?.message).toMatch(/would have to restart: config.security.nesting: it waits for a window/);
    expect(says()).toContain('Waits for a window for disruptive changes: container/c2 would have to restart');
    expect(set('calm').nextWindow).toMatch(new RegExp(`T${String(inSixHours).padStart(2, '0')}:00:00`));
    // Only pruning is left to do.
    write('calm', container('c2', ''));
    await until(() => says().includes('deleted when a window for disruptive changes opens'), waitMs);
    expect(set('calm').status).toBe('waiting');
    expect(await world.profile(2, 'of-calm')).toBeDefined();
    write('calm', nested);
    await world.stop();
    await world.start(config('{}'));
    await hasStatus(world, 'calm', 'synced');
    expect(await live()).toMatchObject({ 'security.nesting': 'true', 'user.note': 'live' });
    expect(await world.profile(2, 'of-calm')).toBeUndefined();
  });

  test('a suspension ends at its time', async () => {
    await hasStatus(world, 'web', 'synced');
    const before = await world.profile(3, 'of-web');
    const end = Date.now() + 1500;
    const request = { address: 'profile/of-web', reason: 'test', until: new Date(end).toISOString() };
    const made = await world.engine.suspend('web', request, 'ann');
    expect(set('web').suspensions).toEqual([made]);
    await world.meddle(3, 'of-web', { 'user.note': 'by hand' });
    await until(async () => (await world.profile(3, 'of-web'))?.['user.note'] === before?.['user.note'], waitMs);
    expect(Date.now()).toBeGreaterThanOrEqual(end);
    expect(set('web').suspensions).toEqual([]);
  });
});
