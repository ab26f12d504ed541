// A socket in front of a daemon's socket that causes failures: it refuses a change, breaks the connection before or after it, or lets
// another client be faster.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { joinSockets } from './join-sockets.ts';

/** `fail`: answered 500 without the change. `after`, `before`: the connection breaks permanently after the change, or before. */
export type Break = { readonly at: number; readonly how: 'fail' | 'before' | 'after' };

export interface BreakingProxy {
  readonly host: string;
  /** Changing requests that arrived, by method and path. */
  readonly changes: readonly string[];
  close(): Promise<void>;
}

export interface Trouble {
  readonly cut?: Break;
  /** Called before each changing request is passed on: `PUT /1.0/profiles/web`. */
  readonly meddle?: (change: string) => Promise<void>;
  /** Whether this changing request is answered 500 without the change. */
  readonly fails?: (change: string) => boolean;
}

export const breakAt = (socketPath: string, cut: Break): Promise<BreakingProxy> => troubled(socketPath, { cut });

export async function troubled(socketPath: string, trouble: Trouble): Promise<BreakingProxy> {
  const plan = trouble.cut;
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtbx-'));
  const changes: string[] = [];
  const sockets = new Set<Duplex>();
  let isGone = false;
  const vanish = (): void => {
    isGone = true;
    for (const socket of sockets) socket.destroy();
  };
  const server = createServer((incoming, outgoing) => {
    const isChange = incoming.method !== 'GET';
    if (isChange) changes.push(`${incoming.method} ${incoming.url}`);
    const isDue = isChange && changes.length - 1 === plan?.at;
    const isRefused = isChange && trouble.fails?.(`${incoming.method} ${incoming.url}`) === true;
    if (isRefused || (isDue && plan?.how === 'fail')) refuse(incoming, outgoing);
    else if (isDue && plan?.how === 'before') vanish();
    else if (isChange && trouble.meddle !== undefined) {
      incoming.pause();
      void trouble.meddle(`${incoming.method} ${incoming.url}`).then(() => pass(socketPath, incoming, outgoing));
    } else pass(socketPath, incoming, outgoing, isDue ? vanish : undefined);
  });
  server.on('connection', (socket: Socket) => {
    if (isGone) socket.destroy();
    else sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (incoming, socket: Duplex, head) => {
    const behind = connect(socketPath);
    sockets.add(socket).add(behind);
    const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${String(value)}`);
    behind.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    behind.write(head);
    joinSockets(socket, behind);
  });
  await new Promise<void>((resolve) => server.listen(join(dir, 's'), resolve));
  return {
    host: `unix://${join(dir, 's')}`,
    changes,
    close: () =>
      new Promise((resolve) => {
        rmSync(dir, { recursive: true, force: true });
        server.close(() => resolve());
        vanish();
        server.closeAllConnections();
      }),
  };
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse): void {
  incoming.resume();
  incoming.on('end', () => {
    outgoing.writeHead(500, { 'content-type': 'application/json' });
    outgoing.end(
      JSON.stringify({ type: 'error', error: 'Failure', error_code: 500, metadata: { message: 'the proxy fails it' } }),
    );
  });
}

function pass(socketPath: string, incoming: IncomingMessage, outgoing: ServerResponse, instead?: () => void): void {
  const { method, url, headers } = incoming;
  const behind = httpRequest({ socketPath, method, path: url, headers, agent: false }, (answer) => {
    if (instead !== undefined) {
      answer.resume().on('end', instead);
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  behind.on('error', () => outgoing.destroy());
  incoming.pipe(behind);
}
