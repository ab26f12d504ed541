// The same as event-loop-bodies.test.ts for other input: frames of websockets, headers and queries, filters, templates of images,
// answers of image servers, requests of guests.
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { settle } from '../../support/daemons/child-process.ts';
import { call } from '../../support/daemons/daemon.ts';
import { openHeldDaemon, type HeldDaemon } from '../../support/hostile/event-loop-daemon.ts';

let held: HeldDaemon;
beforeAll(async () => {
  held = await openHeldDaemon();
  await settle(held.daemon, 'PUT', '/1.0/containers/default/state', { action: 'start' });
});
afterAll(() => held.close());

const kib = 1024;

async function websocket(path: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws+unix://${held.daemon.socketPath}:${path}`);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return socket;
}

const sent = (socket: WebSocket, data: string | Buffer): Promise<void> =>
  new Promise((resolve) => socket.send(data, () => resolve()));

async function controlOfCommand(): Promise<WebSocket> {
  const body = { command: ['sleep', '60'], 'wait-for-websocket': true, interactive: true };
  const answer = await call(held.daemon, 'POST', '/1.0/containers/default/exec', body);
  const { operation } = answer.body as { operation: string };
  const fds = answer.metadata.metadata.fds as Record<string, string>;
  await websocket(`${operation}/websocket?secret=${fds['0']}`);
  return websocket(`${operation}/websocket?secret=${fds['control']}`);
}

describe('websockets do not block the loop', () => {
  test.each([
    ['one control message of 15 MB', [`{"command":"window-resize","args":${'['.repeat(15 * kib * kib)}`]],
    ['a control message of many members', [JSON.stringify(Object.fromEntries(members(400_000)))]],
    ['20,000 control messages', Array.from({ length: 20_000 }, () => '{"command":"window-resize"}')],
  ])('with %s', async (_what, messages) => {
    await held.expectFree(async () => {
      const control = await controlOfCommand();
      await Promise.all(messages.map((message) => sent(control, message)));
      await sent(control, '{"command":"signal","signal":9}');
      control.close();
    });
  });

  test('clients with messages to the stream of events, which ignores them', async () => {
    await held.expectFree(async () => {
      const socket = await websocket('/1.0/events');
      await Promise.all(Array.from({ length: 8 }, () => sent(socket, '['.repeat(1000 * kib))));
      socket.terminate();
    });
  });
});

const members = (count: number): [string, number][] =>
  Array.from({ length: count }, (_none, index) => [`k${index}`, 1]);

describe('request heads do not block the loop', () => {
  const long = 15 * kib;
  test.each([
    ['a long path', `/1.0/${'a/'.repeat(long / 2)}`],
    ['a path of percent signs', `/1.0/containers/${'%41'.repeat(300)}`],
    ['a query of many members', `/1.0/containers?${'a=1&'.repeat(long / 4)}`],
    ['a query of percent signs', `/1.0/containers/default/files?path=${'%2e%2f'.repeat(long / 6)}`],
    [
      'a filter of many terms',
      `/1.0/containers?recursion=1&filter=${'name%20eq%20a%20or%20'.repeat(600)}name%20eq%20b`,
    ],
    ['a filter of quotes', `/1.0/containers?recursion=1&filter=${'%22'.repeat(long / 3)}`],
  ])('with %s', async (_what, path) => {
    await held.expectFree(async () => {
      for (const wire of [held.daemon, { socketPath: held.lxdSocket }]) {
        const { status } = await call(wire, 'GET', path);
        expect(status).toBeLessThan(500);
      }
    });
  });

  test.each([
    ['properties', 'a=b&'.repeat(3500)],
    ['aliases', 'alias=a&'.repeat(1800)],
    ['filename', 'x'.repeat(long)],
  ])('with a long header %s of an upload', async (name, value) => {
    await held.expectFree(() =>
      call(held.daemon, 'POST', '/1.0/images', Buffer.alloc(600), { [`x-svc-${name}`]: value }),
    );
  });

  test('a request with an upload of 100,000 parts', async () => {
    const part = '--b\r\nContent-Disposition: form-data; name="metadata"; filename="m"\r\n\r\n\r\n';
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    await held.expectFree(() => call(held.daemon, 'POST', '/1.0/images', `${part.repeat(100_000)}--b--`, headers));
  });
});

describe('templates do not block the loop', () => {
  test.each([
    ['loops in loops', `${'{% for a in "1,2,3,4,5,6,7,8,9"|split:"," %}'.repeat(12)}x${'{% endfor %}'.repeat(12)}`],
    ['a text that doubles', `{% set a = "xxxxxxxx" %}${'{% set a = a|add:a %}'.repeat(60)}{{ a }}`],
    ['conditions in conditions', `${'{% if 1 %}'.repeat(6_000)}${'{% endif %}'.repeat(6_000)}`],
    ['many open braces', '{{'.repeat(60_000)],
    ['many raw blocks', '{% raw %}'.repeat(14_000)],
    ['many comments', '{# '.repeat(40_000)],
    ['a long expression', `{{ ${'a.'.repeat(60_000)}a }}`],
    ['many brackets', `{{ ${'('.repeat(120_000)} }}`],
  ])('with %s', async (_what, template) => {
    const path = '/1.0/containers/default';
    await settle(held.daemon, 'PUT', `${path}/state`, { action: 'stop', force: true });
    const templates = { '/etc/x': { when: ['start'], create_only: false, template: 't.tpl', properties: {} } };
    await held.expectFree(async () => {
      await call(held.daemon, 'PUT', `${path}/metadata`, {
        architecture: 'x86_64',
        creation_date: 1,
        expiry_date: 0,
        properties: {},
        templates,
      });
      const { status } = await call(held.daemon, 'POST', `${path}/metadata/templates?path=t.tpl`, template);
      if (status === 409) await call(held.daemon, 'PUT', `${path}/metadata/templates?path=t.tpl`, template);
      await settle(held.daemon, 'PUT', `${path}/state`, { action: 'start' });
    });
  });
});

describe('image servers do not block the loop', () => {
  let server: Server;
  let products = '';
  beforeAll(async () => {
    server = createServer((request, response) => {
      const index = { index: { a: { datatype: 'image-downloads', path: 'streams/v1/images.json' } } };
      response.end(request.url === '/streams/v1/index.json' ? JSON.stringify(index) : products);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());

  const versions = Object.fromEntries(
    Array.from({ length: 2000 }, (_none, index) => [
      `20240101_${index}`,
      {
        items: {
          a: { ftype: 'lxd.tar.xz', path: 'a', combined_squashfs_sha256: String(index).padStart(64, '0') },
          b: { ftype: 'squashfs', path: 'b' },
        },
      },
    ]),
  );
  const product = { arch: 'amd64', aliases: 'a,b,c', os: 'x', release: 'y', versions };
  test.each([
    ['lists in lists', () => '['.repeat(30_000_000)],
    ['200,000 members', () => JSON.stringify({ products: Object.fromEntries(members(200_000)) })],
    [
      '20,000 images',
      () => JSON.stringify({ products: Object.fromEntries(members(10).map(([name]) => [name, product])) }),
    ],
  ])(
    'with %s',
    async (_what, make) => {
      products = make();
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const source = { type: 'image', mode: 'pull', server: address, protocol: 'simplestreams', alias: 'not there' };
      await held.expectFree(() => settle(held.daemon, 'POST', '/1.0/images', { source }));
    },
    120_000,
  );
});

test('guests do not block the loop with many requests and long heads', async () => {
  const guests = join(held.dir, 'guests');
  const [uuid = ''] = readdirSync(guests);
  const socketPath = join(guests, uuid, 'sock');
  await held.expectFree(() =>
    Promise.all(
      Array.from({ length: 60 }, () =>
        call({ socketPath }, 'GET', `/1.0/config/${'user.'.repeat(2800)}`).catch(() => undefined),
      ),
    ),
  );
});
