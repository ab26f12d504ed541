// Consoles in the browser: carries a websocket's bytes to a terminal in a container of a host, and back.
import type { AppDeps } from '../app.ts';
import type { IncomingMessage } from 'node:http';
import { PassThrough, Writable, type Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import type { ExecSession, TerminalSize } from '../../../../server/client/channels/exec.ts';
import { rawAnswer } from '../../../../server/lib/shared/raw-answer.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Controller } from '../../controller.ts';
import type { ApiCaller } from '../access/authenticator.ts';
import { endpoints } from '../endpoints.ts';
import { Refusal, toRefusal } from '../refusal.ts';
import { readQuery } from '../route.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** How often the right to the console, and whether the browser is there, is checked while it is open. */
const checkEveryMs = 15_000;

export interface ConsoleDeps extends Pick<AppDeps, 'authenticator' | 'gate' | 'headers' | 'log'> {
  readonly controller: Pick<Controller, 'connection'>;
  readonly isOn: () => boolean;
}

interface ConsoleRequest {
  readonly host: string;
  readonly container: string;
  readonly project: string | undefined;
  readonly command: string | undefined;
  readonly size: TerminalSize;
}

interface Session {
  readonly resize: (size: TerminalSize) => void;
  readonly close: () => void;
  /** The exit code, of a command. */
  readonly ended: Promise<number | undefined>;
}

const maxConsoles = 64;
const maxFrameBytes = 64 * 1024;
const maxBacklogBytes = 1024 * 1024;
const row = endpoints.find(({ id }) => id === 'console');
const pathPattern = /^\/api\/v1\/hosts\/([^/]{1,300})\/containers\/([^/]{1,300})\/console$/;

export class Consoles {
  readonly #deps: ConsoleDeps;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes });
  readonly #open = new Set<WebSocket>();

  constructor(deps: ConsoleDeps) {
    this.#deps = deps;
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    void this.#upgrade(request, socket, head).catch((error: unknown) => this.#refuse(socket, toRefusal(error)));
  };

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { caller, wanted } = await this.#admit(request);
    // Others were admitted at the same time.
    if (this.#open.size >= maxConsoles) throw new Refusal('unavailable', `${maxConsoles} consoles are open; close one`);
    this.#server.handleUpgrade(request, socket, head, (peer) => void this.#serve(peer, request, caller, wanted));
  }

  close(): void {
    for (const peer of this.#open) peer.terminate();
  }

  async #admit(request: IncomingMessage): Promise<{ readonly caller: ApiCaller; readonly wanted: ConsoleRequest }> {
    const url = new URL(request.url ?? '/', 'http://controller');
    const [, host, container] = pathPattern.exec(url.pathname) ?? [];
    if (row === undefined || host === undefined || container === undefined)
      throw new Refusal('not-found', 'There is no websocket at this path');
    const caller = await this.#deps.authenticator.admit(request, row);
    if (!this.#deps.isOn())
      throw new Refusal('forbidden', 'Consoles are off: set console: true in the controller part of gantry.yaml');
    const { project, command, width = 80, height = 24 } = readQuery(row, Object.fromEntries(url.searchParams));
    return {
      caller,
      wanted: {
        host: decoded(host),
        container: decoded(container),
        project: textOf(project),
        command: textOf(command),
        size: { columns: Number(width), rows: Number(height) },
      },
    };
  }

  async #serve(peer: WebSocket, request: IncomingMessage, caller: ApiCaller, wanted: ConsoleRequest): Promise<void> {
    this.#open.add(peer);
    // Keeps early input in the socket until the session reads it.
    peer.pause();
    const { authenticator, gate, isOn, log } = this.#deps;
    const end = new AbortController();
    const { host, container: name, project, command } = wanted;
    const body = { name, ...withoutUndefined({ project, command }) };
    const asked = {
      endpoint: row ?? { id: 'console' },
      caller,
      from: authenticator.addressOf(request),
      hosts: [host],
      body,
    };
    const timer = setInterval(() => {
      if (!authenticator.isStillGood(request, caller)) peer.close(4001, 'the login has ended');
      else if (!isOn() || !gate.isAllowed(asked)) peer.close(4001, 'the right to consoles has ended');
      // The kernel ends a connection whose other side is gone only when something is sent there.
      else peer.ping();
    }, checkEveryMs);
    peer.on('error', () => peer.terminate());
    peer.once('close', () => {
      clearInterval(timer);
      this.#open.delete(peer);
      end.abort();
    });
    const what = `${wanted.container} on ${wanted.host}`;
    log.info(`${caller.name ?? '?'}: a console of ${what} opens`);
    try {
      await gate.change(asked, () => this.#carry(peer, wanted, end.signal));
      peer.close(1000);
    } catch (error) {
      if (end.signal.aborted) return;
      log.warn(`The console of ${what} failed: ${reasonOf(error)}`);
      peer.send(JSON.stringify({ error: reasonOf(error) }));
      peer.close(1011);
    } finally {
      log.info(`The console of ${what} that ${caller.name ?? '?'} opened has ended`);
    }
  }

  async #carry(peer: WebSocket, wanted: ConsoleRequest, signal: AbortSignal): Promise<void> {
    const stdin = inputOf(peer);
    let resize: (size: TerminalSize) => void = () => {};
    // Buffers input until the terminal is open.
    peer.on('message', (data, isBinary) => {
      if (isBinary) write(peer, stdin, data);
      else resize(readSize(data) ?? wanted.size);
    });
    peer.resume();
    // Aborting the start would leave an operation that waits for its channels.
    const session = await this.#start(wanted, stdin, outputOf(peer));
    ({ resize } = session);
    signal.addEventListener('abort', () => session.close());
    if (signal.aborted) session.close();
    const code = await session.ended;
    if (code !== undefined) peer.send(JSON.stringify({ exit: code }));
  }

  async #start(wanted: ConsoleRequest, stdin: PassThrough, stdout: Writable): Promise<Session> {
    const { host, container, project, command, size } = wanted;
    const connection = await this.#deps.controller.connection(host);
    const client = project === undefined ? connection : connection.inProject(project);
    if (command === undefined) {
      const attached = await client.console(container, { size, stdin, stdout });
      return joined(
        attached,
        attached.ended.then(() => undefined),
      );
    }
    const run = { command: ['/bin/sh', '-c', command], environment: { TERM: 'xterm-256color' }, terminal: size };
    const running = await client.exec(container, { ...run, stdin, stdout, stderr: stdout });
    return joined(running, running.exited);
  }

  #refuse(socket: Duplex, refusal: Refusal): void {
    const json = { 'content-type': 'application/json; charset=utf-8' };
    const headers = { ...this.#deps.headers, ...refusal.details.headers, ...json };
    socket.end(rawAnswer(refusal.status, headers, `${JSON.stringify(refusal.body)}\n`));
  }
}

const joined = (session: Pick<ExecSession, 'resize' | 'close'>, ended: Session['ended']): Session => ({
  resize: (size) => session.resize(size),
  close: () => session.close(),
  ended,
});

const bytesOf = (data: RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);

function inputOf(peer: WebSocket): PassThrough {
  const stdin = new PassThrough();
  stdin.on('drain', () => peer.resume());
  peer.once('close', () => stdin.end());
  return stdin;
}

function write(peer: WebSocket, stdin: PassThrough, data: RawData): void {
  if (stdin.writableEnded) return;
  if (!stdin.write(bytesOf(data))) peer.pause();
}

/** Pauses the terminal while the browser does not read. */
function outputOf(peer: WebSocket): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (peer.readyState !== peer.OPEN) return done();
      // The buffered amount is what the browser has not taken; only the kernel acknowledges frames.
      if (peer.bufferedAmount < maxBacklogBytes) {
        peer.send(chunk, { binary: true }, () => {});
        return done();
      }
      return peer.send(chunk, { binary: true }, () => done());
    },
  });
}

function readSize(data: RawData): TerminalSize | undefined {
  try {
    const { width, height } = JSON.parse(bytesOf(data).toString()) as {
      readonly width?: unknown;
      readonly height?: unknown;
    };
    return isCount(width) && isCount(height) ? { columns: width, rows: height } : undefined;
  } catch {
    return undefined;
  }
}

const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1000;
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refusal('bad-request', 'The path is malformed');
  }
}
