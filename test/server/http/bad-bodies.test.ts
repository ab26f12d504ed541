// Request bodies of every wrong kind: refused with 400 and the place, and the daemon keeps working (spec 7).
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../server/api/endpoints/endpoint-table.ts';
import type { Endpoint } from '../../../server/api/endpoints/endpoint.ts';
import { type Answer, type Json } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { until } from '../../support/until.ts';

const daemon = await seededDaemon();

const rows: readonly Endpoint[] = endpoints;
const place = (path: string): string => path.replace(/:[a-z]+/g, 'default').replace('*', 'x');
const withBody = rows
  .filter((row) => row.built && row.body !== undefined)
  .map((row) => [row.id, row.method, place(row.path)] as const);
const post = (body: string | Buffer | Readable, headers = {}): Promise<Answer> =>
  daemon.call('POST', '/1.0/profiles', body, { 'content-type': 'application/json', ...headers });
const isRefusal = (answer: Answer): void => {
  expect(answer.status, answer.bytes.toString()).toBe(400);
  expect(answer.body).toMatchObject({ type: 'error', error: 'Failure', error_code: 400 });
  expect(answer.body.metadata.message).toBeTypeOf('string');
  expect(Array.isArray(answer.body.metadata.details)).toBe(true);
};
const paths = (answer: Answer): string[] => (answer.body.metadata.details as Json[]).map((each) => each.path as string);

test.each(withBody)('%s refuses what is no object of JSON', async (_id, method, path) => {
  for (const body of ['{"a":', '[]', '{"config":{"__proto__":"x"}}'])
    isRefusal(await daemon.call(method, path, body, { 'content-type': 'application/json' }));
});

test.each(['', ' \n', '7', 'null', '"x"', '{}{}'])('the body %j is refused', async (body) =>
  isRefusal(await post(body)),
);

test('The details of an error hold the path and the message of each problem, and nothing else', async () => {
  const answer = await post(JSON.stringify({ name: 'p', config: { 'limits.memroy': '1GB', 'limits.cpu': 2 } }));
  isRefusal(answer);
  for (const detail of answer.body.metadata.details as Json[])
    expect(Object.keys(detail).sort()).toEqual(['message', 'path']);
  const unknown = await post(JSON.stringify({ name: 'p', config: { 'limits.memroy': '1GB' } }));
  expect(unknown.body.metadata.details).toEqual([
    { path: 'config.limits.memroy', message: 'unknown key "limits.memroy" (did you mean limits.memory?)' },
  ]);
});

describe('a body', () => {
  test('a body with a charset and byte order mark is accepted or refused, never a failure', async () => {
    expect((await post('{"name":"cs"}', { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
    expect([200, 400]).toContain((await post('\uFEFF{"name":"bom"}')).status);
  });

  test('a body with a hidden __proto__ is refused and does not affect others', async () => {
    for (const key of ['"__proto__"', '"\\u005f_proto__"', '"__prot\\u006f__"']) {
      isRefusal(await post(`{"name":"pp","devices":{${key}:{"type":"none"}}}`));
      isRefusal(await post(`{"name":"pp","config":{"user.a":"b"},"devices":{"x":{"type":"none",${key}:"y"}}}`));
    }
    expect((await daemon.call('GET', '/1.0/profiles/pp')).status).toBe(404);
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
  });

  test('a body with members named constructor or toString is validated like any other', async () => {
    const answer = await post('{"name":"ct2","config":{"constructor":"x","toString":"y","hasOwnProperty":"z"}}');
    isRefusal(answer);
    expect(paths(answer)).toEqual(['config.constructor', 'config.toString', 'config.hasOwnProperty']);
    const device = await post(
      '{"name":"ct2","devices":{"a":{"type":"constructor"},"b":{"type":"none","toString":"x"}}}',
    );
    isRefusal(device);
    expect(paths(device)).toEqual(['devices.a.type', 'devices.b.toString']);
  });

  test.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
  ])('of a hundred thousand nested %s is refused', async (_what, open, close) => {
    const depth = 100_000;
    const nested = `${open.repeat(depth)}1${close.repeat(depth)}`;
    isRefusal(await post(nested.length < 1_000_000 ? nested : nested.slice(0, 900_000)));
    isRefusal(await post(`{"name":"deep","config":${open.repeat(1000)}1${close.repeat(1000)}}`));
    isRefusal(await post(`{"name":"deep","__proto__":1,"config":${open.repeat(60_000)}1${close.repeat(60_000)}}`));
  });

  test('larger than a megabyte is refused when announced', async () => {
    const answer = await post(JSON.stringify({ name: 'big', description: 'x'.repeat(1024 * 1024) }));
    isRefusal(answer);
    expect(answer.body.metadata.code).toBe('tooLarge');
  });

  test('larger than a megabyte is refused when sent in chunks', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const answer = await post(Readable.from(Array.from({ length: 17 }, () => chunk)));
    isRefusal(answer);
    expect(answer.body.metadata.code).toBe('tooLarge');
  });

  test('just below a megabyte is accepted', async () => {
    const padding = 'x'.repeat(1024 * 1024 - 100);
    const answer = await post(`{"name":"large","description":"${padding}"}`);
    expect([200, 400]).toContain(answer.status);
    expect(answer.body.metadata?.code).not.toBe('tooLarge');
  });

  test.each([
    [{}, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'w', config: { 'user.a': null } }, 'config.user.a'],
    [{ name: 'w', devices: { eth0: { type: 7 } } }, 'devices.eth0.type'],
  ])('%j is refused with the path %s', async (body, path) => {
    const answer = await daemon.call('POST', '/1.0/profiles', body);
    isRefusal(answer);
    expect(paths(answer)).toEqual([path]);
  });

  test('a body with unknown members is accepted, as clients send leftovers', async () => {
    expect((await daemon.call('POST', '/1.0/profiles', { name: 'extra', nonsense: 1 })).status).toBe(200);
  });

  test('a body that never arrives delays no other request', async () => {
    const socket = connect(daemon.socketPath);
    socket.write(
      'POST /1.0/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{',
    );
    expect((await daemon.call('GET', '/1.0')).status).toBe(200);
    socket.destroy();
    expect((await daemon.call('GET', '/1.0')).status).toBe(200);
  });

  test('a body of bytes that are not UTF-8 is refused or accepted, never a failure', async () => {
    const answer = await post(Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]));
    isRefusal(answer);
  });
});

test('a small body that arrives after its refusal does not close the connection', async () => {
  const socket = connect(daemon.socketPath);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('close', () => (received += 'closed'));
  const answers = (): string[] => received.match(/HTTP\/1\.1 \d+/g) ?? [];
  const expected: string[] = [];
  for (const [path, status] of [
    ['/1.0/containers/none', 404],
    ['/1.0/no', 404],
    ['/1.0', 200],
  ] as const) {
    expected.push(`HTTP/1.1 ${status}`);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n`);
    await until(() => answers().length === expected.length);
    socket.write('null');
  }
  expect(answers()).toEqual(expected);
  expect(received).not.toContain('closed');
  socket.destroy();
});

test('ten thousand characters of query or path are refused or accepted, never a failure', async () => {
  for (const path of [
    `/1.0/containers?x=${'y'.repeat(10_000)}`,
    `/1.0/containers/${'y'.repeat(10_000)}`,
    `/1.0/images/aliases/${'y/'.repeat(4000)}`,
  ]) {
    expect((await daemon.call('GET', path)).status).toBeLessThan(500);
  }
});

test('no request of this file was a failure of the server', () => {
  expect(daemon.logged.filter((line) => line.startsWith('error:'))).toEqual([]);
});
