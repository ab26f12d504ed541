// A websocket as a channel of an operation: what waits unread is bounded.
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { ChannelSocket, channelOf } from '../../../server/http/websocket-channel.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

let server: Server;
let client: WebSocket;
let peer: WebSocket;

beforeEach(async () => {
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
  channelOf(peer, both.socket);
  await until(() => client.readyState === WebSocket.OPEN);
});

afterEach(() => {
  client.terminate();
  peer.terminate();
  server.close();
});

test('a client that sends empty frames is held back like one that sends many bytes', async () => {
  for (let count = 0; count < 200_000; count += 1) client.send(Buffer.alloc(0));
  await until(() => peer.isPaused);
  expect(client.bufferedAmount).toBeGreaterThan(0);
});
