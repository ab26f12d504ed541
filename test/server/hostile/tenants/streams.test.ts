// Lists, operations and events for a tenant with a restricted certificate, and their ends when its projects shrink.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createContainer, listenOn, type Listening } from '../../../support/daemons/daemon.ts';
import { makeContainerIn } from '../../../support/daemons/projects.ts';
import { openSharedHost, type SharedHost } from '../../../support/hostile/shared-host.ts';
import { until } from '../../../support/until.ts';

let host: SharedHost;
beforeAll(async () => {
  host = await openSharedHost();
});
afterAll(() => host.cleanUp());

const read = async (path: string) => (await host.tenant('GET', path)).metadata;
const listen = (query: string): Promise<Listening> => {
  const { certPem, keyPem } = host.client;
  const url = `wss://${host.admin.daemon.httpsAddress() ?? ''}/1.0/events${query}`;
  return listenOn(url, { cert: certPem, key: keyPem, rejectUnauthorized: false });
};

describe('a tenant sees', () => {
  test('its projects only', async () => {
    expect(await read('/1.0/projects')).toEqual(['/1.0/projects/mine']);
    expect((await read('/1.0/projects?recursion=1')).map(({ name }: { name: string }) => name)).toEqual(['mine']);
    expect((await host.tenant('GET', '/1.0/projects/mine/state')).status).toBe(200);
  });

  test('its certificate only, whole or by its beginning', async () => {
    expect(await read('/1.0/certificates')).toEqual([`/1.0/certificates/${host.client.fingerprint}`]);
    const { fingerprint, restricted, projects } = await read(
      `/1.0/certificates/${host.client.fingerprint.slice(0, 10)}`,
    );
    expect([fingerprint, restricted, projects]).toEqual([host.client.fingerprint, true, ['mine']]);
  });

  test('networks that it may use, without their config and the users of others', async () => {
    expect(await read('/1.0/networks')).toEqual(['/1.0/networks/lan']);
    const answer = await host.tenant('GET', '/1.0/networks/lan?project=mine');
    expect(answer.metadata).toMatchObject({ name: 'lan', managed: true, config: {}, used_by: [] });
    expect(answer.headers.etag).toBeUndefined();
    expect(JSON.stringify(await read('/1.0/networks/lan/leases'))).not.toContain('10.9.8.77');
  });

  test('pools by name and driver, with its own users', async () => {
    const [pool] = await read('/1.0/storage-pools?recursion=1&project=mine');
    expect(pool).toMatchObject({ name: 'default', driver: 'dir', config: {} });
    expect(pool.used_by.length).toBeGreaterThan(0);
    for (const url of pool.used_by) expect(url).toContain('project=mine');
  });

  test('the server without its config, as a trusted client', async () => {
    const server = await read('/1.0?project=mine');
    expect([server.auth, server.config]).toEqual(['trusted', {}]);
    expect(server.environment.project ?? 'mine').toBe('mine');
  });

  test('its own objects', async () => {
    expect(await read('/1.0/containers?project=mine')).toEqual(['/1.0/containers/own?project=mine']);
    expect((await host.tenant('GET', '/1.0/containers/own?project=mine')).status).toBe(200);
    expect(JSON.stringify(await read('/1.0/storage-pools/default/volumes?project=mine'))).not.toMatch(
      /theirs|victim|vol"/,
    );
  });
});

describe('operations of others', () => {
  test('are not listed, read, waited for or cancelled', async () => {
    const started = await host.admin.call('PUT', '/1.0/containers/victim/state?project=theirs', { action: 'start' });
    const path = started.body.operation.split('?')[0] as string;
    const id = path.split('/').at(-1) ?? '';
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/wait'],
      ['DELETE', ''],
    ] as const)
      for (const query of ['', '?project=mine']) {
        const answer = await host.tenant(method, `/1.0/operations/${id}${rest}${query}`);
        const other = await host.tenant(method, `/1.0/operations/${unknown}${rest}${query}`);
        expect(answer.status).toBe(404);
        expect(answer.bytes.toString()).toBe(other.bytes.toString().replace(unknown, id));
      }
    for (const recursion of [0, 1])
      expect(JSON.stringify(await read(`/1.0/operations?recursion=${recursion}&project=mine`))).not.toContain(id);
    await host.admin.wait(started.body.operation);
    await host.admin.run('PUT', '/1.0/containers/victim/state?project=theirs', { action: 'stop', force: true });
  });

  test('its own are', async () => {
    const started = await host.tenant('PUT', '/1.0/containers/own/state?project=mine', { action: 'start' });
    expect(started.status).toBe(202);
    const path = (started.body.operation as string).split('?')[0] ?? '';
    expect((await host.tenant('GET', `${path}/wait?project=mine`)).metadata.status).toBe('Success');
    expect((await host.tenant('GET', `${path}/wait`)).status).toBe(200);
  });
});

test('a foreign project and a missing one have equal answers', async () => {
  for (const path of [
    'containers',
    'containers/victim',
    'images',
    'profiles/hidden',
    'storage-pools/default/volumes',
  ]) {
    const [theirs, nowhere] = await Promise.all(
      ['theirs', 'nowher'].map((project) => host.tenant('GET', `/1.0/${path}?project=${project}`)),
    );
    expect(theirs?.bytes.toString()).toBe(nowhere?.bytes.toString().replaceAll('nowher', 'theirs'));
    const headers = (answer: typeof theirs) => ({ ...answer?.headers, date: '' });
    expect(headers(theirs)).toEqual(headers(nowhere));
  }
});

describe('events', () => {
  test.each([
    '',
    '?project=theirs',
    '?project=default',
    '?project=nowhere',
    '?project=*',
    '?project=mine&all-projects=true',
  ])('are refused with %j', async (query) => {
    await expect(listen(query)).rejects.toThrow(/40[34]/);
  });

  test('events of other projects, of the server and of its log are not delivered', async () => {
    const stream = await listen('?project=mine');
    const all = await host.admin.listen();
    await makeContainerIn(host.admin, 'theirs', 'noise');
    await createContainer(host.admin, 'noise');
    await host.admin.call('PATCH', '/1.0/networks/secretnet', { description: 'changed' });
    host.admin.publish('a line of the log');
    await host.admin.call('PATCH', '/1.0/containers/own?project=mine', { description: 'changed' });
    await stream.next((event) => JSON.stringify(event).includes('container-updated'));
    expect(all.events.length).toBeGreaterThan(stream.events.length);
    for (const event of stream.events) {
      expect(event.type).not.toBe('logging');
      expect(JSON.stringify(event)).toContain('project=mine');
      expect(JSON.stringify(event)).not.toMatch(/noise|secretnet|theirs/);
    }
    stream.close();
    all.close();
  });

  test('end at once when the certificate loses the project, and so does everything else', async () => {
    const stream = await listen('?project=mine');
    const path = `/1.0/certificates/${host.client.fingerprint}`;
    expect((await host.tenant('GET', '/1.0/containers?project=mine')).status).toBe(200);
    expect((await host.admin.call('PATCH', path, { projects: ['nowhere'] })).status).toBe(400);
    expect(stream.socket.readyState).toBe(stream.socket.OPEN);
    expect((await host.admin.call('PATCH', path, { restricted: true, projects: [] })).status).toBe(200);
    await until(() => stream.socket.readyState === stream.socket.CLOSED);
    const { status, metadata } = await host.tenant('GET', '/1.0/containers?project=mine');
    expect([status, metadata.message]).toEqual([404, 'The project mine was not found']);
    expect(await read('/1.0/projects')).toEqual([]);
    // Omitted values stay: a client unaware of projects does not lift the restriction.
    expect((await host.admin.call('PUT', path, { type: 'client', name: 'renamed' })).status).toBe(200);
    expect(await host.admin.get(path)).toMatchObject({ name: 'renamed', restricted: true, projects: [] });
  });
});
