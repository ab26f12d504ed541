// Hooks across a SIGKILL of the controller: an interrupted hook runs again with a log line, a finished one does not, and a failure
// after a sync is remembered.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Event } from '../../../server/api/event.ts';
import { buildPrograms } from '../../support/cli/programs.ts';
import { killed, spawnController, type ControllerProcess } from '../../support/controller/process.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const tools = `{ kind: storage_pool, name: p1, driver: dir }
---
{ kind: container, name: tool, state: running, source: { type: none }, devices: { root: { type: disk, path: /, pool: p1 } } }
`;
const programs = buildPrograms();
let world: ControllerWorld;
let running: ControllerProcess | undefined;
beforeEach(async () => {
  world = await openControllerWorld(1);
  await world.write('web.yaml', profileText('web', { 'user.note': 'a' }));
  await world.write('tools.yaml', tools);
});
afterEach(async () => {
  if (running !== undefined) await killed(running.child);
  await world.close();
});

/** All commands sent to the host, in order. */
let ran: string[] = [];
let listening = new AbortController();
beforeEach(async () => {
  ran = [];
  listening = new AbortController();
  const events = world.daemons[0]?.client.events(['lifecycle'], listening.signal) ?? expect.fail('no host');
  void note(events).catch(() => undefined);
});
afterEach(() => listening.abort());

async function note(events: AsyncIterable<Event>): Promise<void> {
  for await (const { metadata } of events) {
    const { action, context } = metadata as { action?: string; context?: { command?: readonly string[] } };
    if (action === 'container-exec') ran.push(context?.command?.at(-1) ?? '');
  }
}

/** `slow` sleeps, `bad` fails until the container has a file. */
const commands = { first: ['echo', 'first'], slow: ['sleep', '8'], last: ['echo', 'last'], bad: ['cat', '/good'] };
const hook = (name: keyof typeof commands, more = ''): string =>
  `{ name: ${name}, container: tool, command: ${JSON.stringify(commands[name])}${more} }`;
const config = (hooks: string, more = ''): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
sets:
  - { name: tools, source: shop, path: tools.yaml }
  - { name: web, source: shop, path: web.yaml, dependsOn: [tools], retry: { first: 200ms, longest: 500ms }, hooks: { ${hooks} }${more} }
`;
const start = (): ControllerProcess => (running = spawnController(programs.gantry, join(world.folder, 'gantry.yaml')));

test.each(['beforeSync', 'beforeHost', 'beforeWave', 'afterWave', 'afterHost', 'afterSync'] as const)(
  'a %s hook interrupted by SIGKILL runs again with a log line, and the hooks around it run once',
  async (phase) => {
    const wave = phase.endsWith('Wave') ? ', wave: 0' : '';
    const hooks = `${phase}: [${hook('first', wave)}, ${hook('slow', wave)}, ${hook('last', wave)}]`;
    writeFileSync(join(world.folder, 'gantry.yaml'), config(hooks));
    const first = start();
    await until(() => ran.includes('8'), waitMs);
    await killed(first.child);
    expect(ran).toEqual(['first', '8']);
    const second = start();
    await until(() => second.log().includes(`the hook last (${phase}) is done`), waitMs);
    expect(ran).toEqual(['first', '8', '8', 'last']);
    expect(second.log()).toContain(`the hook slow (${phase}) was cut off by the end of the controller; it runs again`);
    await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'a', waitMs);
    await killed(second.child);
    start();
    await world.meddle(1, 'web', { 'user.note': 'x' });
    await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'a', waitMs);
    expect(ran).toHaveLength(4);
  },
);

test('an onFailure hook interrupted by SIGKILL runs again while the failure lasts, and not afterwards', async () => {
  const hooks = `beforeSync: [${hook('bad')}], onFailure: [${hook('slow')}]`;
  writeFileSync(join(world.folder, 'gantry.yaml'), config(hooks));
  const first = start();
  await until(() => ran.includes('8'), waitMs);
  await killed(first.child);
  const second = start();
  await until(() => second.log().includes('the hook slow (onFailure) is done'), waitMs);
  expect(second.log()).toContain('the hook slow (onFailure) was cut off by the end of the controller; it runs again');
  const tries = ran.length;
  await until(() => ran.length > tries + 2, waitMs);
  expect(ran.filter((command) => command === '8')).toHaveLength(2);
});

test('a failure after a sync survives a restart, until someone requests a sync', async () => {
  const hooks = `afterSync: [${hook('first')}, ${hook('bad')}]`;
  await world.start(config(hooks));
  await hasStatus(world, 'web', 'failed');
  await world.stop();
  await world.start(config(hooks));
  await hasStatus(world, 'web', 'failed');
  const web = world.engine.overview().sets.find(({ name }) => name === 'web');
  expect(web?.message).toMatch(/^All hosts have revision .*, but the hook bad \(afterSync\) failed on h1/);
  expect(ran).toEqual(['first', '/good']);
  await world.engine.sync('web', {}, 'ann');
  await until(() => ran.length > 2, waitMs);
  expect(ran).toEqual(['first', '/good', '/good']);
});

test('afterSync hooks that are added to gantry.yaml later wait for the next revision', async () => {
  await world.start(config(''));
  await hasStatus(world, 'web', 'synced');
  await world.stop();
  await world.start(config(`afterSync: [${hook('first')}]`));
  await hasStatus(world, 'web', 'synced');
  await world.write('web.yaml', profileText('web', { 'user.note': 'b' }));
  await until(() => ran.length > 0, waitMs);
  expect((await world.profile(1, 'web'))?.['user.note']).toBe('b');
  expect(ran).toEqual(['first']);
});
