// A set with secrets of Vault: it logs in as gantry.yaml says, rolls rotated secrets out, and repairs drift also while Vault is away.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeVault } from '../../support/controller/vault.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { textsBelow } from '../../support/texts-below.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let vault: FakeVault;
beforeEach(async () => {
  vault = await FakeVault.start({ ttlS: 2 });
  vault.secretIds.set('sid', 10_000);
  vault.write('kv/shop/db', { password: 'hidden-one' });
  world = await openControllerWorld(3);
  await writeFile(join(world.folder, 'sid'), 'sid\n');
  await world.write('web.yaml', profile('a'));
});
afterEach(async () => {
  await world.close();
  await vault.close();
});

const profile = (note: string): string =>
  `kind: profile\nname: web\nconfig: { user.note: ${note}, user.password: { from_vault: "kv/shop/db#password" } }\n`;
const config = (more = ''): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
sets:
  - name: web
    source: shop
    retry: { first: 200ms, longest: 500ms }
    secrets: { vault: { address: "${vault.address}", appRole: { roleId: ${vault.roleId}, secretIdFile: sid }, interval: 1s } }
${more}`;
const passwords = async (): Promise<readonly unknown[]> =>
  Promise.all([1, 2, 3].map(async (host) => (await world.profile(host, 'web'))?.['user.password']));
const have = (...wanted: readonly string[]): Promise<unknown> =>
  until(async () => JSON.stringify(await passwords()) === JSON.stringify(wanted), waitMs);

test('a rotated secret is rolled out batch by batch, and nothing that the controller keeps or tells has a value', async () => {
  await world.start(config('    rollout: { batches: 1, canary: 1 }\n'));
  await hasStatus(world, 'web', 'synced');
  await have('hidden-one', 'hidden-one', 'hidden-one');
  const revision = world.engine.overview().sets[0]?.revision;
  const runs = world.engine.history('web').length;
  vault.write('kv/shop/db', { password: 'hidden-two' });
  await have('hidden-two', 'hidden-two', 'hidden-two');
  await hasStatus(world, 'web', 'synced');
  const [newest] = world.engine.history('web');
  expect(world.engine.history('web')).toHaveLength(runs + 1);
  expect(newest).toMatchObject({ reason: 'secret rotated', revision, outcome: 'done' });
  expect(newest?.hosts).toEqual(['h1', 'h2', 'h3']);
  expect(world.engine.drift('web')).toEqual([]);
  const told = JSON.stringify([world.hub.lines({ limit: 1000 }), world.engine.history('web'), world.engine.overview()]);
  const notes = await Promise.all(
    world.daemons.map(async ({ client }) => JSON.stringify((await client.server()).metadata.config)),
  );
  for (const text of [told, ...notes, ...textsBelow(join(world.folder, 'state'))])
    expect(text).not.toMatch(/hidden-|hvs\./);
  await world.stop();
  expect(vault.living).toEqual([]);
});

test('a rotated secret of a suspended set waits for the end of the suspension', async () => {
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  const freeze = await world.engine.suspend('web', { reason: 'freeze' }, 'ann');
  const { reads } = vault.counts;
  vault.write('kv/shop/db', { password: 'hidden-two' });
  await until(() => vault.counts.reads > reads + 3, waitMs);
  expect(await passwords()).toEqual(['hidden-one', 'hidden-one', 'hidden-one']);
  await world.engine.resume('web', { id: freeze.id }, 'ann');
  await have('hidden-two', 'hidden-two', 'hidden-two');
});

test('a Vault that is away keeps hosts as they are, and a new controller goes on when it is back', async () => {
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  vault.isSealed = true;
  await world.meddle(1, 'web', { 'user.note': 'by hand' });
  await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'a', waitMs);
  await world.stop();
  await world.write('web.yaml', profile('b'));
  await world.start(config());
  const problems = () => world.engine.overview().sets[0]?.problems ?? [];
  await until(() => problems().some((one) => one.includes('Vault is sealed')), waitMs);
  expect((await world.profile(1, 'web'))?.['user.note']).toBe('a');
  vault.isSealed = false;
  await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'b', waitMs);
  await hasStatus(world, 'web', 'synced');
  expect(problems()).toEqual([]);
});

test('gantry.yaml names one login, and https for another machine', async () => {
  const start = (secrets: string): Promise<unknown> =>
    world.start(`hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests } }]
sets: [{ name: web, source: shop, secrets: { vault: { ${secrets} } } }]
`);
  await expect(start('address: "https://v.example.org"')).rejects.toThrow(
    'needs one of tokenFile, appRole, jwt and kubernetes, has 0',
  );
  await expect(start('address: "https://v.example.org", tokenFile: t, kubernetes: { role: r }')).rejects.toThrow(
    'has 2',
  );
  await expect(start('address: "http://v.example.org", tokenFile: t')).rejects.toThrow('must begin with https://');
});
