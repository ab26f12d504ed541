// Where the daemon is reached: its own socket and TLS listener, and those where clients of LXD are served in their dialect. All
// of them lead to the same use cases.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createApp, type AppDeps } from '../http/app.ts';
import type { Dialect } from '../http/dialects/dialect.ts';
import { lxdDialect } from '../http/dialects/lxd.ts';
import { lxdRoutes } from '../http/dialects/lxd-routes.ts';
import { svcDialect } from '../http/dialects/svc.ts';
import { listenUnix, type Listener, type ListenerDeps, type TlsSettings } from '../http/listen.ts';
import type { PeerConnections } from '../http/peer-connections.ts';
import type { RouteTable } from '../http/route.ts';
import { TlsListener } from '../http/tls-listener.ts';
import { Websockets, type WebsocketDeps } from '../http/websocket.ts';

/** Where unmodified clients of LXD are served. */
export interface LxdListeners {
  /** Path of a socket of its own; its directory is made. */
  readonly socket?: string;
  /** HOST:PORT to listen on with TLS. */
  readonly https?: string;
}

export interface ListenersDeps extends Omit<AppDeps, 'routes' | 'dialect'>, Omit<WebsocketDeps, 'dialect'> {
  readonly routesOf: (dialect: Dialect) => RouteTable;
  readonly stateDir: string;
  /** Group that may use the local sockets. */
  readonly group: string | undefined;
  readonly certificate: TlsSettings;
  readonly lxd: LxdListeners | undefined;
  readonly peers: PeerConnections;
}

export class Listeners {
  readonly socketPath: string;
  /** Listens where the config of the server says (`ServerSettings.attachListener`). */
  readonly tls: TlsListener;
  readonly #lxdTls: TlsListener | undefined;
  readonly #listeners: readonly (Listener | TlsListener)[];
  readonly #websockets: readonly Websockets[];

  private constructor(parts: {
    readonly socketPath: string;
    readonly tls: TlsListener;
    readonly lxdTls: TlsListener | undefined;
    readonly local: readonly Listener[];
    readonly spoken: readonly ListenerDeps[];
  }) {
    this.socketPath = parts.socketPath;
    this.tls = parts.tls;
    this.#lxdTls = parts.lxdTls;
    this.#listeners = [...parts.local, parts.tls, ...(parts.lxdTls === undefined ? [] : [parts.lxdTls])];
    this.#websockets = parts.spoken.map(({ websockets }) => websockets);
  }

  /** Requests on the local sockets are served when it returns. On a throw nothing is open. */
  static async open(deps: ListenersDeps): Promise<Listeners> {
    const svc = await speaking(deps, svcDialect, deps.routesOf(svcDialect));
    const lxd =
      deps.lxd === undefined ? undefined : await speaking(deps, lxdDialect, lxdRoutes(deps.routesOf(lxdDialect)));
    const tls = new TlsListener({ ...svc, ...tlsOf(deps) });
    const lxdTls = lxd === undefined ? undefined : new TlsListener({ ...lxd, ...tlsOf(deps) });
    const spoken = [svc, ...(lxd === undefined ? [] : [lxd])];
    const socketPath = join(deps.stateDir, 'unix.socket');
    const local: Listener[] = [];
    const opened = () => new Listeners({ socketPath, tls, lxdTls, local, spoken });
    try {
      local.push(await listenUnix(svc, socketPath, deps.group));
      if (lxd !== undefined && deps.lxd?.socket !== undefined) {
        await mkdir(dirname(deps.lxd.socket), { recursive: true, mode: 0o711 });
        local.push(await listenUnix(lxd, deps.lxd.socket, deps.group));
      }
      await lxdTls?.listen(deps.lxd?.https);
      return opened();
    } catch (error) {
      await opened().close();
      throw error;
    }
  }

  /** host:port of the TLS listener for clients of LXD; undefined without one. */
  get lxdAddress(): string | undefined {
    return this.#lxdTls?.address;
  }

  /** No new connections. Resolves when the open ones ended; those of websockets do not by themselves. */
  async shut(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.close()));
  }

  endWebsockets(): void {
    for (const websockets of this.#websockets) websockets.close();
  }

  async close(): Promise<void> {
    const shut = this.shut();
    this.endWebsockets();
    await shut;
  }
}

const tlsOf = ({ certificate, peers }: ListenersDeps) => ({ certificate, peers });

/** What all listeners of one dialect share. */
async function speaking(deps: ListenersDeps, dialect: Dialect, routes: RouteTable): Promise<ListenerDeps> {
  const { identify, commonHeaders, refusal, namesIn, log, events, operations, loop, allowedOrigin, claimOperation } =
    deps;
  const handler = await createApp({
    routes,
    dialect,
    identify,
    commonHeaders,
    refusal,
    namesIn,
    log,
    loop,
    allowedOrigin,
    claimOperation,
  });
  return {
    handler,
    websockets: new Websockets({ events, operations, identify, dialect, loop, allowedOrigin }),
    dialect,
  };
}
