// One websocket to the event endpoint that reconnects by itself; passes events on and reports possible gaps.
import type { RawData, WebSocket } from 'ws';
import { eventTypes, type Event, type EventType } from './event-types.ts';
import { isObject } from '../transport/reply.ts';

export interface EventSocketHandlers {
  readonly onEvent: (event: Event) => void;
  /** Connected: `again` after a reconnection, so that events in between are lost. */
  readonly onOpen: (again: boolean) => void;
  /** Disconnected, or not connected yet; a new attempt follows. */
  readonly onDown: (error: Error) => void;
}

interface EventSocketDeps {
  readonly open: (path: string) => WebSocket;
  readonly types: readonly EventType[];
  readonly project?: string;
  /** Interval of pings on idle connections, which detect a dead peer. Not needed on a unix socket. */
  readonly heartbeatMs?: number;
}

const firstRetryMs = 100;
const longestRetryMs = 10_000;

export class EventSocket {
  readonly #deps: EventSocketDeps;
  readonly #handlers: EventSocketHandlers;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = firstRetryMs;
  #opened = false;
  #closed = false;

  constructor(deps: EventSocketDeps, handlers: EventSocketHandlers) {
    this.#deps = deps;
    this.#handlers = handlers;
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
  }

  #connect(): void {
    const query = new URLSearchParams({ type: this.#deps.types.join(',') });
    if (this.#deps.project !== undefined) query.set('project', this.#deps.project);
    const socket = this.#deps.open(`/1.0/events?${query.toString()}`);
    this.#socket = socket;
    let lastError = new Error('the event socket was closed');
    const stopHeartbeat = this.#heartbeat(socket);
    socket.on('open', () => {
      this.#retryMs = firstRetryMs;
      const again = this.#opened;
      this.#opened = true;
      this.#handlers.onOpen(again);
    });
    socket.on('message', (data) => {
      const event = parseEvent(data);
      if (event !== undefined && !this.#closed) this.#handlers.onEvent(event);
    });
    socket.on('error', (error) => {
      lastError = error;
    });
    socket.on('close', () => {
      stopHeartbeat();
      if (this.#closed) return;
      this.#handlers.onDown(lastError);
      this.#timer = setTimeout(() => this.#connect(), this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    });
  }

  #heartbeat(socket: WebSocket): () => void {
    const { heartbeatMs } = this.#deps;
    if (heartbeatMs === undefined) return () => {};
    let answers = 0;
    let waiting = false;
    socket.on('pong', () => {
      answers += 1;
      waiting = false;
    });
    const timer = setInterval(() => {
      if (socket.readyState !== socket.OPEN) return;
      // Old servers never read their event sockets and so never answer pings: silence means a dead peer only after a first answer.
      if (waiting && answers > 0) socket.terminate();
      waiting = true;
      socket.ping();
    }, heartbeatMs);
    timer.unref();
    return () => clearInterval(timer);
  }
}

const knownTypes: readonly string[] = eventTypes;

function parseEvent(data: RawData): Event | undefined {
  try {
    const value: unknown = JSON.parse(asText(data));
    if (!isObject(value) || typeof value['type'] !== 'string' || !knownTypes.includes(value['type'])) return undefined;
    return value as unknown as Event;
  } catch {
    return undefined;
  }
}

function asText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString('utf8');
  return Buffer.isBuffer(data) ? data.toString('utf8') : Buffer.from(data).toString('utf8');
}
