// An HTTP proxy that only knows CONNECT: every name leads to this machine, as a name behind a real proxy leads to where only it can go.
import { createServer as createPlain, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTls } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { joinSockets } from './join-sockets.ts';

export interface ConnectProxy {
  /** `HOST:PORT` of the proxy. */
  readonly address: string;
  /** `HOST:PORT` of each tunnel, in order. */
  readonly targets: readonly string[];
  /** What the clients send as `proxy-authorization`. */
  readonly credentials: readonly (string | undefined)[];
  close(): Promise<void>;
}

export interface ConnectProxyOptions {
  readonly tls?: { readonly certPem: string; readonly keyPem: string };
  /** Answers with this status line instead of a tunnel; `silent` never answers; `hang up` closes. */
  readonly answer?: (request: IncomingMessage) => string | undefined;
}

export async function startConnectProxy({ tls, answer }: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const targets: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Duplex>();
  const server: Server = tls === undefined ? createPlain() : createTls({ cert: tls.certPem, key: tls.keyPem });
  server.on('connect', (request, socket: Duplex) => {
    sockets.add(socket.on('error', () => {}));
    targets.push(request.url ?? '');
    credentials.push(request.headers['proxy-authorization']);
    const refusal = answer?.(request);
    if (refusal === 'silent') return;
    if (refusal === 'hang up') socket.destroy();
    else if (refusal !== undefined) socket.end(`HTTP/1.1 ${refusal}\r\n\r\n`);
    else {
      const far = connect(Number(new URL(`http://${request.url}`).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        joinSockets(socket, far);
      });
      sockets.add(far.on('error', () => socket.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    credentials,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
