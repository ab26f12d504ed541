// The sockets the daemon listens on: the local one and, if configured, TLS. Every listener serves the same application.
import { once } from 'node:events';
import { chmod, chown, readFile, unlink } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { memberServerName } from '../../membership/keys/identity.ts';
import { defaultHttpsPort } from '../../api/server/listen-address.ts';
import type { Pki } from '../../auth/pki.ts';
import type { Log } from '../../lib/log.ts';
import type { HttpHandler } from '../app.ts';
import { watchConnections, type Connections } from './connections.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { hostsOnly, refuseMalformed } from './malformed.ts';
import { isForWebsocket, readAgain } from './other-upgrades.ts';
import type { PeerConnections } from './peer-connections.ts';
import { acceptProxies } from './proxy-header.ts';
import type { Websockets } from '../websocket.ts';
import { ifMissing } from '../../lib/shared/missing-files.ts';

const ownHostCheck = { requireHostHeader: false };
/** A client on the other side of the world needs a second. */
const handshakeMs = 10_000;

export interface ListenerDeps {
  readonly handler: HttpHandler;
  readonly websockets: Pick<Websockets, 'upgrade'>;
  /** The form of answers to input that is no HTTP. */
  readonly dialect: Dialect;
}

/** The client of a TLS connection may lose its trust. */
export interface TlsListenerDeps extends ListenerDeps {
  readonly peers: Pick<PeerConnections, 'add'>;
  readonly log: Pick<Log, 'warn'>;
  readonly connections: Connections;
  readonly handshakeMs?: number;
  /** The certificate for other members of the cluster, and whether a certificate (DER) is a member's. */
  readonly members?: {
    readonly own: () => TlsSettings | undefined;
    readonly isOne: (certificate: Uint8Array) => boolean;
  };
  /** Whether a proxy at this address may say whose connection it passes on; default: none may. */
  readonly isProxy?: (address: string) => boolean;
  /** The port of addresses without one; default 8443. */
  readonly defaultPort?: number;
}

export interface Listener {
  /** For TLS: host:port as bound. */
  readonly address: string;
  close(): Promise<void>;
}

export interface TlsServer extends Listener {
  /** Stops listening; each connection ends after the answer of its last request. */
  drain(): Promise<void>;
  /** Applies to new connections. */
  use(tls: TlsSettings, pki: Pki | undefined): void;
}

/** Refuses if another daemon answers there; replaces the stale socket file of a dead one. Mode 0660. */
export async function listenUnix(deps: ListenerDeps, path: string, group: string | undefined): Promise<Listener> {
  // The kernel's limit for socket paths; beyond it the error would name neither path nor reason.
  if (Buffer.byteLength(path) > 107)
    throw new Error(`The socket path ${path} is longer than 107 bytes: choose a shorter --state-dir`);
  if (await answers(path)) throw new Error(`Another daemon already listens on ${path}`);
  const owner = group === undefined ? undefined : await groupId(group);
  await unlink(path).catch(ifMissing);
  const server = prepare(deps, createHttpServer(ownHostCheck));
  const ending = endingOf(server, watchConnections(server));
  const mask = process.umask(0o117);
  try {
    await once(server.listen(path), 'listening');
  } finally {
    process.umask(mask);
  }
  await chmod(path, 0o660);
  if (owner !== undefined) await chown(path, process.getuid?.() ?? 0, owner);
  return { address: path, close: ending.close };
}

export interface TlsSettings {
  readonly certPem: string;
  readonly keyPem: string;
}

export async function listenTls(
  deps: TlsListenerDeps,
  address: string,
  tls: TlsSettings,
  pki?: Pki,
): Promise<TlsServer> {
  const { host, port } = parseAddress(address, deps.defaultPort);
  const clients = {
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: deps.handshakeMs ?? handshakeMs,
    SNICallback: forMembers(deps),
  };
  const server = prepare(deps, createTlsServer({ ...ownHostCheck, ...secureContext(tls, pki), ...clients }));
  acceptProxies(server, deps.isProxy ?? (() => false), clients.handshakeTimeout);
  const ending = endingOf(server, watchConnections(server, deps.connections));
  let isPki = pki !== undefined;
  // Runs before the listener that reads requests.
  server.prependListener('secureConnection', (socket) => {
    if (isPki && isForeign(socket, deps)) turnAway(deps, socket);
    else deps.peers.add(socket);
  });
  await once(host === '' ? server.listen(port) : server.listen(port, host), 'listening');
  const bound = server.address() as AddressInfo;
  const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `${shown}:${bound.port}`,
    ...ending,
    use: (settings, changed) => {
      isPki = changed !== undefined;
      // A new context also drops sessions from under the former authority.
      server.setSecureContext(secureContext(settings, changed));
    },
  };
}

/** Without an authority TLS accepts any client certificate: the trust store decides. */
const secureContext = ({ certPem, keyPem }: TlsSettings, pki: Pki | undefined) => ({
  cert: certPem,
  key: keyPem,
  minVersion: 'TLSv1.2' as const,
  ...(pki === undefined ? {} : { ca: [...pki.authorities] }),
  ...(pki === undefined || pki.lists.length === 0 ? {} : { crl: [...pki.lists] }),
});

/** A member requests the members' certificate by server name; clients get the other one. */
function forMembers({ members }: TlsListenerDeps) {
  return (name: string, answer: (error: Error | null, context?: SecureContext) => void): void => {
    const own = name === memberServerName ? members?.own() : undefined;
    if (own === undefined) return answer(null);
    answer(null, createSecureContext({ cert: own.certPem, key: own.keyPem, minVersion: 'TLSv1.2' }));
  };
}

/** It presented a certificate that the authority did not sign, or has revoked. A client without a certificate is untrusted. */
function isForeign(socket: TLSSocket, { members }: TlsListenerDeps): boolean {
  const { raw } = socket.getPeerCertificate();
  return raw !== undefined && raw.length > 0 && !socket.authorized && members?.isOne(raw) !== true;
}

function turnAway({ log }: TlsListenerDeps, socket: TLSSocket): void {
  const { fingerprint256 } = socket.getPeerCertificate();
  const fingerprint = fingerprint256.replaceAll(':', '').toLowerCase().slice(0, 12);
  const why = String(socket.authorizationError);
  log.warn(
    `A client at ${socket.remoteAddress ?? '?'} was turned away: server.ca does not vouch for its certificate ${fingerprint} (${why})`,
  );
  socket.destroy();
}

/** host[:port], [v6][:port], :port. */
export function parseAddress(
  text: string,
  defaultPort = defaultHttpsPort,
): { readonly host: string; readonly port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(text);
  const port = match?.[3] === undefined ? defaultPort : Number(match[3]);
  if (match === null || port > 65_535) {
    throw new Error(`The address ${JSON.stringify(text)} is not HOST:PORT (IPv6 addresses go in brackets)`);
  }
  return { host: match[1] ?? match[2] ?? '', port };
}

function prepare<S extends Server>(deps: ListenerDeps, server: S): S {
  const handler = hostsOnly(deps.dialect, deps.handler);
  server.on('request', handler);
  const readOthers = readAgain(server);
  server.on('upgrade', (request, socket, head) =>
    isForWebsocket(request) ? deps.websockets.upgrade(request, socket, head) : readOthers(request, socket, head),
  );
  // Node would answer expectations other than 100-continue with 417, which the specification does not have.
  server.on('checkExpectation', handler);
  server.on('clientError', (error, socket) => refuseMalformed(deps.dialect, error, socket));
  // A wait on an operation may take forever, an upload hours; only reading the headers is limited.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  server.keepAliveTimeout = 60_000;
  return server;
}

/** How a server ends. Node keeps connections that were busy when their server closed, so an answer says that it is the last one: a client
 *  whose connection is cut does not know whether its change was made. */
function endingOf(server: Server, cut: ReturnType<typeof watchConnections>): Pick<TlsServer, 'drain' | 'close'> {
  const underWay = new Set<ServerResponse>();
  server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
    response.shouldKeepAlive &&= server.listening;
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
  });
  let closed: Promise<void> | undefined;
  const drain = (): Promise<void> =>
    (closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
      for (const response of underWay) response.shouldKeepAlive = false;
      cut(() => [...underWay].flatMap(({ socket }) => socket ?? []));
    }));
  return {
    drain,
    close: async () => {
      // Running requests get a moment to end; then their connections are cut.
      setTimeout(() => server.closeAllConnections(), 1000).unref();
      cut();
      await drain();
    },
  };
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function groupId(group: string): Promise<number> {
  if (/^\d+$/.test(group)) return Number(group);
  const line = (await readFile('/etc/group', 'utf8'))
    .split('\n')
    .find((candidate) => candidate.startsWith(`${group}:`));
  if (line === undefined) throw new Error(`There is no group ${group} on this host`);
  return Number(line.split(':')[2]);
}
