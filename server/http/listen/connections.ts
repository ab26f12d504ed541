// The raw connections of a listener, from before TLS and HTTP have read a byte: counted, limited, and destroyed when it ends.
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endGraceMs } from '../../lib/end-soon.ts';
import type { Log } from '../../lib/log.ts';
import { networkOf } from '../../lib/shared/attempts.ts';
import { isForWebsocket } from './other-upgrades.ts';

export interface ConnectionLimits {
  /** Max connections from all addresses together. */
  readonly inAll: number;
  readonly perAddress: number;
}

const quietMs = 60_000;

/** For network peers; local sockets, files and guests need the other descriptors. */
export function networkLimits(descriptors = maxDescriptors()): ConnectionLimits {
  const inAll = Math.max(16, Math.min(10_000, Math.floor(descriptors / 2)));
  return { inAll, perAddress: Math.ceil(inAll / 4) };
}

function maxDescriptors(): number {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return soft === undefined ? 1024 : Number(soft);
}

/** All listeners with one `Connections` share its limits. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #log: Pick<Log, 'warn'>;
  readonly #byAddress = new Map<string, number>();
  #inAll = 0;
  #quietUntil = 0;

  constructor(limits: ConnectionLimits, log: Pick<Log, 'warn'>) {
    this.#limits = limits;
    this.#log = log;
  }

  /** False: there are too many already. Call `ended` once when the connection has ended. */
  take(address: string): { readonly ended: () => void } | undefined {
    const network = networkOf(address);
    const own = this.#byAddress.get(network) ?? 0;
    const { inAll, perAddress } = this.#limits;
    if (own >= perAddress || this.#inAll >= inAll) {
      this.#warnFull(own >= perAddress ? `${address} has ${own} connections` : `there are ${this.#inAll} connections`);
      return undefined;
    }
    this.#inAll += 1;
    this.#byAddress.set(network, own + 1);
    return {
      ended: () => {
        this.#inAll -= 1;
        const left = (this.#byAddress.get(network) ?? 1) - 1;
        if (left > 0) this.#byAddress.set(network, left);
        else this.#byAddress.delete(network);
      },
    };
  }

  #warnFull(why: string): void {
    const now = Date.now();
    if (now < this.#quietUntil) return;
    this.#quietUntil = now + quietMs;
    this.#log.warn(`New connections are refused: ${why} already, which is the limit`);
  }
}

/** Watches the connections of a server. Call the result when the server no longer listens: it destroys the remaining ones after a moment,
 *  except for websockets, which end with their operations, and for busy ones. */
export function watchConnections(server: Server, connections?: Connections): (busy?: () => readonly Socket[]) => void {
  const open = new Map<Duplex | string, Duplex>();
  server.on('connection', (socket) => {
    const taken = connections?.take(socket.remoteAddress ?? '');
    if (connections !== undefined && taken === undefined) {
      socket.destroy();
      return;
    }
    // The kernel detects a peer that vanished silently.
    socket.setKeepAlive(true, 60_000);
    const key = peerOf(socket);
    open.set(key, socket);
    socket.once('close', () => {
      taken?.ended();
      if (open.get(key) === socket) open.delete(key);
    });
  });
  // An upgrade gives the raw socket, or the TLS socket on top of it, with the same peer.
  server.on('upgrade', (request: IncomingMessage, socket: Peer) => {
    if (isForWebsocket(request)) open.delete(peerOf(socket));
  });
  return (busy = () => []) => {
    setTimeout(() => {
      const exempt = new Set(busy().map(peerOf));
      for (const [key, socket] of open) if (!exempt.has(key)) socket.destroy();
    }, endGraceMs).unref();
  };
}

type Peer = Duplex & { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined };

/** Address and port over the network; local sockets have neither. */
const peerOf = (socket: Peer): Duplex | string =>
  socket.remotePort === undefined ? socket : `${socket.remoteAddress} ${socket.remotePort}`;
