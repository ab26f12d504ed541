// Hooks around a sync, and metric checks between batches: a failure stops the revision and gives the reason.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
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

let world: ControllerWorld;
afterEach(() => world.close());

let value = '0';
let queries: string[] = [];
const prometheus = createServer((request, response) => {
  queries.push(new URL(request.url ?? '', 'http://localhost').searchParams.get('query') ?? '');
  if (value === '') {
    response.writeHead(503).end();
    return;
  }
  const result = [{ metric: {}, value: [1, value] }];
  response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }));
});
beforeAll(async () => {
  prometheus.listen(0, '127.0.0.1');
  await once(prometheus, 'listening');
});
afterAll(() => {
  prometheus.closeAllConnections();
  prometheus.close();
});

const tools = `kind: storage_pool
name: p1
driver: dir
---
kind: container
name: tool
state: running
source: { type: none }
devices: { root: { type: disk, path: /, pool: p1 } }
`;
const config = (more: string): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
sets:
  - { name: tools, source: shop, path: tools.yaml }
  - name: web
    source: shop
    path: web.yaml
    dependsOn: [tools]
    retry: { first: 200ms, longest: 500ms }
${more}`;
const set = (): SetStatus => statusOf(world, 'web');
const notes = (): Promise<readonly (string | undefined)[]> =>
  Promise.all(world.daemons.map(async (_, at) => (await world.profile(at + 1, 'web'))?.['user.note']));
const ran = (): readonly string[] =>
  world.hub
    .lines({ limit: 5000 })
    .flatMap(({ message, host }) =>
      /^the hook .* is done/.test(message) ? [`${message.split('\n')[0] ?? ''} ${host ?? ''}`] : [],
    );

async function opened(hosts: number, more: string): Promise<void> {
  world = await openControllerWorld(hosts);
  await world.write('tools.yaml', tools);
  await world.write('web.yaml', profileText('web', { 'user.note': 'a' }));
  await world.start(config(more));
}

test('hooks run once per revision, in order, with variables about the sync, and not again after a restart', async () => {
  const hooks = `    hooks:
      beforeSync: [{ name: migrate, container: tool, command: [sh, -c, "echo to $GANTRY_REVISION of $GANTRY_SET"] }]
      beforeHost: [{ name: drain, container: tool, command: ["true"] }]
      afterHost: [{ name: fill, container: tool, command: ["true"], hosts: h2 }]
      afterSync: [{ name: tell, container: tool, command: ["true"] }, { name: later, container: none, command: ["true"], optional: true }]
`;
  await opened(2, hooks);
  await hasStatus(world, 'web', 'synced');
  await until(() => ran().some((line) => line.includes('tell')), waitMs);
  expect([...ran()].sort()).toEqual([
    'the hook drain (beforeHost) is done h1',
    'the hook drain (beforeHost) is done h2',
    'the hook fill (afterHost) is done h2',
    'the hook migrate (beforeSync) is done h1',
    'the hook tell (afterSync) is done h1',
  ]);
  expect(ran()[0]).toContain('migrate');
  expect(ran().at(-1)).toContain('tell');
  const file = join(world.folder, 'state/sets/web/hooks.ndjson');
  await until(async () => (await readFile(file, 'utf8')).includes('"left-out"'), waitMs);
  expect(await readFile(file, 'utf8')).toContain(`to ${set().revision ?? ''} of web`);
  await world.stop();
  await world.start(config(hooks));
  await hasStatus(world, 'web', 'synced');
  await world.meddle(1, 'web', { 'user.note': 'x' });
  await until(async () => (await notes()).join() === 'a,a', waitMs);
  expect(ran()).toEqual([]);
});

test('hooks around waves run between them, and one that fails holds the later waves back', async () => {
  const waves = (note: string): string =>
    [-1, 0, 2]
      .map((wave) => `${profileText(`w${wave}`, { 'user.note': note })}manage: { wave: ${wave} }\n`)
      .join('---\n');
  const hooks = (command: string): string => `    hooks:
      beforeHost: [{ name: drain, container: tool, command: ["true"] }]
      beforeWave: [{ name: check, wave: 2, container: tool, command: ["true"] }]
      afterWave:
        - { name: migrate, wave: 0, container: tool, command: [sh, -c, "echo $GANTRY_HOOK $GANTRY_WAVE; ${command}"] }
        - { name: early, wave: -1, container: tool, command: ["true"] }
        - { name: last, wave: 9, container: tool, command: ["true"] }
      afterHost: [{ name: fill, container: tool, command: ["true"] }]
`;
  const noted = (): Promise<readonly (string | undefined)[]> =>
    Promise.all(['w-1', 'w0', 'w2'].map(async (name) => (await world.profile(1, name))?.['user.note']));
  world = await openControllerWorld(1);
  await world.write('tools.yaml', tools);
  await world.write('web.yaml', waves('a'));
  await world.start(config(hooks('false')));
  await hasStatus(world, 'web', 'failed');
  expect(set().message).toContain('the hook migrate (afterWave) failed on h1: sh ended with code 1');
  expect(await noted()).toEqual(['a', 'a', undefined]);
  expect(ran()).toEqual(['the hook drain (beforeHost) is done h1', 'the hook early (afterWave) is done h1']);

  await world.stop();
  await world.start(config(hooks('true')));
  await hasStatus(world, 'web', 'synced');
  expect(await noted()).toEqual(['a', 'a', 'a']);
  expect(ran().map((line) => line.split(' ')[2])).toEqual(['migrate', 'check', 'last', 'fill']);
  const file = join(world.folder, 'state/sets/web/hooks.ndjson');
  await until(async () => (await readFile(file, 'utf8')).includes('"afterWave 0"'), waitMs);

  await world.meddle(1, 'w2', { 'user.note': 'x' });
  await until(async () => (await noted()).join() === 'a,a,a', waitMs);
  await world.write('web.yaml', waves('b'));
  await until(async () => (await noted()).join() === 'b,b,b', waitMs);
  await until(() => ran().filter((line) => line.includes('fill')).length === 2, waitMs);
  expect(
    ran()
      .map((line) => line.split(' ')[2])
      .slice(4),
  ).toEqual(['drain', 'early', 'migrate', 'check', 'last', 'fill']);
});

test('a hook that fails before a sync keeps every host as it is, until it succeeds', async () => {
  const gate = (command: string): string =>
    `    hooks: { beforeSync: [{ name: check, container: tool, command: [sh, -c, "${command}"] }], onFailure: [{ name: alarm, container: tool, command: ["true"] }] }\n`;
  await opened(2, '');
  await hasStatus(world, 'web', 'synced');
  await world.stop();
  await world.write('web.yaml', profileText('web', { 'user.note': 'b' }));
  await world.start(config(gate('echo no space left; false')));
  await hasStatus(world, 'web', 'failed');
  expect(set().message).toContain('the hook check (beforeSync) failed on h1: sh ended with code 1');
  await until(() => ran().some((line) => line.includes('alarm')), waitMs);
  expect(world.hub.lines().some(({ message }) => message.includes('\n  no space left'))).toBe(true);
  expect(await notes()).toEqual(['a', 'a']);
  await world.stop();
  await world.start(config(gate('true')));
  await until(async () => (await notes()).join() === 'b,b', waitMs);
  await hasStatus(world, 'web', 'synced');
});

test('a hook is killed at its timeout, and one that fails after a host stops the next batch', async () => {
  await opened(
    2,
    '    rollout: { batches: 1 }\n    hooks: { afterHost: [{ name: slow, container: tool, command: [sleep, "60"], timeout: 1s }] }\n',
  );
  await until(() => set().message?.includes('it did not end within 1 s and was killed') === true, waitMs);
  expect(set().status).toBe('failed');
  expect(await notes()).toEqual(['a', undefined]);
});

test('metrics promote a revision to the next batch, or stop it and roll it back', async () => {
  const { port } = prometheus.address() as AddressInfo;
  const checks = `    rollout:
      canary: 1
      rollback: true
      checks: [{ name: errors, url: "http://127.0.0.1:${port}", query: 'errors{host=~"$HOSTS"}', max: 0.01, for: 1s, interval: 500ms }]
`;
  value = '0';
  await opened(3, checks);
  await hasStatus(world, 'web', 'synced');
  await until(() => world.engine.history('web')[0]?.outcome === 'done', waitMs);
  expect(await notes()).toEqual(['a', 'a', 'a']);
  expect([...new Set(queries)]).toEqual(['errors{host=~"h1"}', 'errors{host=~"h1|h2|h3"}']);

  for (const [bad, why] of [
    ['0.5', '0.5 is above 0.01'],
    ['', 'answered 503'],
  ] as const) {
    value = bad;
    await world.write('web.yaml', profileText('web', { 'user.note': `bad ${bad}` }));
    await until(() => set().message?.includes(why) === true, waitMs);
    await until(async () => (await notes()).join() === 'a,a,a', waitMs);
    expect(set().message).toContain('the check errors does not hold');
  }
  value = '0.001';
  const early: SetStatus[] = [];
  world.hub.subscribe((event) => {
    if (event.type !== 'set' || event.set.name !== 'web' || event.set.status !== 'synced') return;
    const { hosts, revision } = event.set;
    if (hosts.some(({ appliedRevision }) => appliedRevision !== revision)) early.push(event.set);
  });
  await world.write('web.yaml', profileText('web', { 'user.note': 'good' }));
  await until(async () => (await notes()).join() === 'good,good,good', waitMs);
  await hasStatus(world, 'web', 'synced');
  expect(early).toEqual([]);
});

test('a failed check without rollback stops the rollout until someone requests a sync', async () => {
  const { port } = prometheus.address() as AddressInfo;
  value = '7';
  await opened(
    2,
    `    rollout: { batches: 1, checks: [{ name: load, url: "http://127.0.0.1:${port}", query: load, max: 5, for: 1s, interval: 500ms }] }\n`,
  );
  await hasStatus(world, 'web', 'failed');
  expect(set().message).toMatch(
    /was stopped on h1, no further host gets it: the check load does not hold: 7 is above 5/,
  );
  expect(await notes()).toEqual(['a', undefined]);
  value = '3';
  await world.engine.sync('web', { reason: 'looked at it' }, 'ann');
  await hasStatus(world, 'web', 'synced');
  expect(await notes()).toEqual(['a', 'a']);
});

test('the end of the controller during the check of the last batch does not make the revision a good one', async () => {
  const { port } = prometheus.address() as AddressInfo;
  const checks = (time: string): string =>
    config(
      `    rollout: { checks: [{ name: load, url: "http://127.0.0.1:${port}", query: load, max: 5, for: ${time}, interval: 500ms }] }\n`,
    );
  value = '3';
  queries = [];
  world = await openControllerWorld(1);
  await world.write('tools.yaml', tools);
  await world.write('web.yaml', profileText('web', { 'user.note': 'a' }));
  await world.start(checks('1h'));
  await until(() => queries.length > 0, waitMs);
  await world.stop();
  value = '7';
  await world.start(checks('1s'));
  await hasStatus(world, 'web', 'failed');
  expect(set().message).toContain('the check load does not hold: 7 is above 5');
  value = '3';
  await world.engine.sync('web', { reason: 'looked at it' }, 'ann');
  await hasStatus(world, 'web', 'synced');
});
