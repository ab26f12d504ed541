// Opens connections to one endpoint, directly or through a proxy: pooled HTTP requests and websockets, TLS with client certificate and pin.
import { createHash } from 'node:crypto';
import { connect as connectNet, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Readable } from 'node:stream';
import { Pool, type Dispatcher } from 'undici';
import { WebSocket } from 'ws';
import { joinHostPort } from '../../lib/shared/net/host-port.ts';
import { currentTraceparent } from '../../lib/shared/spans.ts';
import type { Endpoint } from './host-endpoint.ts';
import { linkWatch, type LinkWatch } from './link-watch.ts';
import { openTunnel, proxyOf } from './proxy-tunnel.ts';
import { exchange, type ExchangeLimits, type WholeReply } from './exchange.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface TlsOptions {
  /** PEM of the client certificate and its key. */
  readonly certificate?: string;
  readonly key?: string;
  /** PEM of the server's certificate, or its SHA-256 fingerprint in hex (colons allowed): exactly this one is accepted. */
  readonly serverCertificate?: string;
  /** PEM of the CA that signed the server's certificate; default: the system's. */
  readonly ca?: string;
}

/** A token that changes during the client's life. */
export interface BearerSource {
  /** The last known token, for websockets. */
  readonly current: () => string;
  /** A token that stays valid for a while. Rejects if there is none any more. */
  readonly fresh: () => Promise<string>;
}

export interface TransportOptions {
  /** For https only. */
  readonly bearer?: BearerSource;
  readonly tls?: TlsOptions;
  /** Maximum of connections; default 8. */
  readonly connections?: number;
  readonly connectTimeoutMs?: number;
  /** Injected by tests. */
  readonly link?: LinkWatch;
}

export interface RawCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  /** Limit without a byte of the answer. */
  readonly silentMs?: number;
}

export type RawReply = Dispatcher.ResponseData;

/** One per client; `close` ends every connection. */
export class Transport {
  readonly endpoint: Endpoint;
  readonly bearer: BearerSource | undefined;
  readonly #pool: Pool;
  readonly #connectTls: (done: Connected) => void;
  /** Absent on a unix socket, whose link cannot die. */
  readonly #link: LinkWatch | undefined;
  /** The pool ends only connections that it has. */
  readonly #connecting = new Set<Socket>();

  constructor(endpoint: Endpoint, options: TransportOptions = {}) {
    this.endpoint = endpoint;
    this.bearer = endpoint.kind === 'https' ? options.bearer : undefined;
    const timeoutMs = options.connectTimeoutMs ?? 10_000;
    const proxy = endpoint.kind === 'unix' ? undefined : proxyOf(endpoint, process.env);
    this.#link = endpoint.kind === 'unix' ? undefined : (options.link ?? linkWatch(endpoint, proxy));
    this.#connectTls = (done) => {
      const startTls = (limitMs: number, tunnel?: Socket): void => {
        const socket = openTls(endpoint, options.tls ?? {}, limitMs, done, tunnel);
        socket.once('secureConnect', this.#register(socket));
      };
      if (proxy === undefined || endpoint.kind === 'unix') {
        startTls(timeoutMs);
        return;
      }
      const until = performance.now() + timeoutMs;
      const { socket, opened } = openTunnel(proxy, endpoint, timeoutMs);
      const forget = this.#register(socket);
      const proceed = (error: Error | undefined): void => {
        forget();
        if (error === undefined) startTls(Math.max(1, until - performance.now()), socket);
        else done(error);
      };
      void opened.then(proceed);
    };
    const shared = { connections: options.connections ?? 8, pipelining: 1, keepAliveTimeout: 30_000 };
    this.#pool =
      endpoint.kind === 'unix'
        ? new Pool('http://localhost', { ...shared, connect: { socketPath: endpoint.path, timeout: timeoutMs } })
        : new Pool(originOf(endpoint), {
            ...shared,
            connect: (_options, done) => {
              this.#connectTls((result) => (result instanceof Error ? done(result, null) : done(null, result)));
            },
          });
  }

  /** Rejects with the error of the connection; any HTTP status resolves. The body must be read or destroyed. */
  async request(call: RawCall, signal: AbortSignal): Promise<RawReply> {
    const ended = this.#link?.begin();
    try {
      const reply = await this.#pool.request({ ...optionsOf(call), signal });
      if (ended !== undefined) reply.body.once('close', ended);
      return reply;
    } catch (error) {
      ended?.();
      throw error;
    }
  }

  /** The same with its body, read to the end. Also rejects like `exchange`. */
  exchange(call: RawCall, limits: ExchangeLimits, signal: AbortSignal | undefined): Promise<WholeReply> {
    const ended = this.#link?.begin();
    const reply = exchange(this.#pool, optionsOf(call), limits, signal);
    return ended === undefined ? reply : reply.finally(ended);
  }

  openSocket(path: string): WebSocket {
    const { endpoint } = this;
    const createConnection =
      endpoint.kind === 'unix'
        ? (): Socket => connectNet(endpoint.path)
        : (_options: unknown, done: (error: Error | null, socket?: Socket) => void): undefined => {
            this.#connectTls((result) => (result instanceof Error ? done(result) : done(null, result)));
            return undefined;
          };
    const host = endpoint.kind === 'unix' ? 'localhost' : originOf(endpoint).slice('https://'.length);
    const traceparent = currentTraceparent();
    return new WebSocket(`ws://${host}${path}`, {
      createConnection: createConnection as () => Socket,
      headers: {
        ...(this.bearer === undefined ? {} : { authorization: `Bearer ${this.bearer.current()}` }),
        ...withoutUndefined({ traceparent }),
      },
      maxPayload: 16 * 1024 * 1024,
      perMessageDeflate: false,
      handshakeTimeout: 10_000,
    });
  }

  /** Registered while it connects, so that a dead link ends waiting calls, too. Call the returned function when it is connected. */
  #register(socket: Socket): () => void {
    this.#link?.add(socket);
    this.#connecting.add(socket);
    const forget = (): void => void this.#connecting.delete(socket);
    socket.once('close', forget);
    return forget;
  }

  async close(): Promise<void> {
    const ended = this.#pool.destroy();
    // A server that never completes the handshake would keep the process for as long as a connection may take.
    for (const socket of this.#connecting) socket.destroy(new Error('the client was closed'));
    await ended;
  }
}

/** The server may process an upload for long before it answers. `exchange` has limits of its own for other calls. */
const optionsOf = ({ method, path, headers, body, silentMs }: RawCall): Dispatcher.DispatchOptions => ({
  method,
  path,
  headers,
  body: body ?? null,
  headersTimeout: typeof body === 'object' ? 300_000 : (silentMs ?? 0),
  bodyTimeout: silentMs ?? 300_000,
});

function originOf(endpoint: { readonly host: string; readonly port: number }): string {
  return `https://${joinHostPort(endpoint.host, endpoint.port)}`;
}

/** A PEM or a fingerprint, as lower-case hex SHA-256 of the DER form. */
export function pinOf(serverCertificate: string): string {
  const pem = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(serverCertificate)?.[1];
  if (pem !== undefined) return createHash('sha256').update(Buffer.from(pem, 'base64')).digest('hex');
  const hex = serverCertificate.trim().replaceAll(':', '').toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hex)) {
    throw new Error('The server certificate must be a PEM certificate or a SHA-256 fingerprint of 64 hex digits');
  }
  return hex;
}

type Connected = (result: Error | TLSSocket) => void;

/** `tunnel`: an open connection to the endpoint; default: a new one. */
function openTls(
  endpoint: Endpoint,
  tls: TlsOptions,
  timeoutMs: number,
  done: Connected,
  tunnel: Socket | undefined,
): TLSSocket {
  if (endpoint.kind !== 'https') throw new Error('TLS is for https endpoints only');
  const pin = tls.serverCertificate === undefined ? undefined : pinOf(tls.serverCertificate);
  const socket = connectTls({
    host: endpoint.host,
    port: endpoint.port,
    ...withoutUndefined({ socket: tunnel }),
    ...(/^[\d.]+$|:/.test(endpoint.host) ? {} : { servername: endpoint.host }),
    ...withoutUndefined({ cert: tls.certificate, key: tls.key, ca: tls.ca }),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    // A pin replaces the chain check; no data is sent before the comparison below.
    rejectUnauthorized: pin === undefined,
  });
  const timer = setTimeout(() => {
    socket.destroy(withCode('UND_ERR_CONNECT_TIMEOUT', `no TLS connection in ${timeoutMs} ms`));
  }, timeoutMs);
  let connected = false;
  // Stays on the socket: an error before its new owner's first listener must not end the process.
  socket.on('error', (error) => {
    clearTimeout(timer);
    if (!connected) done(error);
    connected = true;
  });
  socket.once('secureConnect', () => {
    clearTimeout(timer);
    const seen = createHash('sha256').update(socket.getPeerCertificate().raw).digest('hex');
    if (pin !== undefined && pin !== seen) {
      socket.destroy(withCode('ERR_GANTRY_PIN', `its fingerprint is ${seen}, expected ${pin}`));
      return;
    }
    connected = true;
    done(socket);
  });
  return socket;
}

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
