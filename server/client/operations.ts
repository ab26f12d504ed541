// Follows background operations to their end: by the event socket while it is connected, by the wait endpoint otherwise.
import { whenAborted } from '../lib/shared/abort-calls.ts';
import type { Operation } from '../api/operation.ts';
import { ClientError, isNotFound } from './client-error.ts';
import type { EventSocket, EventSocketHandlers } from './events/event-socket.ts';
import type { Http } from './transport/http.ts';
import { operationUrls, readOperation, type Reply } from './transport/reply.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface Operations {
  /** Runs `begin` with the event socket already open, then waits for the operation it started, if any. Resolves with the reply, whose
   *  `operation` is the final one. Throws ClientError operationFailed, operationCancelled or operationLost. */
  run<T>(begin: () => Promise<Reply<T>>, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Reply<T>>;
  /** `operation`: the object, its id or its URL. Throws like `run`. */
  wait(operation: Operation | string, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Operation>;
  get(id: string, signal?: AbortSignal): Promise<Operation>;
  list(signal?: AbortSignal): Promise<readonly string[]>;
  /** Requests cancellation; the operation ends later. */
  cancel(id: string, signal?: AbortSignal): Promise<void>;
}
export type OnUpdate = (operation: Operation) => void;

interface OperationsDeps {
  readonly http: Http;
  readonly openEvents: (handlers: EventSocketHandlers) => EventSocket;
}

const finalCode = 200;
const rememberedOperations = 512;
const waitSeconds = 20;
/** How long to wait for an event before an operation that was not read at its start is read. */
const firstResyncMs = 1000;
/** How often an operation is read while the socket is connected: servers may skip events. */
const resyncMs = 10_000;
/** How long to wait for the socket before continuing without it. */
const socketGraceMs = 2000;

/** `/1.0/operations/<uuid>?project=x` or the bare id -> id. */
export function operationId(operation: Operation | string): string {
  const text = typeof operation === 'string' ? operation : operation.id;
  return (text.split('?')[0] ?? '').split('/').at(-1) ?? '';
}

/** Owns the shared event socket; opened at the first use, closed by `close`. */
export class OperationFollower implements Operations {
  readonly #deps: OperationsDeps;
  #socket: EventSocket | undefined;
  #connected = false;
  /** The first connection attempt has ended, with or without success. */
  #tried = false;
  /** The current connection, once an event has arrived over it: some servers answer before they subscribe to their own events. */
  #connection: symbol | undefined;
  /** Latest state by id, so that an event between the answer of a call and the wait for it is not lost. */
  readonly #latest = new Map<string, Operation>();
  /** By the id that each waits for; '' for the socket itself. */
  readonly #wakers = new Map<string, Set<() => void>>();

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
  }

  async run<T>(begin: () => Promise<Reply<T>>, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Reply<T>> {
    await this.#ready(signal);
    const connection = this.#connection;
    const reply = await begin();
    const { operation } = reply;
    if (operation === undefined) return reply;
    // All events since its start have arrived or will arrive: no read is needed.
    const isFollowed = connection !== undefined && connection === this.#connection;
    return { ...reply, operation: await this.#follow(operation, isFollowed, signal, onUpdate) };
  }

  async wait(operation: Operation | string, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Operation> {
    await this.#ready(signal);
    return this.#follow(operation, false, signal, onUpdate);
  }

  get(id: string, signal?: AbortSignal): Promise<Operation> {
    return this.#fetch(id, '', {}, signal);
  }

  async list(signal?: AbortSignal): Promise<readonly string[]> {
    const reply = await this.#deps.http.send<unknown>({ method: 'GET', path: '/1.0/operations' }, signal);
    return operationUrls(reply.metadata).map(operationId);
  }

  async cancel(id: string, signal?: AbortSignal): Promise<void> {
    await this.#deps.http.send({ method: 'DELETE', path: `/1.0/operations/${encodeURIComponent(id)}` }, signal);
  }

  close(): void {
    this.#socket?.close();
    this.#wakeAll();
  }

  async #follow(
    begun: Operation | string,
    isFollowed: boolean,
    signal: AbortSignal | undefined,
    onUpdate: OnUpdate | undefined,
  ): Promise<Operation> {
    const id = operationId(begun);
    let shown: Operation | undefined;
    // The first read follows the subscription: it sees every earlier end, and every later end is an event.
    let current =
      isFollowed && typeof begun !== 'string' ? (this.#latest.get(id) ?? begun) : await this.#read(id, signal);
    for (let patienceMs = isFollowed ? firstResyncMs : resyncMs; ; patienceMs = resyncMs) {
      if (shown === undefined || !isSame(shown, current)) onUpdate?.(current);
      shown = current;
      if (current.status_code >= finalCode) break;
      current = await this.#next(id, current, patienceMs, signal);
    }
    const isWhole = current.class === 'task' && current.status_code === finalCode;
    return finished(isWhole ? current : await this.#confirmed(current, signal));
  }

  /** Resolves when the socket is connected, or after a short grace period: waiting works without it, only slower. */
  async #ready(signal: AbortSignal | undefined): Promise<void> {
    this.#socket ??= this.#open();
    if (this.#tried) return;
    const until = Date.now() + socketGraceMs;
    while (!this.#tried && Date.now() < until) await this.#changed('', until - Date.now(), signal);
    this.#tried = true;
  }

  #open(): EventSocket {
    return this.#deps.openEvents({
      onEvent: (event) => {
        const operation = event.type === 'operation' ? readOperation(event.metadata) : undefined;
        if (operation === undefined) return;
        this.#connection ??= Symbol('connection');
        this.#remember(operation);
      },
      onOpen: () => {
        this.#connected = true;
        this.#tried = true;
        this.#wakeAll();
      },
      onDown: () => {
        this.#connected = false;
        this.#connection = undefined;
        this.#tried = true;
        this.#wakeAll();
      },
    });
  }

  #remember(operation: Operation): void {
    // LXD sometimes sends events of one operation out of order: an ended operation does not run again.
    if ((this.#latest.get(operation.id)?.status_code ?? 0) >= finalCode && operation.status_code < finalCode) return;
    this.#latest.delete(operation.id);
    this.#latest.set(operation.id, operation);
    const oldest = this.#latest.size > rememberedOperations ? this.#latest.keys().next().value : undefined;
    if (oldest !== undefined) this.#latest.delete(oldest);
    this.#wake(operation.id);
  }

  #wake(id: string): void {
    for (const waker of this.#wakers.get(id) ?? []) waker();
  }

  #wakeAll(): void {
    for (const id of this.#wakers.keys()) this.#wake(id);
  }

  /** Resolves at an event of this operation or of the socket, or after `ms`. */
  #changed(id: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        clearTimeout(timer);
        withdraw?.();
        const others = this.#wakers.get(id);
        others?.delete(wake);
        if (others?.size === 0) this.#wakers.delete(id);
        if (signal?.aborted === true) reject(signal.reason as Error);
        else resolve();
      };
      const timer = setTimeout(wake, ms);
      const withdraw = signal && whenAborted(signal, wake);
      const others = this.#wakers.get(id);
      if (others === undefined) this.#wakers.set(id, new Set([wake]));
      else others.add(wake);
      if (signal?.aborted === true) wake();
    });
  }

  async #next(id: string, current: Operation, patienceMs: number, signal: AbortSignal | undefined): Promise<Operation> {
    if (!this.#connected) {
      const timeoutMs = (waitSeconds + 10) * 1000;
      return this.#orRemembered(id, this.#fetch(id, '/wait', { timeout: waitSeconds, timeoutMs }, signal));
    }
    const until = Date.now() + patienceMs;
    for (let seen = this.#latest.get(id); ; seen = this.#latest.get(id)) {
      if (seen !== undefined && seen !== current) return seen;
      const left = until - Date.now();
      if (left <= 0 || !this.#connected) return this.#read(id, signal);
      await this.#changed(id, left, signal);
    }
  }

  #read(id: string, signal: AbortSignal | undefined): Promise<Operation> {
    return this.#orRemembered(id, this.get(id, signal));
  }

  /** A newer event overrides the answer; a removed operation's end may be in an event. */
  async #orRemembered(id: string, answer: Promise<Operation>): Promise<Operation> {
    try {
      const fetched = await answer;
      const seen = this.#latest.get(id);
      return seen !== undefined && seen.status_code >= finalCode ? seen : fetched;
    } catch (error) {
      const seen = this.#latest.get(id);
      if (seen !== undefined && seen.status_code >= finalCode) return seen;
      if (!isNotFound(error)) throw error;
      throw new ClientError(
        'operationLost',
        `The operation ${id} is no longer known to the server; its outcome is unknown`,
        { status: 404, cause: error },
      );
    }
  }

  /** The end of a failed operation, or of one that is not a task, is read once more: only the answer may carry metadata such as the exit
   *  status. */
  async #confirmed(seen: Operation, signal: AbortSignal | undefined): Promise<Operation> {
    try {
      const read = await this.get(seen.id, signal);
      return read.status_code >= finalCode ? read : seen;
    } catch {
      signal?.throwIfAborted();
      return seen;
    }
  }

  async #fetch(
    id: string,
    suffix: string,
    options: { readonly timeout?: number; readonly timeoutMs?: number },
    signal: AbortSignal | undefined,
  ): Promise<Operation> {
    const path = `/1.0/operations/${encodeURIComponent(id)}${suffix}`;
    const { timeout, timeoutMs } = options;
    const reply = await this.#deps.http.send<unknown>(
      { method: 'GET', path, query: { timeout }, ...withoutUndefined({ timeoutMs }) },
      signal,
    );
    const operation = readOperation(reply.metadata);
    if (operation === undefined) throw new ClientError('badReply', `GET ${path}: the answer is no operation`);
    return operation;
  }
}

/** There is no newer state. */
const isSame = (one: Operation, other: Operation): boolean =>
  one.status_code === other.status_code &&
  one.updated_at === other.updated_at &&
  JSON.stringify(one.metadata) === JSON.stringify(other.metadata);

function finished(operation: Operation): Operation {
  if (operation.status_code < 400) return operation;
  const code = operation.status_code === 401 ? 'operationCancelled' : 'operationFailed';
  const what = operation.description === '' ? 'The operation' : operation.description;
  const why = operation.err === '' ? operation.status : operation.err;
  throw new ClientError(code, `${what}: ${why}`, { status: operation.status_code, operation, text: why });
}
