// A websocket as a channel: what waits unread is bounded, and a peer that nobody reads is noticed when it is gone.
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { ChannelSocket, channelOf } from '../../../server/http/websocket-channel.ts';
import type { Channel } from '../../../server/operations/channels.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

let server: Server;
let client: WebSocket;
let peer: WebSocket;
let channel: Channel;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  const path = join(tempFolder('gantry-channel-'), 'socket');
  const sockets = new WebSocketServer({ noServer: true, WebSocket: ChannelSocket });
  server = createServer();
  const accepted = new Promise<{ readonly peer: WebSocket; readonly socket: Duplex }>((resolve) => {
    server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (one) => resolve({ peer: one, socket })),
    );
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  client = new WebSocket(`ws+unix://${path}:/`);
  const both = await accepted;
  peer = both.peer;
  channel = channelOf(peer, both.socket);
  await until(() => client.readyState === WebSocket.OPEN);
});

afterEach(() => {
  vi.useRealTimers();
  client.terminate();
  peer.terminate();
  server.close();
});

test('a client that sends empty frames is held back like one that sends many bytes', async () => {
  for (let count = 0; count < 200_000; count += 1) client.send(Buffer.alloc(0));
  await until(() => peer.isPaused);
  expect(client.bufferedAmount).toBeGreaterThan(0);
});

test('a client that vanishes while it is held back is noticed', async () => {
  for (let count = 0; count < 64; count += 1) client.send(Buffer.alloc(64 * 1024));
  await until(() => peer.isPaused);
  client.terminate();
  let isGone = false;
  void channel.gone.then(() => (isGone = true));
  await turn();
  vi.advanceTimersByTime(10_000);
  await until(() => isGone);
});

test('a peer that answers pings is not silent, and one that reads no more is after four pings', async () => {
  let isSilent = false;
  void channel.silent().then(() => (isSilent = true));
  let pongs = 0;
  peer.on('pong', () => (pongs += 1));
  for (let round = 1; round <= 10; round += 1) {
    vi.advanceTimersByTime(10_000);
    await until(() => pongs === round);
  }
  expect(isSilent).toBe(false);
  client.pause();
  vi.advanceTimersByTime(40_000);
  await turn();
  expect(isSilent).toBe(false);
  vi.advanceTimersByTime(10_000);
  await until(() => isSilent);
});
