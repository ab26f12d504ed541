// The plugin's gRPC server, called by Node's HTTP/2 client and by clients that break the rules of HTTP/2.
import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectNet, createServer, type AddressInfo, type Server } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { grpcStatus, serveConnection, type Method } from '../../provider/wire/grpc.ts';
import {
  errorCode,
  flags,
  frame,
  frameTypes,
  headerBlock,
  number32,
  preface,
  settingNumbers,
} from '../support/terraform/http2-frames.ts';
import { until } from '../support/until.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0, cleanups.length)) clean();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Answers each call with its own message. */
async function startEcho(
  maxMessageBytes?: number,
): Promise<{ readonly port: number; readonly broken: string[]; readonly errors: unknown[] }> {
  const broken: string[] = [];
  const errors: unknown[] = [];
  const methods = new Map<string, Method>([
    ['/echo', { kind: 'unary', call: (message) => message }],
    ['/later', { kind: 'unary', call: async (message) => message }],
    ['/throws', { kind: 'unary', call: () => Promise.reject(new Error(`ünexpected ${'x'.repeat(40_000)}`)) }],
  ]);
  const server = createServer((socket) =>
    serveConnection(socket, {
      methods,
      onError: (_method, error) => errors.push(error),
      onBroken: (why) => broken.push(why),
      ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    }),
  );
  return { port: await listen(server), broken, errors };
}

function open(port: number, settings = {}): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings, maxSessionMemory: 1000 });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

interface Answer {
  readonly status: string;
  readonly message: string;
  readonly body: Buffer;
}

function call(session: ClientHttp2Session, path: string, message: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    const chunks: Buffer[] = [];
    let [status, text] = ['', ''];
    const note = (headers: IncomingHttpHeaders): void => {
      status = String(headers['grpc-status'] ?? status);
      text = decodeURIComponent(String(headers['grpc-message'] ?? text));
    };
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => resolve({ status, message: text, body: Buffer.concat(chunks).subarray(5) }));
    stream.end(framed(message));
  });
}

test('Messages of every size are carried both ways, many at once, with whatever windows and frames the client allows', async () => {
  const { port, broken } = await startEcho();
  for (const settings of [{}, { initialWindowSize: 1 }, { initialWindowSize: 3000 }, { maxFrameSize: 2 ** 20 }]) {
    const session = open(port, settings);
    const max = settings.initialWindowSize === 1 ? 300 : 3_000_000;
    const sizes = [0, 1, 16_379, 16_384, 65_530, 65_536, 200_000, 3_000_000].filter((size) => size <= max);
    await Promise.all(
      [...sizes, ...Array.from({ length: 60 }, (_, index) => (index * 997) % Math.min(max, 40_000))].map(
        async (size, index) => {
          const message = Buffer.alloc(size, index + 1);
          const { status, body } = await call(session, index % 2 === 0 ? '/echo' : '/later', message);
          expect(status).toBe(String(grpcStatus.ok));
          expect(body.equals(message)).toBe(true);
        },
      ),
    );
  }
  expect(broken).toEqual([]);
});

test('Answers larger than all windows together wait for a slow client while other calls are served', async () => {
  const { port, broken } = await startEcho();
  const session = open(port);
  const message = Buffer.alloc(30_000_000, 7);
  const large = Promise.all([1, 2, 3].map(() => call(session, '/echo', message)));
  expect((await call(session, '/later', Buffer.from('small'))).body.toString()).toBe('small');
  for (const { status, body } of await large) {
    expect(status).toBe(String(grpcStatus.ok));
    expect(body.equals(message)).toBe(true);
  }
  expect(broken).toEqual([]);
});

test('Calls that a client cancels leave the others alone', async () => {
  const { port, broken, errors } = await startEcho();
  const session = open(port, { initialWindowSize: 10 });
  const answered = session.request({ ':method': 'POST', ':path': '/echo' });
  answered.on('error', () => {});
  answered.once('response', () => answered.close(8));
  answered.end(framed(Buffer.alloc(100_000)));
  const unfinished = session.request({ ':method': 'POST', ':path': '/echo' });
  unfinished.on('error', () => {});
  unfinished.write('half a frame');
  const waiting = session.request({ ':method': 'POST', ':path': '/later' });
  waiting.on('error', () => {});
  waiting.end(framed(Buffer.alloc(0)), () => waiting.close(8));
  await new Promise((resolve) => answered.once('close', resolve));
  unfinished.close(8);
  expect((await call(session, '/later', Buffer.from('still here'))).body.toString()).toBe('still here');
  expect(broken).toEqual([]);
  expect(errors).toEqual([]);
});

test('A client that disappears in the middle of calls leaves other connections alone', async () => {
  const { port, errors } = await startEcho();
  for (let round = 0; round < 20; round += 1) {
    const session = open(port, { initialWindowSize: 10 });
    const calls = ['/echo', '/later', '/throws', '/nothing'].map((path) =>
      call(session, path, Buffer.alloc(50_000)).catch(() => undefined),
    );
    await new Promise((resolve) => setTimeout(resolve, round));
    session.destroy();
    await Promise.all(calls);
  }
  expect((await call(open(port), '/echo', Buffer.from('x'))).body.toString()).toBe('x');
  expect(errors.filter((error) => !String(error).includes('ünexpected'))).toEqual([]);
});

test('An error with a text too long for a header is answered with its beginning', async () => {
  const { port, errors } = await startEcho();
  const { status, message } = await call(open(port), '/throws', Buffer.alloc(0));
  expect(status).toBe(String(grpcStatus.internal));
  expect(message.startsWith('ünexpected xxx')).toBe(true);
  expect(errors).toHaveLength(1);
});

test('Pings are answered and changed windows apply in the middle of a call', async () => {
  const { port } = await startEcho();
  const session = open(port, { initialWindowSize: 10 });
  await new Promise((resolve) => session.once('connect', resolve));
  const answer = call(session, '/echo', Buffer.alloc(100_000, 7));
  const pong = await new Promise<Buffer>((resolve, reject) =>
    session.ping(Buffer.from('12345678'), (error, _ms, payload) => (error === null ? resolve(payload) : reject(error))),
  );
  expect(pong.toString()).toBe('12345678');
  await new Promise<void>((resolve) => session.settings({ initialWindowSize: 70_000 }, () => resolve()));
  expect((await answer).body.equals(Buffer.alloc(100_000, 7))).toBe(true);
});

test('Messages above the limit are refused one by one, and the connection goes on', async () => {
  const { port } = await startEcho(1000);
  const session = open(port);
  expect((await call(session, '/echo', Buffer.alloc(5_000_000))).status).toBe(String(grpcStatus.resourceExhausted));
  expect((await call(session, '/echo', Buffer.alloc(1001))).status).toBe(String(grpcStatus.resourceExhausted));
  expect((await call(session, '/echo', Buffer.alloc(1000))).status).toBe(String(grpcStatus.ok));
});

const settings = frame(frameTypes.settings, 0, 0, Buffer.alloc(0));
const requestTo = (path: string): Buffer =>
  headerBlock({ ':method': 'POST', ':scheme': 'http', ':authority': 'localhost', ':path': path });
const request = requestTo('/echo');
const opening = frame(frameTypes.headers, flags.endHeaders, 1, request);
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.of(0, id), number32(value)]);

/** Sends the bytes; resolves with the error code that the server answers them with, or how the connection ends without one. */
function refusalOf(port: number, bytes: Buffer): Promise<number | 'closed' | 'still open'> {
  return new Promise((resolve) => {
    const socket = connectNet(port, '127.0.0.1');
    cleanups.push(() => socket.destroy());
    let received = Buffer.alloc(0);
    const timer = setTimeout(() => resolve('still open'), 5000);
    const end = (how: number | 'closed'): void => {
      clearTimeout(timer);
      resolve(how);
    };
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const code = errorCode(received);
      if (code !== undefined) end(code);
    });
    socket.once('close', () => end('closed'));
    socket.write(bytes);
  });
}

const brokenClients: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['data without a stream', frame(frameTypes.data, 0, 0, Buffer.from('x'))],
  ['data of a stream that was never opened', frame(frameTypes.data, 0, 7, Buffer.from('x'))],
  ['a stream with an even number', frame(frameTypes.headers, flags.endHeaders, 2, request)],
  ['continued headers that never began', frame(frameTypes.continuation, 0, 1, Buffer.alloc(1))],
  [
    'interrupted headers',
    Buffer.concat([frame(frameTypes.headers, 0, 1, request), frame(frameTypes.ping, 0, 0, Buffer.alloc(8))]),
  ],
  [
    'headers without end',
    Buffer.concat([
      frame(frameTypes.headers, 0, 1, request),
      ...Array.from({ length: 70 }, () => frame(frameTypes.continuation, 0, 1, Buffer.alloc(1))),
    ]),
  ],
  ['headers that mean nothing', frame(frameTypes.headers, flags.endHeaders, 1, Buffer.of(0xff, 0xff, 0xff))],
  [
    'a header list that grows by references',
    frame(
      frameTypes.headers,
      flags.endHeaders,
      1,
      Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0x81, 0x16), Buffer.alloc(2944), Buffer.alloc(100, 0xbe)]),
    ),
  ],
  ['more padding than frame', Buffer.concat([opening, frame(frameTypes.data, flags.padded, 1, Buffer.of(9, 1))])],
  ['a frame above the size limit', frame(frameTypes.data, 0, 1, Buffer.alloc(16_385))],
  ['a ping of another size', frame(frameTypes.ping, 0, 0, Buffer.alloc(7))],
  ['settings cut off', frame(frameTypes.settings, 0, 0, Buffer.alloc(5))],
  ['settings of a stream', frame(frameTypes.settings, 0, 1, Buffer.alloc(0))],
  ['a window above the limit', frame(frameTypes.settings, 0, 0, setting(settingNumbers.initialWindow, 2 ** 31))],
  ['frames below the smallest size', frame(frameTypes.settings, 0, 0, setting(settingNumbers.maxFrame, 1))],
  ['a window that overflows', frame(frameTypes.windowUpdate, 0, 0, number32(2 ** 31 - 1))],
  ['a push', frame(frameTypes.push, 0, 1, Buffer.alloc(4))],
  ['a reset without a stream', frame(frameTypes.reset, 0, 9, number32(8))],
  [
    'data after the end of its stream',
    Buffer.concat([
      frame(frameTypes.settings, 0, 0, setting(settingNumbers.initialWindow, 0)),
      opening,
      frame(frameTypes.data, flags.endStream, 1, framed(Buffer.from('y'))),
      frame(frameTypes.data, 0, 1, Buffer.from('x')),
    ]),
  ],
  ['bytes of another protocol', Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n')],
];

test.each(brokenClients)(
  'A client that sends %s gets an error code, and other clients are served',
  async (what, bytes) => {
    const { port, broken, errors } = await startEcho();
    const start = what === 'bytes of another protocol' ? Buffer.alloc(0) : Buffer.concat([preface, settings]);
    expect(await refusalOf(port, Buffer.concat([start, bytes]))).toBeGreaterThan(0);
    expect(broken.length).toBeLessThanOrEqual(1);
    expect((await call(open(port), '/echo', Buffer.from('x'))).body.toString()).toBe('x');
    expect(errors).toEqual([]);
  },
);

test('Clients that send noise get an error code or a closed connection, and other clients are served', async () => {
  const { port, errors } = await startEcho();
  const noise = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 200 }), 150);
  await Promise.all(
    noise.map(async (bytes) => {
      const socket = connectNet(port, '127.0.0.1');
      cleanups.push(() => socket.destroy());
      let received = Buffer.alloc(0);
      const ended = new Promise((resolve) => {
        socket.once('close', resolve);
        socket.on('data', (chunk) => {
          received = Buffer.concat([received, chunk]);
          if (errorCode(received) !== undefined) resolve(undefined);
        });
      });
      socket.on('error', () => {});
      socket.end(Buffer.concat([preface, settings, opening, bytes]));
      await ended;
    }),
  );
  expect((await call(open(port), '/echo', Buffer.from('x'))).body.toString()).toBe('x');
  expect(errors).toEqual([]);
});

test('Streams above the limit are refused, and those before are served', async () => {
  const { port } = await startEcho();
  const opened = Array.from({ length: 1001 }, (_, index) =>
    frame(frameTypes.headers, flags.endHeaders, 2 * index + 1, request),
  );
  const socket = connectNet(port, '127.0.0.1');
  cleanups.push(() => socket.destroy());
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write(Buffer.concat([preface, settings, ...opened]));
  socket.write(frame(frameTypes.data, flags.endStream, 1, framed(Buffer.from('first'))));
  const refused = frame(frameTypes.reset, 0, 2001, number32(constants.NGHTTP2_REFUSED_STREAM));
  await until(() => Buffer.concat(chunks).includes('first') && Buffer.concat(chunks).includes(refused));
});
