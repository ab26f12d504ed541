// A fake controller for tests of the page: the contract over a world in memory, with sessions, roles, events, an echoing console, real
// security headers, and ways to make trouble.
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { WebSocketServer } from 'ws';
import type { ControllerEvent, Session } from '../../../reconciler/controller/contract/index.ts';
import { securityHeaders } from '../../../reconciler/controller/http/security-headers.ts';
import { answerOf, Refusal, type Recorded } from './answers.ts';
import type { PageWorld } from './worlds.ts';

export interface PageServerOptions {
  readonly world: PageWorld;
  /** Folder of the built page. */
  readonly folder: string;
  /** Absent: no login is needed. */
  readonly anonymous?: 'view' | 'operate';
  readonly port?: number;
}

const tokens: Readonly<Record<string, 'view' | 'operate'>> = { 'view-token': 'view', 'operate-token': 'operate' };
const csrfToken = 'csrf-of-the-test';
/** Typed words that end a console, and its last frame. */
const endings = [
  { word: 'exit\r', frame: { exit: 3 } },
  { word: 'fail\r', frame: { error: 'web1 is frozen' } },
];
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export class PageServer {
  readonly world: PageWorld;
  /** Requested changes, in order. */
  readonly asked: Recorded[] = [];
  readonly consoleInput: string[] = [];
  /** The command of each console, null without one. */
  readonly consoleCommands: (string | null)[] = [];
  readonly consoleSizes: string[] = [];
  /** Answers 503 to everything of the API while true. */
  isBroken = false;
  readonly #options: PageServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Set<ServerResponse>();
  #lastEvent = 0;
  #port: number;

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.world = options.world;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => sendFailure(response, error));
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    const consoles = new WebSocketServer({ noServer: true });
    this.#server.on('upgrade', (request, socket, head) => {
      if (this.#sessionOf(request).role !== 'operate') {
        socket.destroy();
        return;
      }
      consoles.handleUpgrade(request, socket, head, (web) => {
        this.consoleCommands.push(new URL(request.url ?? '/', 'http://page').searchParams.get('command'));
        web.send(Buffer.from('welcome to the console\r\n$ '));
        web.on('message', (data: Buffer, isBinary) => {
          (isBinary ? this.consoleInput : this.consoleSizes).push(data.toString());
          if (!isBinary) return;
          web.send(data);
          const typed = this.consoleInput.join('');
          const end = endings.find(({ word }) => typed.endsWith(word));
          if (end === undefined) return;
          web.send(JSON.stringify(end.frame));
          web.close();
        });
      });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  get readers(): number {
    return this.#streams.size;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Ends every connection; `start` comes back on the same port. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  emit(...events: readonly ControllerEvent[]): void {
    const text = events.map((event) => `id: ${++this.#lastEvent}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    for (const stream of this.#streams) stream.write(text);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    if (!url.pathname.startsWith('/api/')) return this.#sendFile(url.pathname, response);
    if (this.isBroken) throw new Refusal(503, 'The controller is starting.');
    const method = request.method ?? 'GET';
    if (url.pathname === '/api/v1/session') return this.#answerSession(method, request, response);
    const { role } = this.#sessionOf(request);
    if (role === undefined) throw new Refusal(401, 'Log in first.');
    if (url.pathname === '/api/v1/events') return this.#stream(request, response);
    if (method !== 'GET') {
      if (role !== 'operate') throw new Refusal(403, 'This needs the role operate.');
      if (this.#options.anonymous === undefined && request.headers['x-csrf-token'] !== csrfToken)
        throw new Refusal(403, 'The CSRF token is missing.');
    }
    const body = method === 'GET' ? undefined : await bodyOf(request);
    const { answer, events } = answerOf(this.world, { method, path: url.pathname, query: url.searchParams, body });
    if (method !== 'GET') this.asked.push({ path: url.pathname, body, ...(url.search && { query: url.search }) });
    if (url.pathname.endsWith('/file') && method === 'GET')
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(answer);
    else sendJson(response, answer);
    this.emit(...events);
  }

  async #answerSession(method: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method === 'POST') {
      const { token } = (await bodyOf(request)) as { token: string };
      if (tokens[token] === undefined) throw new Refusal(401, 'The token is not known.');
      response.setHeader('set-cookie', `session=${token}; HttpOnly; SameSite=Strict; Path=/`);
      return sendJson(response, session(tokens[token], token));
    }
    if (method === 'GET') return sendJson(response, this.#sessionOf(request));
    response.setHeader('set-cookie', 'session=; Max-Age=0; Path=/');
    response.writeHead(204).end();
  }

  #sessionOf(request: IncomingMessage): Session {
    const token = /session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    return session(tokens[token] ?? this.#options.anonymous, tokens[token] === undefined ? undefined : token);
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(': hello\n\n');
    this.#streams.add(response);
    request.once('close', () => this.#streams.delete(response));
  }

  async #sendFile(path: string, response: ServerResponse): Promise<void> {
    const name = path === '/' ? '/index.html' : normalize(path);
    const content = await readFile(join(this.#options.folder, name)).catch(() => undefined);
    if (content === undefined) throw new Refusal(404, 'There is no such file.');
    response.writeHead(200, {
      'content-type': types[extname(name)] ?? 'application/octet-stream',
      ...securityHeaders(false),
    });
    response.end(content);
  }
}

const session = (role: Session['role'], name: string | undefined): Session => ({
  ...(name !== undefined && { name }),
  ...(role !== undefined && { role, csrfToken }),
  login: { token: true, oidc: true },
  console: role === 'operate',
});

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  if (request.headers['content-type'] === 'application/octet-stream') return Buffer.concat(chunks).toString();
  return JSON.parse(Buffer.concat(chunks).toString());
}

function sendJson(response: ServerResponse, answer: unknown): void {
  if (typeof answer === 'string') {
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(answer);
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(answer));
}

function sendFailure(response: ServerResponse, error: unknown): void {
  const status = error instanceof Refusal ? error.status : 500;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code: 'refused', message: (error as Error).message } }));
}
