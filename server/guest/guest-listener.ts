// Listens for one container: a separate HTTP server, so that every request is that container's. Guests are hostile: their connections,
// requests, headers and time are limited.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocketServer } from 'ws';
import { errors } from '../api/errors.ts';
import { endSoon } from '../lib/end-soon.ts';
import { rawAnswer } from '../lib/shared/raw-answer.ts';
import type { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import type { Guest } from '../services/containers/guest-view.ts';
import { toAppError } from '../services/shared/translate-errors.ts';
import { answerGuest, refusal, text, type GuestAnswer, type GuestAnswerDeps } from './guest-answers.ts';
import { guestTypes, type GuestEvents } from './guest-events.ts';
import { Pace } from './rate-limit.ts';

export interface GuestListenerDeps extends GuestAnswerDeps {
  readonly events: GuestEvents;
  readonly websockets: WebSocketServer;
  readonly loop?: Pick<EventLoopMonitor, 'enter'>;
  /** Undefined if containers have no processes of this host's kernel. */
  readonly peerOf?: (name: string, socketFd: number) => 'root' | 'user' | 'stranger';
}

const maxConnections = 64;
const maxHeaderBytes = 16 * 1024;
/** Time limit for a request to arrive, headers included. */
const requestTimeoutMs = 10_000;
/** Time limit for a peer that neither reads nor writes. */
const idleTimeoutMs = 60_000;
const pace = { perSecond: 200, burst: 400, maxWaitMs: 2_000 } as const;

export class GuestListener {
  readonly #deps: GuestListenerDeps;
  readonly #guest: Guest;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Why a connection is not served. The kernel is asked once per connection: it recorded the peer when that was made. */
  readonly #refused = new WeakMap<Socket, GuestAnswer>();
  /** Sockets with an unanswered request. */
  readonly #busy = new WeakSet<Socket>();
  readonly #pace = new Pace(pace);

  constructor(deps: GuestListenerDeps, guest: Guest) {
    this.#deps = deps;
    this.#guest = guest;
    this.#server = createServer({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: requestTimeoutMs,
      keepAliveTimeout: 15_000,
    });
    this.#server.timeout = idleTimeoutMs;
    this.#server.maxConnections = maxConnections;
    this.#server.on('connection', (socket) => this.#admit(socket));
    this.#server.on('request', (request, response) => void this.#serve(request, response));
    this.#server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head));
    this.#server.on('clientError', (_error, socket) => refuseRaw(socket, text(400, 'the request is malformed')));
  }

  async listen(path: string): Promise<void> {
    await once(this.#server.listen(path), 'listening');
    // A host out of descriptors cannot accept a connection; that is no reason to end.
    this.#server.on('error', () => {});
  }

  async close(): Promise<void> {
    this.#deps.events.drop(this.#guest);
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #admit(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const { peerOf } = this.#deps;
    if (peerOf === undefined) return;
    const peer = peerOf(this.#guest.name, descriptorOf(socket));
    if (peer === 'stranger') this.#refused.set(socket, text(500, 'you are not in the container of this socket'));
    if (peer === 'user') this.#refused.set(socket, text(401, "only the container's root may ask"));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    // Pipelined requests would stay in memory while the first one waits; no client of this socket sends them.
    if (this.#busy.has(socket)) {
      socket.destroy();
      return;
    }
    this.#busy.add(socket);
    const leave = this.#deps.loop?.enter(() => `a request of the container ${this.#guest.name}`);
    try {
      const answer = (await this.#refusal(socket)) ?? (await answerGuest(this.#deps, this.#guest, request));
      await send(request, response, answer);
    } catch {
      // The guest disconnected, or the file for it could not be read to its end.
      socket.destroy();
    } finally {
      this.#busy.delete(socket);
      leave?.();
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const refused = await this.#refusal(request.socket);
      if (refused !== undefined) {
        refuseRaw(socket, refused);
        return;
      }
      const [path, query = ''] = (request.url ?? '/').split('?', 2);
      if (path !== '/1.0/events') throw errors.badRequest('There is a websocket at /1.0/events only');
      const types = guestTypes(new URLSearchParams(query).get('type'));
      this.#deps.events.checkRoom(this.#guest);
      this.#deps.websockets.handleUpgrade(request, socket, head, (peer) => {
        // Pings show whether it is alive.
        request.socket.setTimeout(0);
        this.#deps.events.add(this.#guest, peer, types);
      });
    } catch (error) {
      refuseRaw(socket, refusal(toAppError(error)));
    }
  }

  /** Why this connection gets no answer now, after its container's rate limit delay. Rejects when it closes. */
  async #refusal(socket: Socket): Promise<GuestAnswer | undefined> {
    const waitMs = this.#pace.next(performance.now());
    if (waitMs === undefined) return text(429, 'too many requests');
    if (waitMs >= 1) await sleepOn(socket, waitMs);
    return this.#refused.get(socket);
  }
}

async function sleepOn(socket: Socket, ms: number): Promise<void> {
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  socket.once('close', abort);
  try {
    await sleep(ms, undefined, { signal: gone.signal });
  } finally {
    socket.removeListener('close', abort);
  }
}

async function send(request: IncomingMessage, response: ServerResponse, answer: GuestAnswer): Promise<void> {
  const { status, headers, body } = answer;
  // An unread body would be taken for the connection's next request.
  const hasBody = (request.headers['content-length'] ?? '0') !== '0' || 'transfer-encoding' in request.headers;
  // Small programs in guests cannot read chunks.
  const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  response.writeHead(status, { ...headers, ...length, ...(hasBody ? { connection: 'close' } : {}) });
  if (hasBody) response.once('finish', () => request.socket.destroySoon());
  if (typeof body === 'string') response.end(body);
  else if (request.method === 'HEAD') {
    body.destroy();
    response.end();
  } else await pipeline(body, response);
}

function refuseRaw(socket: Duplex, { status, body }: GuestAnswer): void {
  if (!socket.writable || typeof body !== 'string') return void socket.destroy();
  endSoon(socket, rawAnswer(status, { 'content-type': 'text/plain; charset=utf-8' }, body));
}

/** Node keeps it in the socket's handle without an API for it. */
function descriptorOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly fd?: number } | null };
  return handle?.fd ?? -1;
}
