// Generators of a running controller: directories of a source become sets, and a removed one is deleted only with prune.
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
afterEach(() => world.close());

const config = (more: string): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
generators:
  - name: apps
    directories: { source: shop, include: [apps/*] }
    set: { name: app-$name, source: shop, path: $path, variables: { NAME: $name } }
${more}`;
const names = (): readonly string[] => world.engine.overview().sets.map(({ name }) => name);
const problems = (): readonly string[] => world.engine.overview().controller.config?.problems ?? [];

/** Adds a complete directory atomically. */
async function app(name: string, text = profileText(`of-${name}`, { 'user.note': 'a' })): Promise<void> {
  const draft = join(world.folder, `draft-${name}`);
  await mkdir(draft, { recursive: true });
  await writeFile(join(draft, 'a.yaml'), text);
  await mkdir(join(world.folder, 'manifests/apps'), { recursive: true });
  await rename(draft, join(world.folder, 'manifests/apps', name));
}
const remove = (name: string): Promise<void> => rm(join(world.folder, 'manifests/apps', name), { recursive: true });
const isThere = async (name: string): Promise<boolean> => (await world.profile(1, `of-${name}`)) !== undefined;

test('a directory becomes a set; without prune its objects stay when it goes, with prune they go too', async () => {
  world = await openControllerWorld(1);
  await app('a');
  await app('b');
  await world.start(config(''));
  await until(() => names().length === 2, waitMs);
  await hasStatus(world, 'app-a', 'synced');
  await hasStatus(world, 'app-b', 'synced');
  await app('c');
  await until(() => names().includes('app-c'), waitMs);
  await hasStatus(world, 'app-c', 'synced');
  await remove('c');
  await until(() => !names().includes('app-c'), waitMs);
  expect(await isThere('c')).toBe(true);

  await world.stop();
  await world.start(config('    prune: {}\n'));
  await hasStatus(world, 'app-b', 'synced');
  await remove('b');
  await until(async () => !(await isThere('b')), waitMs);
  await until(() => names().join() === 'app-a', waitMs);
  expect(await isThere('a')).toBe(true);
  // Objects outside the set stay.
  expect(await isThere('c')).toBe(true);
  await until(
    () =>
      stat(join(world.folder, 'state/sets/app-b')).then(
        () => false,
        () => true,
      ),
    waitMs,
  );
});

test('a controller that ends while a set leaves finishes that after its next start', async () => {
  world = await openControllerWorld(1);
  await app('a');
  await app('b');
  await world.start(config('    prune: {}\n'));
  await until(() => names().length === 2, waitMs);
  await hasStatus(world, 'app-b', 'synced');
  await world.engine.suspend('app-b', { reason: 'look first' }, 'ann');
  await remove('b');
  await until(() => world.hub.lines().some(({ message }) => /set app-b changed/.test(message)), waitMs);
  expect(await isThere('b')).toBe(true);
  await world.stop();
  await world.start(config('    prune: {}\n'));
  await hasStatus(world, 'app-b', 'suspended');
  expect(await isThere('b')).toBe(true);
  await world.engine.resume('app-b', {}, 'ann');
  await until(async () => !(await isThere('b')) && names().join() === 'app-a', waitMs);
});

test('hostile directories cannot take a name or tenant or affect another set, and a mistake removes nothing', async () => {
  world = await openControllerWorld(1);
  await app('a');
  await world.start(config('    prune: { max: 100% }\n    max: 3\n'));
  await until(() => names().join() === 'app-a', waitMs);
  await hasStatus(world, 'app-a', 'synced');
  // An invalid set name is skipped, and meanwhile no missing set counts as removed.
  await app('Bad Name');
  await until(() => problems().some((text) => text.includes('Bad Name')), waitMs);
  await remove('a');
  await app('b');
  await until(() => names().includes('app-b'), waitMs);
  expect(names()).toContain('app-a');
  expect(await isThere('a')).toBe(true);
  // More than max: nothing changes.
  for (const name of ['c', 'd', 'e']) await app(name);
  await until(() => problems().some((text) => text.includes('max is 3')), waitMs);
  expect([...names()].sort()).toEqual(['app-a', 'app-b']);
  // Without mistakes, the missing set counts as removed.
  for (const name of ['Bad Name', 'c', 'd', 'e']) await remove(name);
  await until(async () => !(await isThere('a')) && names().join() === 'app-b', waitMs);
  expect(problems()).toEqual([]);
});
