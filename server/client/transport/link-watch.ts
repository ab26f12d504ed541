// Detects a dead link to a host while a call waits for an answer: the kernel alone would resend for a quarter of an hour.
import { connect, type Socket } from 'node:net';
import { openTunnel, type Target } from './proxy-tunnel.ts';

export interface LinkLimits {
  /** After this long without data during a call, the link is probed. */
  readonly silentMs: number;
  /** Time limit of a new connection; two slower ones in a row mean that the link is dead. */
  readonly probeMs: number;
}

export interface LinkWatchDeps {
  readonly limits: LinkLimits;
  /** Opens a connection and closes it; false if none was made in time. */
  readonly probe: (timeoutMs: number) => Promise<boolean>;
}

const usualLimits: LinkLimits = { silentMs: 10_000, probeMs: 5_000 };
/** The kernel probes an idle peer after this long, then ten times, a second apart. */
const keepAliveMs = 5_000;

export const linkWatch = (target: Target, proxy?: URL, limits: LinkLimits = usualLimits): LinkWatch =>
  new LinkWatch({
    limits,
    probe: (timeoutMs) => (proxy === undefined ? connects(target, timeoutMs) : tunnels(target, proxy, timeoutMs)),
  });

/** A server that answers late is alive as long as its host accepts connections: only failed connections end the waiting calls. */
export class LinkWatch {
  readonly #deps: LinkWatchDeps;
  readonly #sockets = new Set<Socket>();
  #bytes = 0;
  #heardAt = 0;
  #awaited = 0;
  #isProbing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LinkWatchDeps) {
    this.#deps = deps;
  }

  add(socket: Socket): void {
    // The kernel watches connections without a waiting call, such as those for events.
    socket.setKeepAlive(true, keepAliveMs);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Call the returned function when the answer has arrived, or the call is abandoned. */
  begin(): () => void {
    let isOpen = true;
    this.#awaited += 1;
    if (this.#awaited === 1) this.#start();
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#awaited -= 1;
      if (this.#awaited === 0) clearInterval(this.#timer);
    };
  }

  #start(): void {
    this.#heardAt = performance.now();
    this.#timer = setInterval(() => void this.#look(), this.#deps.limits.silentMs / 4);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const bytes = [...this.#sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
    if (bytes !== this.#bytes) this.#heardAt = performance.now();
    this.#bytes = bytes;
    const { silentMs, probeMs } = this.#deps.limits;
    if (this.#isProbing || performance.now() - this.#heardAt < silentMs) return;
    this.#isProbing = true;
    const isAlive = (await this.#deps.probe(probeMs)) || (await this.#deps.probe(probeMs));
    this.#isProbing = false;
    const heardMs = performance.now() - this.#heardAt;
    this.#heardAt = performance.now();
    if (!isAlive && this.#awaited > 0) this.#end(heardMs);
  }

  #end(silentMs: number): void {
    const message = `the connection is dead: no data arrived for ${Math.round(silentMs / 1000)} s, and a new connection failed`;
    for (const socket of this.#sockets) socket.destroy(Object.assign(new Error(message), { code: 'ERR_GANTRY_LINK' }));
  }
}

async function tunnels(target: Target, proxy: URL, timeoutMs: number): Promise<boolean> {
  const { socket, opened } = openTunnel(proxy, target, timeoutMs);
  const error = await opened;
  socket.destroy();
  return error === undefined;
}

function connects({ host, port }: Target, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (isAlive: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isAlive);
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    socket.once('connect', () => end(true));
    // A refusal comes from a reachable host: it resets the connections that it no longer knows.
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
  });
}
