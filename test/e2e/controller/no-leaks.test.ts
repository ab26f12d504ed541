// Marked secrets of SOPS, Vault and a hook go through commits, failures, drift, a rotation and a rollback. Then they are nowhere but on the hosts,
// also in no view of the page in Chromium.
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Overview } from '../../../reconciler/controller/contract/index.ts';
import { endpoints } from '../../../reconciler/controller/http/endpoints.ts';
import { cli } from '../../support/cli/io.ts';
import { buildPrograms } from '../../support/cli/programs.ts';
import { leaksBelow, leaksIn, leaksInFile, mark, ProcessWatch } from '../../support/controller/leaks.ts';
import { killed, listening, spawnController, type ControllerProcess } from '../../support/controller/process.ts';
import { ageKey, canEncrypt, sopsText, type AgeKey } from '../../support/controller/sops.ts';
import { FakeVault } from '../../support/controller/vault.ts';
import { openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { startCollector, type Collector } from '../../support/daemons/collector.ts';
import { Repository } from '../../support/git/repository.ts';
import { isLongRun } from '../../support/left-out.ts';
import { buildPage, chromiumPath, launchChromium, noChromium } from '../../support/page/browser.ts';
import { knownPlaces } from '../../support/page/openings.ts';
import { shownOn, textsOf, viewsOf, type Shown } from '../../support/page/shown.ts';
import { until } from '../../support/until.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

const token = `${mark}-token-of-forty-characters-for-the-tests`;
const secretId = `${mark}-secret-id`;
let world: ControllerWorld;
let vault: FakeVault;
let collector: Collector;
let repository: Repository;
let running: ControllerProcess;
let watch: ProcessWatch;
let url = '';
let browser: Browser | undefined;
let key: AgeKey;
const notices: string[] = [];
const receiver = createServer((request, response) => {
  void text(request).then((body) => notices.push(`${JSON.stringify(request.headers)} ${body}`));
  response.end();
});
const streamed: string[] = [];
const ended = new AbortController();

beforeAll(async () => {
  if (!canEncrypt) return;
  key = ageKey();
  vault = await FakeVault.start();
  vault.secretIds.set(secretId, 10_000);
  vault.write('kv/shop/db', { password: `${mark}-vault-one` });
  collector = await startCollector();
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  world = await openControllerWorld(2);
  repository = new Repository(world.folder);
  await writeFile(join(world.folder, 'age.txt'), key.secret, { mode: 0o600 });
  await writeFile(join(world.folder, 'sid'), secretId, { mode: 0o600 });
  await writeFile(join(world.folder, 'token'), token, { mode: 0o600 });
  await writeFile(join(world.folder, 'gantry.yaml'), config());
  repository.commit({ 'web.yaml': web('one'), 'secrets.enc': sops('one') });
  const { gantry, root } = buildPrograms();
  if (chromiumPath !== undefined) {
    const page = await buildPage();
    cpSync(page, join(root, 'dist/web'), { recursive: true });
    rmSync(page, { recursive: true });
    browser = await launchChromium();
  }
  running = spawnController(gantry, join(world.folder, 'gantry.yaml'));
  watch = new ProcessWatch(running.child.pid ?? expect.fail('it did not start'));
  url = await listening(running);
  void collect().catch(() => undefined);
}, 240_000);
afterAll(async () => {
  ended.abort();
  await browser?.close();
  watch?.end();
  if (running !== undefined) await killed(running.child);
  await world?.close();
  await vault?.close();
  await collector?.close();
  receiver.closeAllConnections();
  receiver.close();
});

const sops = (count: string): string => sopsText({ password: `${mark}-sops-${count}` }, key);
/** The hook prints the environment of the container, in which the password of Vault is. */
const web = (note: string, more = ''): string => `{ kind: storage_pool, name: p1, driver: dir }
---
kind: container
name: tool
state: running
source: { type: none }
devices: { root: { type: disk, path: /, pool: p1 } }
config: { environment.DB: { from_vault: "kv/shop/db#password" }, environment.MAIL: { from_sops: "secrets.enc#password" } }
---
kind: profile
name: web
config: { user.note: ${note}, user.password: { from_vault: "kv/shop/db#password" }, user.mail: { from_sops: "secrets.enc#password" } }
${more}`;
const config = (): string => `controller:
  stateDir: state
  listen: 127.0.0.1:0
  console: true
  auth: { tokens: [{ name: ann, role: operate, file: token }] }
tracing: { endpoint: "${collector.url}" }
hosts: { file: hosts.yaml }
sources: [{ name: site, git: { url: "file://${repository.bare}", branch: main, interval: 200ms } }]
notifications:
  - { name: all, sets: ["*"], on: [failed, synced, drifted, healed], repeat: 1s, webhook: { url: "http://127.0.0.1:${(receiver.address() as AddressInfo).port}/" } }
sets:
  - name: web
    source: site
    path: web.yaml
    retry: { first: 200ms, longest: 500ms }
    secrets:
      ageKeyFile: age.txt
      vault: { address: "${vault.address}", appRole: { roleId: ${vault.roleId}, secretIdFile: sid }, interval: 1s }
    hooks: { afterHost: [{ name: show, container: tool, command: [env] }] }
`;

const call = (path: string, method = 'GET', body?: object): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
async function collect(): Promise<void> {
  const { body } = await fetch(`${url}/api/v1/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: ended.signal,
  });
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) streamed.push(chunk);
}
const set = async () => ((await (await call('/api/v1/overview')).json()) as Overview).sets[0] ?? expect.fail('no set');
const becomes = (status: string): Promise<unknown> =>
  until(async () => (await set()).status === status, waitMs).catch(async () =>
    expect.fail(`it is not ${status}: ${JSON.stringify(await set())}`),
  );
const onHosts = (name: string, value: string): Promise<unknown> =>
  until(async () => {
    const found = await Promise.all([1, 2].map((host) => world.profile(host, 'web')));
    return found.every((profile) => profile?.[name] === value);
  }, waitMs).catch(async () => expect.fail(`${name} is not ${value}: ${JSON.stringify(await set())} ${running.log()}`));
const used = { set: 'web', host: 'h1', container: 'tool', objects: ['profile/web', 'container/tool'], branch: 'main' };
/** Empty without Chromium. */
const shownNow = async (): Promise<Shown> =>
  browser === undefined ? new Map() : shownOn(browser, { url, token, ...used });
const verb = (...words: readonly string[]) =>
  cli(['controller', ...words, '--url', url, '--token-file', join(world.folder, 'token')]);

test.runIf(canEncrypt)(
  'a secret of SOPS, of Vault and of the output of a hook is in nothing that the controller keeps, says or sends',
  async () => {
    const told: string[] = [];
    await onHosts('user.password', `${mark}-vault-one`);
    await becomes('synced');
    const first = (await set()).revision ?? '';
    // A new value of SOPS by commit, one of Vault by rotation.
    repository.commit({ 'secrets.enc': sops('two') });
    await onHosts('user.mail', `${mark}-sops-two`);
    await becomes('synced');
    vault.write('kv/shop/db', { password: `${mark}-vault-two` });
    await onHosts('user.password', `${mark}-vault-two`);
    await becomes('synced');
    // Drift, which differs from the declared value.
    await world.meddle(1, 'web', { 'user.password': 'by hand' });
    await onHosts('user.password', `${mark}-vault-two`);
    // Values that the manifests, and then the host, refuse with a message that quotes them.
    repository.commit({
      'web.yaml': web(
        'bad',
        '---\nkind: profile\nname: bad\nconfig: { limits.memory: { from_vault: "kv/shop/db#password" } }\n',
      ),
    });
    await until(async () => (await set()).problems.length > 0, waitMs);
    told.push(JSON.stringify(await set()));
    repository.commit({
      'web.yaml': web(
        'refused',
        '---\nkind: profile\nname: bad\ndevices: { data: { type: disk, path: /data, pool: { from_vault: "kv/shop/db#password" }, source: v } }\n',
      ),
    });
    await until(
      async () => ['failed', 'degraded'].includes((await set()).status) || (await set()).problems.length > 0,
      waitMs,
    );
    told.push(JSON.stringify(await set()));
    const at = '?host=h1&address=profile%2Fweb';
    for (const words of [
      ['diff', 'web'],
      ['history', 'web'],
      ['logs', 'web'],
      ['explain', 'web'],
      ['plan', 'web', '--branch', 'main'],
      ['status', 'web'],
    ]) {
      const { stdout, stderr } = await verb(...words);
      told.push(`${words.join(' ')}: ${stdout}${stderr}`);
    }
    const whileBroken = isLongRun ? await shownNow() : new Map<string, string>();
    repository.commit({ 'web.yaml': web('good') });
    await onHosts('user.note', 'good');
    await becomes('synced');
    expect((await call('/api/v1/sets/web/rollback', 'POST', { revision: first, reason: 'back' })).status).toBe(202);
    await onHosts('user.mail', `${mark}-sops-one`);
    expect((await call('/api/v1/sets/web/resume', 'POST', {})).status).toBe(200);
    await onHosts('user.mail', `${mark}-sops-two`);
    await becomes('synced');

    const shown = new Map([
      ...whileBroken,
      ...[...(await shownNow())].map(([what, text]) => [`${what}, later`, text] as const),
    ]);
    const asked = new Map<string, number>();
    const parts = { ':set': 'web', ':host': 'h1', ':name': 'tool' };
    const query: Readonly<Record<string, string>> = {
      object: at,
      search: '?words=web',
      files: '?path=%2F',
      file: '?path=%2F',
    };
    for (const { id, method, path, mode } of endpoints) {
      if (method !== 'GET' || (mode !== 'json' && mode !== 'text')) continue;
      const filled = Object.entries(parts).reduce<string>((one, [name, value]) => one.replace(name, value), path);
      const answer = await call(`${filled}${query[id] ?? ''}`);
      asked.set(id, answer.status);
      told.push(`${id}: ${await answer.text()}`);
    }
    for (const path of ['/', '/index.html', '/sets/web']) told.push(`page ${path}: ${await (await call(path)).text()}`);
    for (const id of [
      'overview',
      'objects',
      'object',
      'drift',
      'history',
      'logs',
      'audit',
      'timeline',
      'metrics',
      'containers',
    ])
      expect([id, asked.get(id)]).toEqual([id, 200]);
    const backup = join(world.folder, 'state.backup');
    expect(await cli(['controller', 'backup', backup, '-c', join(world.folder, 'gantry.yaml')])).toMatchObject({
      code: 0,
    });
    const notes = await Promise.all(
      world.daemons.map(async ({ client }) => JSON.stringify((await client.server()).metadata)),
    );
    await until(() => collector.spans.length > 0, waitMs);
    const { leaks, programs } = watch.end();
    expect(programs.some((program) => program.endsWith('git'))).toBe(true);
    const logged = `${running.log()}${running.out()}`;
    const hooks = told.find((one) => one.startsWith('logs: ')) ?? '';
    // The search finds what is there: the hook did print the values, and each channel has news of the set.
    expect(hooks).toContain('DB=');
    if (browser !== undefined)
      expect([...shown.values()].filter((text) => text.includes('user.password')).length).toBeGreaterThan(3);
    for (const channel of [streamed, notices, told]) expect(channel.join('')).toContain('web');
    expect([
      ...told.flatMap((one) => leaksIn(one.split(':')[0] ?? '', one)),
      ...[...shown].flatMap(([what, text]) => leaksIn(what, text)),
      ...leaksIn('log', logged),
      ...leaksIn('events', streamed.join('')),
      ...leaksIn('notifications', notices.join('\n')),
      ...leaksIn('traces', JSON.stringify(collector.spans)),
      ...notes.flatMap((one) => leaksIn('notes on a host', one)),
      ...leaksBelow(join(world.folder, 'state')),
      ...leaksInFile(backup),
      ...leaks,
    ]).toEqual([]);
  },
  400_000,
);

test('every view of a set, a host and a container is searched', () => {
  const { rooms, parts } = knownPlaces();
  const places = viewsOf(used).map(({ place }) => place);
  const missing = [
    ...rooms.filter((room) => !places.some((place) => place.startsWith(`#/${room}`))),
    ...parts.filter((part) => !places.includes(`#/sets/web/${part}`)),
  ];
  expect([rooms.length > 5, parts.length > 3, missing]).toEqual([true, true, []]);
});

test.runIf(canEncrypt && chromiumPath !== undefined)(
  'a secret in an attribute, a field or the storage of the page is found',
  async () => {
    const page = (await browser?.newPage()) ?? expect.fail('there is no browser');
    await page.goto(url);
    await page.evaluate(`document.body.innerHTML = '<details><p title="${mark}-a">x</p></details><input>';
    document.querySelector('input').value = '${mark}-b';
    localStorage.setItem('x', '${mark}-c')`);
    const found = (await textsOf(page)).flatMap(([what, text]) => leaksIn(what, text).map(() => what));
    expect(found).toEqual(['document and attributes', 'fields', 'storage']);
    await page.close();
  },
);
