// Requests that are unusual and correct are answered as any other; those that break HTTP are answered with the envelope of errors.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { callTls, makeClient } from '../../support/daemons/tls.ts';

const daemon = await seededDaemon({ https: '127.0.0.1:0' });

const local = (): Socket => connect(daemon.socketPath);
function remote(): Socket {
  const [host = '', port = ''] = (daemon.daemon.httpsAddress() ?? '').split(':');
  return connectTls({ host, port: Number(port), rejectUnauthorized: false });
}

interface Heard {
  readonly status: number;
  readonly body: { readonly metadata?: unknown; readonly type: string };
}

/** The connection must end after the answer. */
async function say(socket: Socket, text: string): Promise<Heard> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(text);
  await closed;
  const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as Heard['body'] };
}

/** What curl --http2 and clients of Java send on a connection without TLS. */
const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n';

describe('a request that offers an upgrade to HTTP/2', () => {
  test.each([
    ['on the local socket', local],
    ['over TLS', remote],
  ])('is answered as if it did not, %s', async (_where, open) => {
    const { status, body } = await say(open(), `GET / HTTP/1.1\r\nHost: x\r\n${offer}\r\n`);
    expect([status, body.metadata]).toEqual([200, ['/1.0']]);
  });

  test('is read with its body', async () => {
    const document = JSON.stringify({ name: 'offered', description: 'x'.repeat(100_000) });
    const head = `POST /1.0/profiles HTTP/1.1\r\nHost: x\r\n${offer}Content-Length: ${document.length}\r\n\r\n`;
    expect((await say(local(), head + document)).status).toBe(200);
    expect((await daemon.get('/1.0/profiles/offered')).description).toHaveLength(100_000);
  });

  test('is refused with the envelope of errors when the rest of it is broken', async () => {
    const head = `POST /1.0/profiles HTTP/1.1\r\nHost: x\r\n${offer}Transfer-Encoding: chunked\r\n\r\n`;
    expect(await say(local(), `${head}nothing\r\n`)).toMatchObject({ status: 400, body: { type: 'error' } });
  });
});

test('a request of HTTP 1.1 without a host is answered with the envelope of errors, one of HTTP 1.0 as any other', async () => {
  const refused = await say(local(), 'GET / HTTP/1.1\r\n\r\n');
  expect(refused).toMatchObject({ status: 400, body: { type: 'error', metadata: { code: 'badRequest' } } });
  expect((await say(local(), 'GET / HTTP/1.0\r\n\r\n')).status).toBe(200);
});

test('a slash at the end of the path of the API, or of a websocket, changes nothing', async () => {
  expect((await daemon.get('/1.0/')).api_version).toBe('1.0');
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  const plain = await say(local(), `GET /1.0/events HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
  const slashed = await say(local(), `GET /1.0/events/ HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
  expect([plain.status, slashed]).toEqual([400, plain]);
});

test.each(['text/plain', '', ';;', 'a/b/c', 'json'])('a body of type "%s" is read as any other', async (type) => {
  const body = '{"description":"read"}';
  const head = `PATCH /1.0/profiles/default HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\n`;
  expect((await say(local(), `${head}Content-Length: ${body.length}\r\n\r\n${body}`)).status).toBe(200);
});

test('the first value of a query parameter that is repeated counts', async () => {
  const urls = await daemon.get('/1.0/profiles');
  expect(await daemon.get('/1.0/profiles?recursion=0&recursion=1')).toEqual(urls);
  expect(await daemon.get('/1.0/profiles?project=default&project=none')).toEqual(urls);
});

test.each(['GET /1.0/nothing', 'DELETE /1.0/profiles', 'HEAD /1.0/nothing'])(
  '%s is refused, and the next request of its connection is answered',
  async (refused) => {
    const socket = local();
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(`${refused} HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await closed;
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([expect.stringMatching(/40[04]$/), 'HTTP/1.1 200']);
  },
);

test('a stranger who sends a body slowly loses the connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const socket = remote().on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{');
  await once(socket, 'data');
  vi.advanceTimersByTime(30_000);
  await once(socket, 'close');
});

test('a stranger may send 64 KiB, since everybody may send them at once', async () => {
  const body = { type: 'client', password: 'x'.repeat(70_000) };
  const client = await makeClient();
  const refused = await callTls(daemon.daemon.httpsAddress() ?? '', 'POST', '/1.0/certificates', body, { client });
  expect(refused.body.metadata.code).toBe('tooLarge');
});
