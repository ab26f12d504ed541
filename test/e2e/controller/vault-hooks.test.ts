// Hooks of a set whose secret in Vault is rotated: they run once for each rotation, as for a commit, and hold it back when they fail.
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import { loadRevision } from '../../../reconciler/controller/sets/load-revision.ts';
import { readHostsFile } from '../../../reconciler/manifest/hosts-file.ts';
import { VaultSecrets } from '../../../reconciler/manifest/secrets/vault-secrets.ts';
import { FakeVault } from '../../support/controller/vault.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let vault: FakeVault;
beforeEach(async () => {
  vault = await FakeVault.start();
  vault.secretIds.set('sid', 10_000);
  rotate('one');
  world = await openControllerWorld(2);
  await writeFile(join(world.folder, 'sid'), 'sid\n');
  await world.write('tools.yaml', tools);
  await world.write('web.yaml', profile('a'));
});
afterEach(async () => {
  await world.close();
  await vault.close();
});

const tools = `{ kind: storage_pool, name: p1, driver: dir }
---
{ kind: container, name: tool, state: running, source: { type: none }, devices: { root: { type: disk, path: /, pool: p1 } } }
`;
const profile = (note: string): string =>
  `kind: profile\nname: web\nconfig: { user.note: ${note}, user.password: { from_vault: "kv/shop/db#password" } }\n`;
const rotate = (password: string): void => vault.write('kv/shop/db', { password });
const hook = (name: string, command = 'true'): string =>
  `[{ name: ${name}, container: tool, command: ["${command}"] }]`;
const config = (before = 'true'): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
sets:
  - { name: tools, source: shop, path: tools.yaml }
  - name: web
    source: shop
    path: web.yaml
    dependsOn: [tools]
    retry: { first: 200ms, longest: 500ms }
    rollout: { batches: 1 }
    secrets: { vault: { address: "${vault.address}", appRole: { roleId: ${vault.roleId}, secretIdFile: sid }, interval: 1s } }
    hooks:
      beforeSync: ${hook('stop', before)}
      beforeHost: ${hook('drain')}
      afterHost: ${hook('reload')}
      afterSync: ${hook('tell')}
`;
const passwords = async (): Promise<readonly unknown[]> =>
  Promise.all([1, 2].map(async (host) => (await world.profile(host, 'web'))?.['user.password']));
const have = (...wanted: readonly string[]): Promise<unknown> =>
  until(async () => JSON.stringify(await passwords()) === JSON.stringify(wanted), waitMs);
const ran = (outcome = 'is done'): readonly string[] =>
  world.hub.lines({ limit: 5000 }).flatMap(({ message, host }) => {
    const [, name] = new RegExp(`^the hook (\\w+) \\(\\w+\\) ${outcome}`).exec(message) ?? [];
    return name === undefined ? [] : [`${name} ${host ?? ''}`];
  });
const oneRound = ['stop h1', 'drain h1', 'reload h1', 'drain h2', 'reload h2', 'tell h1'];
const rounds = (count: number): readonly string[] => Array.from({ length: count }, () => oneRound).flat();
const ranRounds = async (count: number): Promise<void> => {
  await until(() => ran().length >= count * oneRound.length, waitMs).catch(() => undefined);
  await hasStatus(world, 'web', 'synced');
  expect(ran()).toEqual(rounds(count));
};

test('each rotation runs the hooks once, in their order, and neither drift nor a restart runs them again', async () => {
  await world.start(config());
  await have('one', 'one');
  await ranRounds(1);
  rotate('two');
  await have('two', 'two');
  await ranRounds(2);
  rotate('one');
  await have('one', 'one');
  await ranRounds(3);
  await world.meddle(2, 'web', { 'user.password': 'by hand' });
  await have('one', 'one');
  await hasStatus(world, 'web', 'synced');
  expect(ran()).toEqual(rounds(3));
  await world.stop();
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  const { reads } = vault.counts;
  await until(() => vault.counts.reads > reads + 2, waitMs);
  expect(ran()).toEqual([]);
});

test('a hook that fails before a rotation keeps the old value on all hosts, until it succeeds', async () => {
  await world.start(config());
  await ranRounds(1);
  await world.stop();
  rotate('two');
  await world.start(config('false'));
  await until(() => ran('failed').length > 1, waitMs);
  expect(await passwords()).toEqual(['one', 'one']);
  await world.stop();
  await world.start(config());
  await have('two', 'two');
  await ranRounds(1);
});

const stateFile = (): string => join(world.folder, 'state/sets/web/state.json');
const storedState = async () =>
  JSON.parse(await readFile(stateFile(), 'utf8')) as {
    readonly hosts: Readonly<Record<string, { readonly text: string }>>;
    readonly hooks: { readonly revision: string };
  };
/** The digests that anybody could compute who guesses the secrets. */
async function guessed(): Promise<{ readonly text: string; readonly secrets: string }> {
  const { config: read } = await readConfig(join(world.folder, 'gantry.yaml'));
  const set = read?.sets.find(({ name }) => name === 'web') ?? expect.fail('there is no set');
  const { hosts } = await readHostsFile(join(world.folder, 'hosts.yaml'), new Map());
  const secrets = new VaultSecrets(set.vault ?? expect.fail('it has no Vault'));
  const signal = new AbortController().signal;
  const checkouts = join(world.folder, 'state/sources/shop/checkouts');
  const [folder = ''] = await readdir(checkouts);
  const loaded = await loadRevision(join(checkouts, folder), set, hosts, signal, secrets);
  await secrets.close();
  return { text: loaded.hosts.get('h1')?.text ?? '', secrets: loaded.secrets ?? '' };
}

test('the state has no digest that somebody without its key can compute; those of an older version are sealed and run no hook', async () => {
  await world.start(config());
  await ranRounds(1);
  await world.stop();
  const { text, secrets } = await guessed();
  const state = await readFile(stateFile(), 'utf8');
  expect([text, secrets].map((digest) => [digest.length, state.includes(digest)])).toEqual([
    [64, false],
    [64, false],
  ]);
  const { hosts, hooks, ...others } = await storedState();
  const older = {
    ...others,
    hosts: Object.fromEntries(Object.entries(hosts).map(([host, one]) => [host, { ...one, text }])),
    hooks: { ...hooks, revision: `${hooks.revision.split(' ')[0]} ${secrets}` },
  };
  await writeFile(stateFile(), JSON.stringify(older));
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  await until(async () => !(await readFile(stateFile(), 'utf8')).includes(secrets), waitMs);
  const { reads } = vault.counts;
  await until(() => vault.counts.reads > reads + 2, waitMs);
  expect(ran()).toEqual([]);
  expect(await storedState()).toMatchObject({ hosts, hooks });
  await world.stop();
  rotate('two');
  await world.start(config());
  await have('two', 'two');
  await ranRounds(1);
});

test('a state whose key is lost runs no hook again, says so, and follows the next rotation', async () => {
  await world.start(config());
  await ranRounds(1);
  await world.stop();
  await rm(join(world.folder, 'state.key'));
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  const { reads } = vault.counts;
  await until(() => vault.counts.reads > reads + 2, waitMs);
  await hasStatus(world, 'web', 'synced');
  expect(ran()).toEqual([]);
  const warned = (): number =>
    world.hub
      .lines({ limit: 5000 })
      .filter(({ set, message }) => set === 'web' && message.startsWith('another key sealed')).length;
  expect(warned()).toBe(1);
  rotate('two');
  await have('two', 'two');
  await ranRounds(1);
  await world.stop();
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  expect([ran(), warned()]).toEqual([[], 0]);
});
