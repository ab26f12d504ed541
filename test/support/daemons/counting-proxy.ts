// A socket in front of a daemon's socket that records the requests.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinSockets } from './join-sockets.ts';

export interface CountingProxy {
  readonly host: string;
  /** `GET /1.0`, in order. */
  readonly requests: string[];
  /** Also those without data. */
  connections: number;
  close(): Promise<void>;
}

export async function countRequests(socketPath: string): Promise<CountingProxy> {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtpx-'));
  const proxy: CountingProxy = {
    host: `unix://${join(dir, 's')}`,
    requests: [],
    connections: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          rmSync(dir, { recursive: true, force: true });
          resolve();
        });
      }),
  };
  const server = createServer((socket) => {
    proxy.connections += 1;
    const behind = connect(socketPath);
    // Our client sends the head of a request in one piece.
    socket.on('data', (chunk: Buffer) => {
      const line = /^([A-Z]+ \S+) HTTP\/1\.1/.exec(chunk.toString('latin1'))?.[1];
      if (line !== undefined) proxy.requests.push(line);
    });
    joinSockets(socket, behind);
  });
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve));
  return proxy;
}
