// Upgrades to websockets, the same on every listener: the event stream, and operation channels.
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { endpoints } from '../api/endpoints/endpoint-table.ts';
import { AppError, errors } from '../api/errors.ts';
import { eventTypes, type EventType, type LifecycleMetadata } from '../api/event.ts';
import { decide, eventTypesFor } from '../auth/policy.ts';
import type { EventHub } from '../events/hub.ts';
import type { Operations } from '../operations/manager.ts';
import type { Log } from '../lib/log.ts';
import type { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import { checkOrigin, labelOf } from './app.ts';
import { logRequest } from './log-request.ts';
import { ChannelSocket, channelOf } from './websocket-channel.ts';
import type { Dialect } from './dialects/dialect.ts';
import { identityOf, type Identify } from './caller-identity.ts';
import { toAppError } from '../services/translate-errors.ts';

export interface WebsocketDeps {
  readonly events: EventHub;
  readonly operations: Operations;
  readonly identify: Identify;
  readonly dialect: Dialect;
  readonly log: Log;
  readonly loop: Pick<EventLoopMonitor, 'enter'>;
  /** core.https_allowed_origin as it is now. */
  readonly allowedOrigin: () => string;
}

/** A listener that reads slower than events come is let go at this backlog; it will see the close and re-read. */
const maxBacklogBytes = 8 * 1024 * 1024;
const pingEveryMs = 20_000;
/** Clients of channels send what they read at once, in frames of any size up to this. */
const maxFrameBytes = 16 * 1024 * 1024;
/** A peer that vanished without a word is noticed by the kernel. Pings would also end peers that only read slowly. */
const keepAliveMs = 30_000;

export class Websockets {
  readonly #deps: WebsocketDeps;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024 });
  #isClosed = false;
  readonly #channels = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes, WebSocket: ChannelSocket });

  constructor(deps: WebsocketDeps) {
    this.#deps = deps;
    for (const server of [this.#server, this.#channels])
      server.on('wsClientError', (error, socket) => this.#refuse(socket, errors.badRequest(error.message)));
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    logRequest(this.#deps.log, request);
    const leave = this.#deps.loop.enter(() => `${labelOf(request)} (websocket)`);
    try {
      if (this.#isClosed) throw errors.unavailable('The daemon is stopping');
      const url = parseUrl(request.url ?? '/');
      const operation = this.#authorize(request, url);
      if (operation === undefined) {
        const { caller } = identityOf(this.#deps.identify, request);
        const types = eventTypesFor(caller.class, parseTypes(url.searchParams.get('type')));
        this.#server.handleUpgrade(request, socket, head, (peer) => this.#stream(peer, types, request));
        return;
      }
      const attach = this.#deps.operations.admit(operation, url.searchParams.get('secret') ?? '');
      if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
      this.#channels.handleUpgrade(request, socket, head, (peer) => attach(channelOf(peer, socket)));
    } catch (error) {
      this.#refuse(socket, toAppError(error));
    } finally {
      leave();
    }
  };

  close(): void {
    this.#isClosed = true;
    for (const server of [this.#server, this.#channels]) {
      for (const peer of server.clients) peer.terminate();
      server.close();
    }
  }

  /** The operation whose channel is asked for; undefined for the event stream. Throws when the caller may have neither. */
  #authorize(request: IncomingMessage, url: URL): string | undefined {
    const operation = /^\/1\.0\/operations\/([^/]+)\/websocket$/.exec(url.pathname)?.[1];
    const id =
      url.pathname === '/1.0/events' ? 'events.get' : operation === undefined ? undefined : 'operations.websocket';
    const endpoint = endpoints.find((candidate) => candidate.id === id);
    if (endpoint === undefined) throw new AppError('notFound', `There is no websocket at ${url.pathname}`);
    const access = decide(identityOf(this.#deps.identify, request).caller.class, endpoint, {});
    if (access !== 'allow') throw errors.forbidden(`${endpoint.method} ${endpoint.path}: ${access.reason}`);
    checkOrigin(this.#deps.allowedOrigin(), request, true);
    return operation;
  }

  #stream(peer: WebSocket, types: ReadonlySet<EventType>, request: IncomingMessage): void {
    let answered = true;
    const endUnlessTrusted = (): void => {
      if (identityOf(this.#deps.identify, request).caller.class !== 'trusted') peer.terminate();
    };
    const { dialect } = this.#deps;
    const unsubscribe = this.#deps.events.subscribe(types, (event, svcText) => {
      const told = dialect.event?.(event) ?? event;
      const text = told === event ? svcText : JSON.stringify(told);
      if (peer.bufferedAmount > maxBacklogBytes) peer.terminate();
      else peer.send(text);
    });
    // Removing a certificate takes effect at once, also on streams that are open.
    const unwatch = this.#deps.events.subscribe(new Set(['lifecycle']), (event) => {
      if ((event.metadata as LifecycleMetadata).action === 'certificate-deleted') endUnlessTrusted();
    });
    const ping = setInterval(() => {
      if (!answered) peer.terminate();
      else endUnlessTrusted();
      answered = false;
      peer.ping('keepalive');
    }, pingEveryMs);
    peer.on('pong', () => {
      answered = true;
    });
    peer.on('error', () => peer.terminate());
    peer.on('close', () => {
      clearInterval(ping);
      unsubscribe();
      unwatch();
    });
  }

  #refuse(socket: Duplex, error: AppError): void {
    const { status, body } = this.#deps.dialect.error(error);
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} Refused`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(text)}`,
    ];
    socket.end([...head, 'Connection: close', '', text].join('\r\n'));
  }
}

function parseUrl(text: string): URL {
  try {
    return new URL(text, 'http://localhost');
  } catch {
    throw errors.badRequest('The request is malformed: its target is not a URL');
  }
}

/** Absent or empty: all. Unknown types are told rather than ignored: the listener would wait for ever. */
function parseTypes(text: string | null): ReadonlySet<EventType> {
  if (text === null || text === '') return new Set(eventTypes);
  const wanted = text.split(',').map((part) => part.trim());
  const unknown = wanted.filter((type) => !(eventTypes as readonly string[]).includes(type));
  if (unknown.length > 0) {
    throw errors.invalid('query', [
      { path: 'type', message: `${unknown.join(', ')} is none of ${eventTypes.join(', ')}` },
    ]);
  }
  return new Set(wanted as EventType[]);
}
