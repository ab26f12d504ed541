// The plugin's own HTTP/2, against a client that is not ours and against bytes that no client should send.
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectNet, createServer, type AddressInfo, type Server } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { errorCodes, flags, frame, frameTypes, preface, settingNumbers } from '../../provider/wire/frames.ts';
import { grpcStatus, serveConnection, type Method } from '../../provider/wire/grpc.ts';
import { HeaderReader, HpackError, writeHeaders } from '../../provider/wire/hpack.ts';
import { Http2Connection } from '../../provider/wire/http2.ts';
import { readHuffman } from '../../provider/wire/huffman.ts';
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
async function startEcho(): Promise<{ readonly port: number; readonly broken: string[]; readonly errors: unknown[] }> {
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
    }),
  );
  return { port: await listen(server), broken, errors };
}

function open(port: number, settings = {}): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

function call(session: ClientHttp2Session, path: string, message: Buffer): Promise<{ status: string; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    const chunks: Buffer[] = [];
    let status = '';
    const note = (headers: IncomingHttpHeaders): void => void (status = String(headers['grpc-status'] ?? status));
    stream.on('response', note);
    stream.on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => resolve({ status, body: Buffer.concat(chunks).subarray(5) }));
    stream.end(framed(message));
  });
}

describe('header fields', () => {
  test('are read from their Huffman code', () => {
    // Examples of RFC 7541, appendix C.
    expect(readHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f4ff', 'hex'))).toBe('www.example.com');
    expect(readHuffman(Buffer.from('25a849e95bb8e8b4bf', 'hex'))).toBe('custom-value');
    expect(readHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f4ffff', 'hex'))).toBeUndefined();
    expect(readHuffman(Buffer.from('ffffffff', 'hex'))).toBeUndefined();
  });

  test('of another implementation are read as it was told them, in whatever order its table grows and shrinks', async () => {
    const seen: string[] = [];
    const port = await listen(
      createServer((socket) => {
        const connection = new Http2Connection({
          socket,
          maxBodyBytes: 0,
          opened: (stream) => void seen.push(stream.path),
          ended: (stream) =>
            connection.reply(stream, Buffer.alloc(0), Buffer.alloc(0), writeHeaders({ ':status': '200' })),
          broken: (why) => void seen.push(`broken: ${why}`),
        });
      }),
    );
    const session = open(port);
    // Every byte that a header may have, in runs that are shorter when compressed and in runs that are not.
    const bytes = [...Array(0x5e).keys()]
      .map((each) => each + 0x21)
      .concat([...Array(0x80).keys()].map((each) => each + 0x80));
    const told = bytes.map((each) => `/${'0'.repeat(300)}${String.fromCharCode(each).repeat(3)}`);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0x21, max: 0xff }).filter((each) => each < 0x7f || each > 0x9f)),
        (codes) => {
          told.push(`/${String.fromCharCode(...codes)}`, told[codes.length % told.length] ?? '/');
        },
      ),
      { numRuns: 150 },
    );
    for (const [index, path] of told.entries()) {
      const stream = session.request({
        ':path': path,
        'x-more': `${index % 7}`.repeat(index % 900),
        [`x-${index}`]: path,
      });
      stream.on('error', () => {});
      stream.resume();
      await new Promise((resolve) => stream.once('close', resolve));
    }
    expect(seen).toEqual(told);
  });

  test('that are damaged are an error of the connection, never an endless loop', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        try {
          new HeaderReader().read(Buffer.from(noise), () => {});
        } catch (error) {
          expect(error).toBeInstanceOf(HpackError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('that are written are read again, long ones too', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), (length) => {
        const found: Record<string, string> = {};
        const fields = { 'grpc-status': '0', 'grpc-message': 'x'.repeat(length) };
        new HeaderReader().read(writeHeaders(fields), (name, value) => (found[name] = value));
        expect(found).toEqual(fields);
      }),
    );
  });
});

describe('calls', () => {
  test('carry messages of every size both ways, many at once, whatever windows and frames the client allows', async () => {
    const { port, broken } = await startEcho();
    for (const settings of [{}, { initialWindowSize: 1 }, { initialWindowSize: 3000 }, { maxFrameSize: 2 ** 20 }]) {
      const session = open(port, settings);
      const most = settings.initialWindowSize === 1 ? 300 : 3_000_000;
      const sizes = [0, 1, 16_379, 16_384, 65_530, 65_536, 200_000, 3_000_000].filter((size) => size <= most);
      await Promise.all(
        [...sizes, ...Array.from({ length: 60 }, (_, index) => (index * 997) % Math.min(most, 40_000))].map(
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

  test('that are given up leave the others alone', async () => {
    const { port, broken } = await startEcho();
    const session = open(port, { initialWindowSize: 10 });
    const given = session.request({ ':method': 'POST', ':path': '/echo' });
    given.on('error', () => {});
    given.once('response', () => given.close(8));
    given.end(framed(Buffer.alloc(100_000)));
    const unfinished = session.request({ ':method': 'POST', ':path': '/echo' });
    unfinished.on('error', () => {});
    unfinished.write('half a frame');
    await new Promise((resolve) => given.once('close', resolve));
    unfinished.close(8);
    expect((await call(session, '/later', Buffer.from('still here'))).body.toString()).toBe('still here');
    expect(broken).toEqual([]);
  });

  test('that fail with words too long for a header are answered with their beginning', async () => {
    const { port, errors } = await startEcho();
    expect((await call(open(port), '/throws', Buffer.alloc(0))).status).toBe(String(grpcStatus.internal));
    expect(errors).toHaveLength(1);
  });

  test('and pings and changed windows are answered amid them', async () => {
    const { port } = await startEcho();
    const session = open(port, { initialWindowSize: 10 });
    await new Promise((resolve) => session.once('connect', resolve));
    const answer = call(session, '/echo', Buffer.alloc(100_000, 7));
    const pong = await new Promise<Buffer>((resolve, reject) =>
      session.ping(Buffer.from('12345678'), (error, _ms, payload) =>
        error === null ? resolve(payload) : reject(error),
      ),
    );
    expect(pong.toString()).toBe('12345678');
    await new Promise<void>((resolve) => session.settings({ initialWindowSize: 70_000 }, () => resolve()));
    expect((await answer).body.equals(Buffer.alloc(100_000, 7))).toBe(true);
  });
});

const settings = frame(frameTypes.settings, 0, 0, Buffer.alloc(0));
const request = writeHeaders({ ':method': 'POST', ':path': '/echo' });
const opening = frame(frameTypes.headers, flags.endHeaders, 1, request);
const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.of(0, id), number(value)]);
const { protocol, flowControl, frameSize, compression, calm, streamClosed } = errorCodes;

/** The code of the GOAWAY that ends the connection. */
function endOf(port: number, bytes: Buffer): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connectNet(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('error', () => {});
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.once('close', () => {
      const all = Buffer.concat(chunks);
      let code: number | undefined;
      for (let at = 0; at + 9 <= all.length; at += 9 + all.readUIntBE(at, 3)) {
        if (all[at + 3] === frameTypes.goAway) code = all.readUInt32BE(at + 13);
      }
      resolve(code);
    });
    socket.write(bytes);
  });
}

describe('a client that breaks the rules', () => {
  const cases: readonly (readonly [string, number, Buffer])[] = [
    ['data of no stream', protocol, frame(frameTypes.data, 0, 0, Buffer.from('x'))],
    ['data of a stream that never was', protocol, frame(frameTypes.data, 0, 7, Buffer.from('x'))],
    ['a stream with an even number', protocol, frame(frameTypes.headers, flags.endHeaders, 2, request)],
    ['headers that go on without a begin', protocol, frame(frameTypes.continuation, 0, 1, Buffer.alloc(1))],
    [
      'headers that are interrupted',
      protocol,
      Buffer.concat([frame(frameTypes.headers, 0, 1, request), frame(frameTypes.ping, 0, 0, Buffer.alloc(8))]),
    ],
    [
      'headers without end',
      calm,
      Buffer.concat([
        frame(frameTypes.headers, 0, 1, request),
        ...Array.from({ length: 70 }, () => frame(frameTypes.continuation, 0, 1, Buffer.alloc(1))),
      ]),
    ],
    [
      'headers that mean nothing',
      compression,
      frame(frameTypes.headers, flags.endHeaders, 1, Buffer.of(0xff, 0xff, 0xff)),
    ],
    [
      'a header list that grows by references',
      calm,
      frame(
        frameTypes.headers,
        flags.endHeaders,
        1,
        Buffer.concat([Buffer.of(0x40, 1, 0x61, 0x7f, 0x81, 0x16), Buffer.alloc(2944), Buffer.alloc(100, 0xbe)]),
      ),
    ],
    [
      'more padding than frame',
      protocol,
      Buffer.concat([opening, frame(frameTypes.data, flags.padded, 1, Buffer.of(9, 1))]),
    ],
    ['a frame that is too large', frameSize, frame(frameTypes.data, 0, 1, Buffer.alloc(16_385))],
    ['a ping of another size', frameSize, frame(frameTypes.ping, 0, 0, Buffer.alloc(7))],
    ['settings that are cut off', frameSize, frame(frameTypes.settings, 0, 0, Buffer.alloc(5))],
    ['settings of a stream', protocol, frame(frameTypes.settings, 0, 1, Buffer.alloc(0))],
    [
      'a window that is too large',
      flowControl,
      frame(frameTypes.settings, 0, 0, setting(settingNumbers.initialWindow, 2 ** 31)),
    ],
    ['frames that are too small', protocol, frame(frameTypes.settings, 0, 0, setting(settingNumbers.maxFrame, 1))],
    ['a window that overflows', flowControl, frame(frameTypes.windowUpdate, 0, 0, number(2 ** 31 - 1))],
    ['a push', protocol, frame(frameTypes.push, 0, 1, Buffer.alloc(4))],
    ['a reset of no stream', protocol, frame(frameTypes.reset, 0, 9, number(8))],
    [
      'data after the end',
      streamClosed,
      Buffer.concat([
        frame(frameTypes.headers, flags.endHeaders | flags.endStream, 1, writeHeaders({ ':path': '/nothing' })),
        frame(frameTypes.settings, 0, 0, setting(settingNumbers.initialWindow, 0)),
        frame(frameTypes.headers, flags.endHeaders, 3, request),
        frame(frameTypes.data, flags.endStream, 3, framed(Buffer.from('y'))),
        frame(frameTypes.data, 0, 3, Buffer.from('x')),
      ]),
    ],
  ];

  test.each(cases)('with %s is told so and let go, and others are served', async (_what, code, bytes) => {
    const { port, broken } = await startEcho();
    expect(await endOf(port, Buffer.concat([preface, settings, bytes]))).toBe(code);
    expect(broken).toHaveLength(1);
    expect((await call(open(port), '/echo', Buffer.from('x'))).body.toString()).toBe('x');
  });

  test('with bytes of another protocol is let go', async () => {
    const { port } = await startEcho();
    expect(await endOf(port, Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n'))).toBe(protocol);
  });

  test('with noise harms nobody', async () => {
    const { port, errors } = await startEcho();
    const noise = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 200 }), 150);
    for (const bytes of noise) {
      const socket = connectNet(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.end(Buffer.concat([preface, settings, opening, Buffer.from(bytes)]));
      await new Promise((resolve) => socket.once('close', resolve));
    }
    expect((await call(open(port), '/echo', Buffer.from('x'))).body.toString()).toBe('x');
    expect(errors).toEqual([]);
  });

  test('that opens more streams than it may has those refused and the others served', async () => {
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
    const refused = frame(frameTypes.reset, 0, 2001, number(errorCodes.refusedStream));
    await until(() => Buffer.concat(chunks).includes('first') && Buffer.concat(chunks).includes(refused));
  });

  test('with bodies that are too large is told by the stream alone', async () => {
    const bodies: (number | undefined)[] = [];
    const port = await listen(
      createServer((socket) => {
        const connection = new Http2Connection({
          socket,
          maxBodyBytes: 1000,
          opened() {},
          ended(stream, body) {
            bodies.push(body?.length);
            connection.reply(
              stream,
              Buffer.alloc(0),
              Buffer.alloc(0),
              writeHeaders({ ':status': '200', 'grpc-status': '8' }),
            );
          },
          broken() {},
        });
      }),
    );
    const session = open(port);
    expect((await call(session, '/x', Buffer.alloc(5_000_000))).status).toBe('8');
    expect((await call(session, '/x', Buffer.alloc(995))).status).toBe('8');
    expect(bodies).toEqual([undefined, 1000]);
  });
});
