// Follows background operations to their end: by the event socket while it stands, by the wait endpoint while it does not.
import type { Operation } from '../api/operation.ts';
import { ClientError, isNotFound } from './client-error.ts';
import { within, DeadlineError } from './deadline.ts';
import type { EventSocket, EventSocketHandlers } from './event-socket.ts';
import type { Http } from './http.ts';
import { operationUrls, readOperation, type Reply } from './reply.ts';

export interface Operations {
  /**
   * Runs `begin` with the event socket already open, then waits for the operation it started, if any. Resolves with the reply,
   * its `operation` being the final one. Throws ClientError operationFailed, operationCancelled or operationLost.
   */
  run<T>(begin: () => Promise<Reply<T>>, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Reply<T>>;
  /** `operation`: the object, its id or its URL. Throws as `run` does. */
  wait(operation: Operation | string, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Operation>;
  get(id: string, signal?: AbortSignal): Promise<Operation>;
  /** Ids of current and queued operations. */
  list(signal?: AbortSignal): Promise<readonly string[]>;
  /** Asks for cancellation; the operation ends later. */
  cancel(id: string, signal?: AbortSignal): Promise<void>;
}
export type OnUpdate = (operation: Operation) => void;

interface OperationsDeps {
  readonly http: Http;
  readonly openEvents: (handlers: EventSocketHandlers) => EventSocket;
  /** While the socket stands, the operation is still read this often: servers may leave out events. Default 10 s. */
  readonly resyncMs?: number;
  /** How long to wait for the socket before going on without it. Default 2 s. */
  readonly socketGraceMs?: number;
}

const finalCode = 200;
const rememberedOperations = 512;
const waitSeconds = 20;

/** `/1.0/operations/<uuid>?project=x` or the bare id -> id. */
export function operationId(operation: Operation | string): string {
  const text = typeof operation === 'string' ? operation : operation.id;
  return (text.split('?')[0] ?? '').split('/').at(-1) ?? '';
}

/** Owns the shared event socket; opened at the first need, closed by `close`. */
export class OperationFollower implements Operations {
  readonly #deps: OperationsDeps;
  #socket: EventSocket | undefined;
  #connected = false;
  /** The first connection attempt has ended, well or not. */
  #tried = false;
  /** Latest state by id, so that an event between the answer of a call and the wait for it is not lost. */
  readonly #latest = new Map<string, Operation>();
  readonly #wakers = new Set<() => void>();

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
  }

  async run<T>(begin: () => Promise<Reply<T>>, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Reply<T>> {
    await this.#ready(signal);
    const reply = await begin();
    if (reply.operation === undefined) return reply;
    return { ...reply, operation: await this.wait(reply.operation, signal, onUpdate) };
  }

  async wait(operation: Operation | string, signal?: AbortSignal, onUpdate?: OnUpdate): Promise<Operation> {
    const id = operationId(operation);
    await this.#ready(signal);
    let shown = '';
    const show = (seen: Operation): void => {
      const text = JSON.stringify([seen.status_code, seen.metadata, seen.updated_at]);
      if (text !== shown) onUpdate?.(seen);
      shown = text;
    };
    // The first read comes after the subscription, so whatever ended before is seen here and whatever ends later is an event.
    for (let current = await this.#read(id, signal); ; current = await this.#next(id, current, signal)) {
      show(current);
      if (current.status_code >= finalCode) {
        this.#latest.delete(id);
        return finished(await this.#confirmed(current, signal));
      }
    }
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
    this.#wake();
  }

  /** Resolves when the socket stands, or after a short grace: waiting works without it, only less quickly. */
  async #ready(signal: AbortSignal | undefined): Promise<void> {
    this.#socket ??= this.#deps.openEvents({
      onEvent: (event) => {
        const operation = event.type === 'operation' ? readOperation(event.metadata) : undefined;
        if (operation !== undefined) this.#remember(operation);
      },
      onOpen: () => {
        this.#connected = true;
        this.#tried = true;
        this.#wake();
      },
      onDown: () => {
        this.#connected = false;
        this.#tried = true;
        this.#wake();
      },
    });
    const until = Date.now() + (this.#deps.socketGraceMs ?? 2000);
    while (!this.#tried && Date.now() < until) await this.#changed(until - Date.now(), signal);
    this.#tried = true;
  }

  #remember(operation: Operation): void {
    // Real servers send events of one operation out of order at times: what has ended does not run again.
    if ((this.#latest.get(operation.id)?.status_code ?? 0) >= finalCode && operation.status_code < finalCode) return;
    this.#latest.delete(operation.id);
    this.#latest.set(operation.id, operation);
    const oldest = this.#latest.size > rememberedOperations ? this.#latest.keys().next().value : undefined;
    if (oldest !== undefined) this.#latest.delete(oldest);
    this.#wake();
  }

  #wake(): void {
    for (const waker of this.#wakers) waker();
  }

  /** Something happened on the socket, or `ms` passed. */
  async #changed(ms: number, signal: AbortSignal | undefined): Promise<void> {
    let waker = (): void => {};
    try {
      await within(
        ms,
        (inner) =>
          new Promise<void>((resolve, reject) => {
            waker = resolve;
            this.#wakers.add(waker);
            inner.addEventListener('abort', () => reject(inner.reason as Error), { once: true });
          }),
        signal,
      );
    } catch (error) {
      // The caller's signal may carry a deadline too: that one ends the wait.
      if (signal?.aborted === true || !(error instanceof DeadlineError)) throw error;
    } finally {
      this.#wakers.delete(waker);
    }
  }

  async #next(id: string, current: Operation, signal: AbortSignal | undefined): Promise<Operation> {
    if (!this.#connected) {
      const timeoutMs = (waitSeconds + 10) * 1000;
      return this.#orRemembered(id, this.#fetch(id, '/wait', { timeout: waitSeconds, timeoutMs }, signal));
    }
    const until = Date.now() + (this.#deps.resyncMs ?? 10_000);
    for (let seen = this.#latest.get(id); ; seen = this.#latest.get(id)) {
      if (seen !== undefined && seen !== current) return seen;
      const left = until - Date.now();
      if (left <= 0 || !this.#connected) return this.#read(id, signal);
      await this.#changed(left, signal);
    }
  }

  #read(id: string, signal: AbortSignal | undefined): Promise<Operation> {
    return this.#orRemembered(id, this.get(id, signal));
  }

  /** A newer event wins over the answer; an operation that is gone may have left its end in an event. */
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
        {
          status: 404,
          cause: error,
        },
      );
    }
  }

  /** Events are hints: the end is read once more, since metadata such as the exit status may come with it only. */
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
      { method: 'GET', path, query: { timeout }, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
      signal,
    );
    const operation = readOperation(reply.metadata);
    if (operation === undefined) throw new ClientError('badReply', `GET ${path}: the answer is no operation`);
    return operation;
  }
}

function finished(operation: Operation): Operation {
  if (operation.status_code < 400) return operation;
  const code = operation.status_code === 401 ? 'operationCancelled' : 'operationFailed';
  const what = operation.description === '' ? 'The operation' : operation.description;
  const why = operation.err === '' ? operation.status : operation.err;
  throw new ClientError(code, `${what}: ${why}`, { status: operation.status_code, operation });
}
