// Two teams on one controller: forbidden documents change nothing on the host, and a plan with them is stopped at each step.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const config = (kinds: string): string => `hosts: { file: hosts.yaml }
sources:
  - { name: repo, directory: { path: manifests, interval: 200ms } }
sets:
  - { name: shop, source: repo, path: shop, prune: {} }
  - { name: pay, source: repo, path: pay }
tenants:
  - { name: shop, sources: [{ name: repo, path: shop }], hosts: ["*"], kinds: ${kinds}, names: [shop-*] }
  - { name: pay, sources: [{ name: repo, path: pay }], hosts: ["*"], kinds: [profile], names: [pay-*] }
`;

let world: ControllerWorld;
const write = (set: string, text: string): void => writeFileSync(join(world.folder, 'manifests', set, 'a.yaml'), text);
const set = (name: string) => world.engine.overview().sets.find((one) => one.name === name);

beforeAll(async () => {
  world = await openControllerWorld(1);
  for (const name of ['shop', 'pay']) {
    mkdirSync(join(world.folder, 'manifests', name));
    write(name, profileText(`${name}-a`, { 'user.note': name }));
  }
  await world.start(config('[profile]'));
  for (const name of ['shop', 'pay']) await hasStatus(world, name, 'synced');
});
afterAll(() => world?.close());

test('a commit with an object of another team changes nothing, and the error names rule, object and file', async () => {
  write(
    'shop',
    `${profileText('shop-a', { 'user.note': 'new' })}---\n${profileText('pay-a', { 'user.note': 'shop' })}`,
  );
  await until(() => (set('shop')?.problems.length ?? 0) > 0, waitMs);
  expect(set('shop')?.problems).toEqual([
    expect.stringMatching(
      /^shop\/a\.yaml:\d+:\d+: the tenant shop may not deploy profile\/pay-a \(names\): the name pay-a fits none of shop-\*/,
    ),
  ]);
  expect(await world.profile(1, 'shop-a')).toMatchObject({ 'user.note': 'shop' });
  expect(await world.profile(1, 'pay-a')).toMatchObject({ 'user.note': 'pay' });
  write('shop', profileText('shop-a', { 'user.note': 'new' }));
  await until(async () => (await world.profile(1, 'shop-a'))?.['user.note'] === 'new', waitMs);
});

test('a stricter rule prevents the deletion of objects that are now outside it', async () => {
  write('shop', `${profileText('shop-a', {})}---\n${profileText('shop-b', {})}`);
  await until(async () => (await world.profile(1, 'shop-b')) !== undefined, waitMs);
  await hasStatus(world, 'shop', 'synced');
  await world.stop();
  write('shop', profileText('shop-a', {}));
  await world.start(config('[profile]').replace('names: [shop-*]', 'names: [shop-a]'));
  await hasStatus(world, 'shop', 'failed');
  expect(set('shop')?.hosts[0]?.error).toContain(
    'the tenant shop may not do this (names): the name shop-b fits none of shop-a',
  );
  expect(await world.profile(1, 'shop-b')).toBeDefined();
});
