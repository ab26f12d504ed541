// Objects that cannot be planned on two hosts: an object with an undefined name beside sound ones, and a set whose base is not there yet.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SetStatus } from '../../../reconciler/controller/contract/index.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  statusOf,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const config = `hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 200ms } }
sets:
  - { name: mixed, source: shop, path: mixed, interval: 1s }
  - { name: whole, source: shop, path: whole, allow: { partial: false } }
  - { name: renamed, source: shop, path: renamed, interval: 1s, prune: { max: 100%, data: true } }
  - { name: base, source: shop, path: base, retry: { first: 60s } }
  - { name: web, source: shop, path: web, dependsOn: [base], retry: { first: 60s } }
`;

const names = ['mixed', 'whole', 'renamed', 'base', 'web'] as const;
type Name = (typeof names)[number];
let world: ControllerWorld;
const write = (set: Name, text: string): void => writeFileSync(join(world.folder, 'manifests', set, 'a.yaml'), text);
const set = (name: Name): SetStatus => statusOf(world, name);
const objects = (name: Name) =>
  Object.fromEntries(
    world.engine
      .objects(name, { host: 'h1' })
      .objects.map(({ address, status, message }) => [address, { status, message }]),
  );
const note = (name: string, text = 'new'): string => profileText(name, { 'user.note': text });
const broken = (name: string): string => `${profileText(name, {})}devices: { eth0: { type: nic, network: nosuch } }\n`;
const user = (name: string, profile: string): string =>
  `kind: container\nname: ${name}\nprofiles: [${profile}]\nsource: { type: none }\n`;
const rooted = `devices: { root: { type: disk, path: /, pool: p0 } }
---
kind: storage_pool
name: p0
driver: dir
`;
const root = `${profileText('root', {})}devices: { root: { type: disk, path: /, pool: p1 } }
---
kind: storage_pool
name: p1
driver: dir
`;
const all = (...texts: readonly string[]): string => texts.join('---\n');

beforeAll(async () => {
  world = await openControllerWorld(2);
  for (const name of names) {
    mkdirSync(join(world.folder, 'manifests', name));
    write(name, note(`of-${name}`));
  }
  await world.start(config);
  for (const name of names) await hasStatus(world, name, 'synced');
});
afterAll(() => world?.close());

describe('an object with an undefined name', () => {
  test('is listed as failed, its dependents wait, and the rest of the set continues', async () => {
    write('mixed', all(note('of-mixed', 'newer'), broken('bad'), `${user('c1', 'bad')}${rooted}`, note('more')));
    await hasStatus(world, 'mixed', 'failed');
    await until(() => objects('mixed')['profile/more']?.status === 'synced', waitMs);
    const bad = objects('mixed')['profile/bad'];
    expect(bad).toMatchObject({ status: 'failed' });
    expect(bad?.message).toMatch(/^profile\/bad: the network nosuch is neither declared nor on the server.*: correct/);
    expect(objects('mixed')['container/c1']).toEqual({
      status: 'waiting',
      message: 'container/c1 needs profile/bad, which has an error',
    });
    for (const host of [1, 2]) {
      expect(await world.profile(host, 'of-mixed')).toMatchObject({ 'user.note': 'newer' });
      expect(await world.profile(host, 'bad')).toBeUndefined();
    }
    const { hosts } = set('mixed');
    expect(hosts[0]?.error).toMatch(/^Refused: profile\/bad: the network nosuch is neither declared nor on the server/);
    expect(hosts[0]?.objects).toMatchObject({ total: 5, synced: 3, failed: 1 });
    expect(set('mixed').message).toMatch(/failed on h1, h2: Refused: profile\/bad: the network nosuch/);
  });

  test('is created when the name is defined, and no failure remains', async () => {
    write('mixed', all(note('of-mixed', 'newer'), note('bad'), note('more')));
    await hasStatus(world, 'mixed', 'synced');
    expect(set('mixed').message).toBeUndefined();
    expect(await world.profile(2, 'bad')).toBeDefined();
  });

  test('holds the whole set back where allow.partial is false', async () => {
    write('whole', all(note('of-whole', 'newer'), broken('bad-too')));
    await hasStatus(world, 'whole', 'failed');
    await until(() => set('whole').hosts[0]?.error?.includes('profile/bad-too: the network nosuch') === true);
    expect(await world.profile(1, 'of-whole')).toMatchObject({ 'user.note': 'new' });
    write('whole', note('of-whole'));
    await hasStatus(world, 'whole', 'synced');
  });
});

test('a container stays while the one that takes its place has an error, and goes after it', async () => {
  const place = `${profileText('place', {})}devices: { root: { type: disk, path: /, pool: p2 } }
---
kind: storage_pool
name: p2
driver: dir
`;
  const exists = async (name: string): Promise<boolean> =>
    world.daemons[0]?.client.get('container', name).then(
      () => true,
      () => false,
    ) ?? false;
  write('renamed', all(user('before', 'place'), place));
  await until(() => exists('before'), waitMs);
  await hasStatus(world, 'renamed', 'synced');
  write('renamed', all(user('after', 'bad-place'), broken('bad-place'), note('beside'), place));
  await until(async () => (await world.profile(1, 'beside')) !== undefined, waitMs);
  await hasStatus(world, 'renamed', 'failed');
  expect([await exists('before'), await exists('after')]).toEqual([true, false]);
  write('renamed', all(user('after', 'place'), place));
  await hasStatus(world, 'renamed', 'synced');
  expect([await exists('before'), await exists('after')]).toEqual([false, true]);
});

describe('a set whose base is not there yet', () => {
  test('waits, without a failure, and is planned as soon as its base is there', async () => {
    write('base', all(note('of-base'), broken('root')));
    await hasStatus(world, 'base', 'failed');
    const seen = new Set<string>();
    const stop = world.engine.subscribe((event) => {
      if (event.type === 'set' && event.set.name === 'web') seen.add(event.set.status);
    });
    write('web', all(note('of-web'), user('w1', 'root')));
    await hasStatus(world, 'web', 'waiting');
    const why = /^It waits until base is synced\. base failed on h1: Refused: profile\/root: the network nosuch/;
    await until(() => why.test(set('web').hosts[0]?.error ?? ''));
    expect(objects('web')['container/w1']).toMatchObject({ status: 'waiting' });
    write('base', all(note('of-base'), root));
    await hasStatus(world, 'base', 'synced');
    await hasStatus(world, 'web', 'synced');
    stop();
    expect([...seen]).not.toContain('failed');
    expect(await world.daemons[1]?.client.get('container', 'w1')).toBeDefined();
  });

  test('is created with its base at the first start of a controller, without an error in the log', async () => {
    const fresh = await openControllerWorld(2);
    onTestFinished(() => fresh.close());
    for (const name of names) mkdirSync(join(fresh.folder, 'manifests', name));
    const put = (name: Name, text: string): void =>
      writeFileSync(join(fresh.folder, 'manifests', name, 'a.yaml'), text);
    put('mixed', note('of-mixed'));
    put('whole', note('of-whole'));
    put('renamed', note('of-renamed'));
    put('base', root);
    put('web', user('w1', 'root'));
    await fresh.start(config);
    await hasStatus(fresh, 'web', 'synced');
    expect(fresh.hub.lines({ level: 'error' })).toEqual([]);
    expect(fresh.engine.history('web').map(({ outcome }) => outcome)).toEqual(['done']);
  });
});
