// A running controller reloads a changed gantry.yaml and hosts file without interrupting unchanged parts.
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import { Reloader } from '../../../reconciler/controller/reload/reloader.ts';
import { listenFor, type Api } from '../../../reconciler/controller/serve.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  simpleConfig,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let reloader: Reloader;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  world = await openControllerWorld(3);
  await hosts(1, 2);
  await world.write('a.yaml', profileText('web', { 'user.note': 'a' }));
  await world.start();
  reloader = new Reloader({ engine: world.engine, hub: world.hub, lookMs: 50 });
  await hasStatus(world, 'web', 'synced');
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await world.close();
});

/** Writes the hosts file as editors do: a new file takes its place. */
async function hosts(...numbers: readonly number[]): Promise<void> {
  const lines = numbers.map((at) => `  - { name: h${at}, address: "${world.daemons[at - 1]?.host ?? ''}" }`);
  const file = join(world.folder, 'hosts.yaml');
  await writeFile(`${file}.new`, `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
  await rename(`${file}.new`, file);
}

const write = (text: string): Promise<void> => writeFile(join(world.folder, 'gantry.yaml'), text);
const problems = (): readonly string[] => world.engine.overview().controller.config?.problems ?? [];
const hostNames = (set: string) =>
  world.engine
    .overview()
    .sets.find(({ name }) => name === set)
    ?.hosts.map(({ host }) => host);

function watch(): void {
  const end = new AbortController();
  const watching = reloader.watch(end.signal);
  ends.push(async () => {
    end.abort();
    await watching;
  });
}

test('a host and a set that are added begin; the lease, suspensions and histories stay', async () => {
  watch();
  await world.engine.suspend('web', { reason: 'load test', address: 'profile/other' }, 'ann');
  const before = world.engine.history('web');
  const lost: string[] = [];
  world.hub.subscribe((event) => {
    if (event.type === 'log' && /another controller/.test(event.line.message)) lost.push(event.line.message);
  });
  await mkdir(join(world.folder, 'more'));
  await writeFile(join(world.folder, 'more', 'b.yaml'), profileText('db', { 'user.note': 'b' }));
  await write(`hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 200ms } }
  - { name: more, directory: { path: more, interval: 200ms } }
sets:
  - { name: web, source: shop }
  - { name: db, source: more, hosts: h3 }
`);
  // Until the host exists the set has an error, and nothing changes.
  await until(() => problems().length > 0, waitMs);
  expect(problems()[0]).toContain('the hosts of the set db');
  expect(world.engine.overview().sets.map(({ name }) => name)).toEqual(['web']);
  await hosts(1, 2, 3);
  await until(async () => (await world.profile(3, 'db'))?.['user.note'] === 'b', waitMs);
  await until(async () => (await world.profile(3, 'web'))?.['user.note'] === 'a', waitMs);
  await until(() => problems().length === 0, waitMs);
  await hasStatus(world, 'web', 'synced');
  await hasStatus(world, 'db', 'synced');
  expect(await world.profile(1, 'db')).toBeUndefined();
  expect(world.engine.history('web').slice(-before.length)).toEqual(before);
  const [run] = world.engine.history('web');
  expect(run).toMatchObject({ reason: 'hosts changed', outcome: 'done', changes: { create: 1 } });
  expect(world.engine.overview().sets[0]?.suspensions).toMatchObject([{ reason: 'load test' }]);
  expect(lost).toEqual([]);
});

test('a host that is removed keeps what it has, also when it held the lock', async () => {
  await hosts(2);
  await reloader.reload();
  expect(hostNames('web')).toEqual(['h2']);
  expect(world.engine.overview().hosts.map(({ name }) => name)).toEqual(['h2']);
  expect(world.engine.overview().controller.isActive).toBe(true);
  await world.write('a.yaml', profileText('web', { 'user.note': 'new' }));
  await until(async () => (await world.profile(2, 'web'))?.['user.note'] === 'new', waitMs);
  expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'a' });
});

test('the controller watches the new hosts file after a switch to one with the same hosts', async () => {
  const other = join(world.folder, 'other.yaml');
  await copyFile(join(world.folder, 'hosts.yaml'), other);
  await write(simpleConfig().replace('hosts.yaml', 'other.yaml'));
  await reloader.reload();
  watch();
  await writeFile(other, (await readFile(other, 'utf8')).replace(/ {2}- \{ name: h1.*\n/, ''));
  await until(() => hostNames('web')?.join() === 'h2', waitMs);
  expect(world.engine.history('web')).toHaveLength(1);
});

test('a removed set ends and destroys nothing; a changed one keeps its history', async () => {
  await write(simpleConfig().replace('name: web', 'name: other'));
  await reloader.reload();
  expect(world.engine.overview().sets.map(({ name }) => name)).toEqual(['other']);
  expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'a' });
  await write(simpleConfig('mode: report'));
  await reloader.reload();
  await hasStatus(world, 'web', 'synced');
  expect(world.engine.history('web').at(-1)).toMatchObject({ reason: 'commit', outcome: 'done' });
  await world.meddle(1, 'web', { 'user.note': 'mine' });
  await hasStatus(world, 'web', 'drifted');
  expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'mine' });
});

test('a ready controller stays ready while a set starts, and an unreachable host does not delay readiness', async () => {
  expect(world.engine.isReady()).toBe(true);
  const more = `  - { name: away, source: nowhere }
  - { name: broken, source: shop, path: b.yaml }
`;
  const text = simpleConfig().replace('sets:', '  - { name: nowhere, git: { url: "file:///nowhere" } }\nsets:') + more;
  await world.write('b.yaml', 'kind: profile\nname: [\n');
  await write(text);
  await reloader.reload();
  expect(world.engine.overview().sets.map(({ name }) => name)).toEqual(['web', 'away', 'broken']);
  expect(world.engine.isReady()).toBe(true);
  await world.stop();
  await world.start(text);
  await until(() => world.engine.isReady(), waitMs);
  expect(world.engine.overview().sources[1]?.error).toContain('nowhere');
});

test('a broken file and a change that needs a restart change nothing', async () => {
  await write('sets: [');
  await reloader.reload();
  expect(problems()[0]).toMatch(/gantry\.yaml:1:/);
  await write(`controller: { name: other }\n${simpleConfig('mode: report')}`);
  await reloader.reload();
  expect(problems()).toEqual([expect.stringContaining('controller.name changed, which needs a restart')]);
  expect(world.engine.configured.config.sets[0]?.mode).toBe('heal');
  await world.meddle(1, 'web', { 'user.note': 'b' });
  await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'a', waitMs);
  await write(simpleConfig());
  await reloader.reload();
  expect(problems()).toEqual([]);
  const errors = world.engine.logs({ level: 'error' }).map(({ message }) => message);
  expect(errors.filter((text) => text.includes('the old one stays in force'))).toHaveLength(2);
});

test('a running rollout ends as cancelled with its reason, and the changed set completes the revision', async () => {
  await write(simpleConfig('rollout: { batches: 1 }'));
  await reloader.reload();
  await hasStatus(world, 'web', 'synced');
  const bad = 'kind: container\nname: c1\nsource: { type: image, alias: nothing }\n';
  await world.write('a.yaml', `${profileText('web', { 'user.note': 'c' })}---\n${bad}`);
  await hasStatus(world, 'web', 'failed');
  expect(world.engine.operations()[0]).toMatchObject({ kind: 'sync', hosts: [{ host: 'h1' }] });
  expect(world.engine.history('web')[0]?.outcome).toBe('running');
  await write(simpleConfig('mode: report'));
  await Promise.all([reloader.reload(), reloader.reload()]);
  expect(world.engine.history('web').find(({ outcome }) => outcome === 'cancelled')?.message).toBe(
    'The configuration of the set changed.',
  );
  const taken = world.engine.logs().filter(({ message }) => message.startsWith('the configuration changed'));
  expect(taken.map(({ message }) => message)).toEqual(Array(2).fill('the configuration changed: set web changed'));
  await world.write('a.yaml', profileText('web', { 'user.note': 'd' }));
  for (const host of [1, 2]) await until(async () => (await world.profile(host, 'web'))?.['user.note'] === 'd', waitMs);
  await hasStatus(world, 'web', 'synced');
});

test('another token replaces the old one while the API goes on', async () => {
  const [first, second] = ['first-token-of-the-test-1', 'second-token-of-the-test'];
  await writeFile(join(world.folder, 'first'), first);
  await writeFile(join(world.folder, 'second'), second);
  const text = (file: string): string =>
    `controller: { listen: "127.0.0.1:0", auth: { tokens: [{ name: ann, role: view, file: ${file} }] } }\n${simpleConfig()}`;
  await world.stop();
  await world.start(text('first'));
  const { config } = await readConfig(join(world.folder, 'gantry.yaml'));
  if (config === undefined) throw new Error('the config has errors');
  const api: Api = await listenFor(config, world.engine, world.hub, '');
  ends.push(() => api.close());
  reloader = new Reloader({ engine: world.engine, hub: world.hub, api });
  const answer = async (token: string): Promise<number> =>
    (await fetch(`${api.url}/api/v1/overview`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await answer(first), await answer(second)]).toEqual([200, 401]);
  await write(text('missing'));
  await reloader.reload();
  expect(problems()[0]).toContain('The token of ann cannot be read');
  expect(await answer(first)).toBe(200);
  await write(text('second'));
  await reloader.reload();
  expect([await answer(first), await answer(second)]).toEqual([401, 200]);
});
