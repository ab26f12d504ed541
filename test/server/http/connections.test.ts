// Silent clients, and clients that keep their side open, hold neither descriptors nor the stop of the daemon, and are limited.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { svcDialect } from '../../../server/http/dialects/svc.ts';
import { Connections, networkLimits, watchConnections } from '../../../server/http/listen/connections.ts';
import { listenTls, type TlsServer } from '../../../server/http/listen/listen.ts';
import type { HttpHandler } from '../../../server/http/app.ts';
import { bundleDaemon, startChild, type Bundle } from '../../support/daemons/child-process.ts';
import { call } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const silentLog = { warn: () => {} };

describe('the limits', () => {
  test('leave half of the descriptors to local clients, files and guests', () => {
    expect(networkLimits(1024)).toEqual({ inAll: 512, perAddress: 128 });
    expect(networkLimits(1_000_000)).toEqual({ inAll: 10_000, perAddress: 2500 });
  });

  test('apply to each address and to all, and an ended connection makes room', () => {
    const published: string[] = [];
    const connections = new Connections({ inAll: 3, perAddress: 2 }, { warn: (text) => published.push(text) });
    const first = connections.take('10.0.0.1');
    connections.take('10.0.0.1');
    expect(connections.take('10.0.0.1')).toBeUndefined();
    expect(connections.take('10.0.0.2')).toBeDefined();
    expect(connections.take('10.0.0.3')).toBeUndefined();
    expect(published).toEqual(['New connections are refused: 10.0.0.1 has 2 connections already, which is the limit']);
    first?.ended();
    expect(connections.take('10.0.0.3')).toBeDefined();
  });

  test('count all addresses of an IPv6 network as one', () => {
    const connections = new Connections({ inAll: 8, perAddress: 2 }, silentLog);
    const first = connections.take('2001:db8::1');
    connections.take('2001:db8::2');
    expect(connections.take('2001:db8:0:0:ffff::3')).toBeUndefined();
    expect(connections.take('2001:db8:0:1::1')).toBeDefined();
    first?.ended();
    expect(connections.take('2001:db8::3')).toBeDefined();
  });

  test('refuse a connection over the network at once, and accept one again when another has ended', async () => {
    const server = createServer((_request, response) => response.end('hello'));
    const cut = watchConnections(server, new Connections({ inAll: 8, perAddress: 2 }, silentLog));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const open = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    await Promise.all(open.map((socket) => once(socket, 'connect')));
    const third = connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume();
    await once(third, 'close');
    open[0]?.destroy();
    const answered = async (): Promise<boolean> => {
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
      socket.on('error', () => {});
      const [data] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.destroy();
      return Buffer.isBuffer(data);
    };
    await until(answered);
    const closed = new Promise((resolve) => server.close(resolve));
    cut();
    await closed;
    open[1]?.destroy();
  });
});

test('two silent clients with one port at different addresses are both cut when the listener ends', async () => {
  const server = createServer();
  const cut = watchConnections(server);
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const first = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' });
  await once(first, 'connect');
  const second = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2', localPort: first.localPort });
  await once(second, 'connect');
  const closed = new Promise((resolve) => server.close(resolve));
  cut();
  await closed;
  for (const socket of [first, second]) socket.destroy();
});

async function openListener(handler: HttpHandler = () => {}): Promise<TlsServer> {
  const { certPem, keyPem } = await makeClient();
  const deps = {
    handler,
    websockets: { upgrade: () => {} },
    dialect: svcDialect,
    peers: { add: () => {} },
    log: silentLog,
    connections: new Connections({ inAll: 8, perAddress: 8 }, silentLog),
    handshakeMs: 200,
  };
  const server = await listenTls(deps, '127.0.0.1:0', { certPem, keyPem });
  onTestFinished(() => server.close());
  return server;
}

test('a listener that moves answers pending requests, however long that takes, and marks each answer as the last', async () => {
  const waiting: ServerResponse[] = [];
  const server = await openListener((_request, response) => void waiting.push(response));
  const [host = '', port = ''] = server.address.split(':');
  const dial = async (): Promise<TLSSocket> => {
    const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false }).on('error', () => {});
    await once(socket, 'secureConnect');
    return socket;
  };
  const [busy, silent] = [await dial(), await dial()];
  busy.write('PATCH /1.0 HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => waiting.length === 1);
  const drained = server.drain();
  await once(silent.resume(), 'close');
  waiting[0]?.end('done');
  const [answer] = (await once(busy, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*connection: close\r\n/i);
  await drained;
});

test('a handshake that is never finished is cut', async () => {
  const server = await openListener();
  const port = Number(server.address.split(':')[1]);
  const silent = connect(port, '127.0.0.1');
  const half = connect(port, '127.0.0.1', () => half.write(Buffer.from('16030100c8010000c4', 'hex')));
  await Promise.all(
    [silent, half].map((socket) =>
      once(
        socket.on('error', () => {}),
        'close',
      ),
    ),
  );
});

describe('a stop', () => {
  let bundle: Bundle;
  const dir = tempFolder('gtyc-');
  beforeAll(() => void (bundle = bundleDaemon()));

  /** Keeps its side open whatever the server does. */
  function stay(socket: Socket, text?: string | Buffer): Socket {
    socket.on('error', () => {}).resume();
    if (text !== undefined) socket.write(text);
    return socket;
  }

  test('ends within ten seconds whatever is connected', async () => {
    const daemon = await startChild(bundle, dir, 'sim', ['--https', '127.0.0.1:0']);
    const [host = '', port = ''] = (daemon.https ?? '').split(':');
    const tcp = (): Socket => connect({ host, port: Number(port), allowHalfOpen: true });
    const local = (): Socket => connect({ path: daemon.socketPath, allowHalfOpen: true });
    const upgrade = (path: string): string =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
    const secure = connectTls({ socket: tcp(), rejectUnauthorized: false });
    await once(secure, 'secureConnect');
    const token = await call(daemon, 'POST', '/1.0/certificates', { type: 'client', name: 'new', token: true });
    const offering = `GET ${token.body.operation}/wait HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`;
    const sockets = [
      stay(tcp()),
      stay(tcp(), Buffer.from('16030100c8010000c4', 'hex')),
      stay(tcp(), 'this is no TLS\r\n\r\n'),
      stay(secure, upgrade('/1.0/operations/nothing/websocket')),
      stay(local(), upgrade('/1.0/operations/nothing/websocket')),
      stay(local(), upgrade('/1.0/events')),
      stay(local(), offering),
      stay(local(), 'nonsense\r\n\r\n'),
      stay(local(), 'GET /1.0 HTTP/1.1\r\nHost: x\r\n'),
      stay(local()),
    ];
    const refused = connect({ path: daemon.socketPath, allowHalfOpen: true });
    const closed = once(stay(refused), 'end');
    refused.write('GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await closed;
    // The daemon has answered; it closes its side although this one is open.
    await until(
      () => new Promise<boolean>((resolve) => void refused.write('x', (error) => resolve(error instanceof Error))),
    );
    const begin = performance.now();
    await daemon.kill('SIGTERM');
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - begin).toBeLessThan(10_000);
    for (const socket of [...sockets, refused]) socket.destroy();
  });
});
