// A small HTTP server with the API in either dialect over a unix socket or TLS, for tests of the client. It stores objects in memory
// and lets the test script how operations end; it does not simulate containers.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocketServer, type WebSocket } from 'ws';

export type FakeDialect = 'svc' | 'lxd';

export interface FakeOperation {
  id: string;
  class: 'task';
  description: string;
  created_at: string;
  updated_at: string;
  status: string;
  status_code: number;
  resources: Record<string, string[]> | null;
  metadata: Record<string, unknown> | null;
  may_cancel: boolean;
  err: string;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** The answer of a handler; `raw` sends bytes unchanged. */
export type FakeAnswer =
  | { readonly sync: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly async: FakeOperation }
  | { readonly error: number; readonly message: string; readonly code?: string }
  | { readonly raw: Buffer | string; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly hangUp: true }
  | { readonly never: true };

export type FakeHandler = (request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>;

export interface FakeDaemonOptions {
  readonly dialect?: FakeDialect;
  readonly tls?: { readonly certificate: string; readonly key: string; readonly requestClient?: boolean };
  readonly auth?: string;
  /** 'METHOD /path' -> answer; tried before the built-in routes. */
  readonly routes?: Readonly<Record<string, FakeHandler>>;
  /** Called before the built-in routes, after `routes`; undefined passes on. */
  readonly fallback?: (request: FakeRequest) => Promise<FakeAnswer | undefined>;
  /** false: the event endpoint answers 404. */
  readonly events?: boolean;
}

/** Start with `startFakeDaemon`; always `stop` it. */
export class FakeDaemon {
  readonly dialect: FakeDialect;
  readonly requests: FakeRequest[] = [];
  readonly operations = new Map<string, FakeOperation>();
  readonly sockets = new Set<WebSocket>();
  readonly routes: Record<string, FakeHandler>;
  eventConnections = 0;
  host = '';
  socketPath = '';
  #options: FakeDaemonOptions;
  #server: Server | undefined;
  #folder = '';
  #waiters: { id: string; check: () => void }[] = [];
  #connections = new Set<Duplex>();

  constructor(options: FakeDaemonOptions) {
    this.#options = options;
    this.dialect = options.dialect ?? 'svc';
    this.routes = { ...options.routes };
  }

  async start(): Promise<this> {
    const { tls } = this.#options;
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#serve(request, response).catch(() => response.destroy());
    const server =
      tls === undefined
        ? createHttpServer(listener)
        : createHttpsServer(
            { cert: tls.certificate, key: tls.key, requestCert: tls.requestClient === true, rejectUnauthorized: false },
            listener,
          );
    this.#server = server;
    server.on('connection', (socket: Duplex) => {
      this.#connections.add(socket);
      socket.once('close', () => this.#connections.delete(socket));
    });
    const upgrades = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      if (this.#options.events === false) {
        socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
        return;
      }
      upgrades.handleUpgrade(request, socket, head, (ws) => {
        this.eventConnections += 1;
        this.sockets.add(ws);
        ws.on('close', () => this.sockets.delete(ws));
      });
    });
    if (tls === undefined) {
      this.#folder = await mkdtemp(join(tmpdir(), 'gantry-fake-'));
      this.socketPath = join(this.#folder, 'unix.socket');
      this.host = `unix://${this.socketPath}`;
      await new Promise<void>((resolve) => server.listen(this.socketPath, resolve));
    } else {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      this.host = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }
    return this;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    for (const connection of this.#connections) connection.destroy();
    await new Promise<void>((resolve) => (this.#server ? this.#server.close(() => resolve()) : resolve()));
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true });
  }

  newOperation(fields: Partial<FakeOperation> = {}): FakeOperation {
    const now = new Date().toISOString();
    const operation: FakeOperation = {
      id: randomUUID(),
      class: 'task',
      description: 'Doing something',
      created_at: now,
      updated_at: now,
      status: 'Running',
      status_code: 103,
      resources: null,
      metadata: null,
      may_cancel: false,
      err: '',
      ...fields,
    };
    this.operations.set(operation.id, operation);
    return operation;
  }

  /** Changes the operation, notifies event listeners and ends long polls. `quiet`: no event. */
  update(operation: FakeOperation, fields: Partial<FakeOperation>, quiet = false): void {
    Object.assign(operation, fields, { updated_at: new Date().toISOString() });
    if (!quiet) this.emit('operation', operation);
    for (const waiter of this.#waiters.filter(({ id }) => id === operation.id)) waiter.check();
  }

  finish(operation: FakeOperation, fields: Partial<FakeOperation> = {}, quiet = false): void {
    this.update(operation, { status: 'Success', status_code: 200, ...fields }, quiet);
  }

  emit(type: string, metadata: unknown): void {
    const text = JSON.stringify({ type, timestamp: new Date().toISOString(), metadata });
    for (const socket of this.sockets) socket.send(text);
  }

  dropSockets(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const seen: FakeRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    this.requests.push(seen);
    const handler = this.routes[`${seen.method} ${seen.path}`];
    const answer =
      handler === undefined
        ? ((await this.#options.fallback?.(seen)) ?? (await this.#builtIn(seen)))
        : await handler(seen);
    this.#answer(response, answer);
  }

  async #builtIn(request: FakeRequest): Promise<FakeAnswer> {
    if (request.path === '/1.0') {
      return {
        sync: {
          auth: this.#options.auth ?? 'trusted',
          api_version: '1.0',
          api_extensions: ['etag'],
          environment: { server: this.dialect === 'lxd' ? 'lxd' : 'gantry' },
        },
      };
    }
    if (request.path === '/1.0/operations') {
      const urls = [...this.operations.keys()].map((id) => `/1.0/operations/${id}`);
      return { sync: this.dialect === 'lxd' ? { running: urls } : urls };
    }
    const match = /^\/1\.0\/operations\/([^/]+)(\/wait)?$/.exec(request.path);
    const operation = this.operations.get(match?.[1] ?? '');
    if (operation === undefined) return { error: 404, message: 'not found', code: 'notFound' };
    if (match?.[2] !== undefined) await this.#wait(operation, Number(request.query.get('timeout') ?? -1));
    return { sync: { ...operation } };
  }

  #wait(operation: FakeOperation, seconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = seconds >= 0 ? setTimeout(() => done(), seconds * 1000) : undefined;
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve();
      };
      const waiter = { id: operation.id, check: () => (operation.status_code >= 200 ? done() : undefined) };
      this.#waiters.push(waiter);
      waiter.check();
    });
  }

  #answer(response: ServerResponse, answer: FakeAnswer): void {
    if ('never' in answer) return;
    if ('hangUp' in answer) {
      response.destroy();
      return;
    }
    if ('raw' in answer) {
      response.writeHead(answer.status ?? 200, answer.headers).end(answer.raw);
      return;
    }
    const [status, body, headers] = this.dialect === 'lxd' ? lxdEnvelope(answer) : svcEnvelope(answer);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }
}

type Enveloped = Exclude<FakeAnswer, { raw: unknown } | { hangUp: unknown } | { never: unknown }>;
type Rendered = readonly [number, unknown, Record<string, string>];

function svcEnvelope(answer: Enveloped): Rendered {
  if ('sync' in answer) {
    return [
      answer.status ?? 200,
      { type: 'sync', status: 'Success', status_code: 200, metadata: answer.sync },
      answer.headers ?? {},
    ];
  }
  if ('async' in answer) {
    const operation = `/1.0/operations/${answer.async.id}`;
    return [
      202,
      { type: 'async', status: 'OK', status_code: 100, operation, metadata: answer.async },
      { location: operation },
    ];
  }
  const metadata = {
    code: answer.code ?? 'badRequest',
    message: answer.message,
    details: [{ path: 'name', message: 'bad' }],
  };
  return [answer.error, { type: 'error', error: 'Failure', error_code: answer.error, metadata }, {}];
}

function lxdEnvelope(answer: Enveloped): Rendered {
  const empty = { status: '', status_code: 0, operation: '', error_code: 0, error: '', metadata: null };
  if ('sync' in answer) {
    return [
      answer.status ?? 200,
      { ...empty, type: 'sync', status: 'Success', status_code: 200, metadata: answer.sync },
      answer.headers ?? {},
    ];
  }
  if ('async' in answer) {
    const operation = `/1.0/operations/${answer.async.id}`;
    return [
      202,
      { ...empty, type: 'async', status: 'Operation created', status_code: 100, operation, metadata: answer.async },
      { location: operation },
    ];
  }
  return [answer.error, { ...empty, type: 'error', error: answer.message, error_code: answer.error }, {}];
}

export const startFakeDaemon = (options: FakeDaemonOptions = {}): Promise<FakeDaemon> =>
  new FakeDaemon(options).start();
