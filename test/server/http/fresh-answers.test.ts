// Answers with cached JSON show every change at the next request: of containers, their profiles, their status, and of the server.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, createContainer, type Json, makeSeeded, type TestDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
const work = tempFolder('gtyf-');
let lxdSocket = '';
beforeAll(async () => {
  lxdSocket = join(work, 'unix.socket');
  daemon = await makeSeeded({ lxd: { socket: lxdSocket } });
  await change('POST', '/1.0/profiles', { name: 'shared', config: { 'user.p': '1' }, devices: {} });
  for (const name of ['a', 'b', 'c']) await createContainer(daemon, name, { profiles: ['default', 'shared'] });
});
afterAll(() => daemon.cleanUp());

/** A change that is complete when it is answered. */
async function change(method: string, path: string, body: object): Promise<void> {
  const answer = await daemon.call(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

type Seen = Readonly<Record<string, Json>>;

/** All containers in the lists of both dialects, and in single answers: all four must agree. */
async function listed(): Promise<Seen> {
  const list = await daemon.get('/1.0/containers?recursion=1');
  const ofLxd = (await call({ socketPath: lxdSocket }, 'GET', '/1.0/containers?recursion=1')).body.metadata;
  const byName = (containers: Json[]) => Object.fromEntries(containers.map((one) => [String(one['name']), one]));
  const seen = byName(list);
  const typed = Object.fromEntries(Object.entries(seen).map(([name, one]) => [name, { ...one, type: 'container' }]));
  expect(byName(ofLxd)).toEqual(typed);
  for (const [name, one] of Object.entries(seen)) expect(await daemon.get(`/1.0/containers/${name}`)).toEqual(one);
  return seen;
}

describe('a list of containers that was read before', () => {
  test('shows a changed config key of one container, and the others unchanged', async () => {
    const before = await listed();
    await change('PATCH', '/1.0/containers/b', { config: { 'user.x': '1' } });
    const after = await listed();
    expect(after['b']).toMatchObject({ config: { 'user.x': '1' }, expanded_config: { 'user.x': '1' } });
    expect([after['a'], after['c']]).toEqual([before['a'], before['c']]);
  });

  test('shows a changed profile in every container that uses it', async () => {
    await listed();
    await change('PUT', '/1.0/profiles/shared', { config: { 'user.p': '2' }, devices: {} });
    for (const one of Object.values(await listed())) expect(one).toMatchObject({ expanded_config: { 'user.p': '2' } });
  });

  test('shows each status of a container that starts, is frozen and stops', async () => {
    for (const [action, status] of [
      ['start', 'Running'],
      ['freeze', 'Frozen'],
      ['unfreeze', 'Running'],
      ['stop', 'Stopped'],
    ] as const) {
      await daemon.ok('PUT', '/1.0/containers/a/state', { action, force: true });
      expect((await listed())['a']).toMatchObject({ status });
    }
  });

  test('shows a created, a renamed and a deleted container', async () => {
    await createContainer(daemon, 'd', { profiles: ['default'] });
    expect(Object.keys(await listed())).toEqual(['a', 'b', 'c', 'd']);
    await daemon.ok('POST', '/1.0/containers/d', { name: 'e' });
    expect(Object.keys(await listed())).toEqual(['a', 'b', 'c', 'e']);
    await daemon.ok('DELETE', '/1.0/containers/e');
    expect(Object.keys(await listed())).toEqual(['a', 'b', 'c']);
  });
});

describe('the server object', () => {
  test('shows a changed config key and its new ETag at once, in both dialects', async () => {
    const before = await daemon.call('GET', '/1.0');
    await change('PATCH', '/1.0', { config: { 'core.proxy_ignore_hosts': 'localhost' } });
    const after = await daemon.call('GET', '/1.0');
    expect(after.body.metadata).toMatchObject({ config: { 'core.proxy_ignore_hosts': 'localhost' } });
    expect(after.headers['etag']).not.toBe(before.headers['etag']);
    const ofLxd = await call({ socketPath: lxdSocket }, 'GET', '/1.0');
    expect(ofLxd.body.metadata).toMatchObject({ config: { 'core.proxy_ignore_hosts': 'localhost' } });
  });

  test('shows the driver of a new pool, and the address of a listener that opens and closes', async () => {
    await change('POST', '/1.0/storage-pools', { name: 'second', driver: 'btrfs', config: {} });
    expect(await daemon.get('/1.0')).toMatchObject({ environment: { storage: 'btrfs | dir' } });
    const wanted = `127.0.0.1:${await freePort()}`;
    await change('PATCH', '/1.0', { config: { 'core.https_address': wanted } });
    const { environment } = (await daemon.get('/1.0')) as { environment: { addresses: string[] } };
    expect(environment.addresses).toEqual([wanted]);
    await change('PATCH', '/1.0', { config: { 'core.https_address': '' } });
    expect(await daemon.get('/1.0')).toMatchObject({ environment: { addresses: [] } });
  });
});
