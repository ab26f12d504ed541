// The share of connections that one address gets of the listener of a controller.
import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { shareConnections } from '../../../../reconciler/controller/http/access/connection-shares.ts';
import { until } from '../../../support/until.ts';

const sockets: Socket[] = [];
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

async function openServer(isExempt: (address: string) => boolean) {
  const warned: string[] = [];
  const say = (message: string): void => void warned.push(message);
  const server = createServer();
  shareConnections(server, { perAddress: 2, isExempt, log: { debug: say, info: say, warn: say, error: say } });
  server.on('connection', (socket) => !socket.destroyed && socket.on('error', () => {}).write('x'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  server.unref();
  const { port } = server.address() as AddressInfo;
  /** True: the server answers. */
  const isTaken = async (localAddress: string): Promise<boolean> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket);
    return new Promise((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
  };
  return { warned, isTaken, close: () => server.close() };
}

test('an address gets no more than its share, others theirs, and an ended connection makes room', async () => {
  const server = await openServer(() => false);
  try {
    expect([await server.isTaken('127.0.0.5'), await server.isTaken('127.0.0.5')]).toEqual([true, true]);
    expect([await server.isTaken('127.0.0.5'), await server.isTaken('127.0.0.5')]).toEqual([false, false]);
    expect(server.warned).toEqual([expect.stringContaining('127.0.0.5')]);
    expect(await server.isTaken('127.0.0.6')).toBe(true);
    sockets[0]?.destroy();
    await until(() => server.isTaken('127.0.0.5'));
  } finally {
    server.close();
  }
});

test('a proxy has no limit', async () => {
  const server = await openServer((address) => address === '127.0.0.5');
  try {
    for (let count = 0; count < 5; count += 1) expect(await server.isTaken('127.0.0.5')).toBe(true);
  } finally {
    server.close();
  }
});
