// Where the daemon is reached: its own socket and TLS listener, and those that serve LXD clients in their dialect. All lead to the same use
// cases.
import { dirname, join } from 'node:path';
import type { IncomingMessage } from 'node:http';
import { defaultMetricsPort } from '../api/server/listen-address.ts';
import { DebugListener } from '../debug/debug-listener.ts';
import { Connections, networkLimits } from '../http/listen/connections.ts';
import { createApp, type HttpHandler } from '../http/app.ts';
import type { AppDeps } from '../http/serve/app-deps.ts';
import { errorText } from '../lib/shared/reason.ts';
import { dialectHeader } from '../membership/peer-headers.ts';
import type { Dialect } from '../http/dialects/dialect.ts';
import { lxdDialect } from '../http/dialects/lxd.ts';
import { lxdRoutes } from '../http/dialects/lxd-routes.ts';
import { svcDialect } from '../http/dialects/svc.ts';
import {
  listenUnix,
  type Listener,
  type ListenerDeps,
  type TlsListenerDeps,
  type TlsSettings,
} from '../http/listen/listen.ts';
import { onlyMetrics } from '../http/listen/only-metrics.ts';
import type { PeerConnections } from '../http/listen/peer-connections.ts';
import type { RouteTable } from '../http/route.ts';
import type { Pki } from '../auth/pki.ts';
import { TlsListener } from '../http/listen/tls-listener.ts';
import { Websockets, type WebsocketDeps } from '../http/websocket.ts';
import { makeFolder } from '../lib/shared/make-folder.ts';

export interface LxdListeners {
  /** Path of a separate socket; its directory is made. */
  readonly socket?: string;
  /** HOST:PORT to listen on with TLS. */
  readonly https?: string;
}

export interface ListenersDeps extends Omit<AppDeps, 'routes' | 'dialect'>, Omit<WebsocketDeps, 'dialect'> {
  readonly routesOf: (dialect: Dialect) => RouteTable;
  readonly stateDir: string;
  readonly group: string | undefined;
  readonly certificate: () => TlsSettings;
  readonly members: Required<TlsListenerDeps>['members'];
  readonly lxd: LxdListeners | undefined;
  readonly peers: PeerConnections;
  readonly isProxy: (address: string) => boolean;
  /** The authority that must have signed every client's certificate; called at each use. */
  readonly pki: () => Pki | undefined;
}

/** One per dialect, and one for the other members of the cluster if neither of those listens. */
interface TlsListeners {
  readonly svc: TlsListener;
  readonly lxd: TlsListener;
  readonly members: TlsListener;
  /** Serves only metrics. */
  readonly metrics: TlsListener;
}

interface DialectDeps extends ListenerDeps {
  readonly websockets: Websockets;
}

export class Listeners {
  readonly socketPath: string;
  /** One per dialect. They listen where the flags or the server config say (`ServerSettings.attachListeners`). */
  readonly tls: TlsListeners;
  readonly debug: DebugListener;
  readonly #listeners: readonly (Listener | TlsListener | DebugListener)[];
  readonly #websockets: readonly Websockets[];

  private constructor(parts: {
    readonly socketPath: string;
    readonly tls: TlsListeners;
    readonly local: readonly Listener[];
    readonly spoken: readonly DialectDeps[];
    readonly debug: DebugListener;
  }) {
    this.socketPath = parts.socketPath;
    this.tls = parts.tls;
    this.debug = parts.debug;
    this.#listeners = [...parts.local, ...allOf(parts.tls), parts.debug];
    this.#websockets = parts.spoken.map(({ websockets }) => websockets);
  }

  /** Serves the local sockets when it resolves. If it throws, nothing is open. */
  static async open(deps: ListenersDeps): Promise<Listeners> {
    const svc = speaking(deps, svcDialect, await appOf(deps, svcDialect, deps.routesOf(svcDialect)));
    const makeLxd = () => appOf(deps, lxdDialect, lxdRoutes(deps.routesOf(lxdDialect)));
    const lxd = speaking(deps, lxdDialect, madeWhenAsked(makeLxd, deps));
    const shared = { ...tlsOf(deps), connections: new Connections(networkLimits(), deps.log) };
    const tls = {
      svc: new TlsListener({ ...forMembersToo(svc, svc, lxd), ...shared }),
      lxd: new TlsListener({ ...forMembersToo(lxd, svc, lxd), ...shared }),
      members: new TlsListener({ ...forMembersToo(svc, svc, lxd), ...shared }),
      metrics: new TlsListener({ ...onlyMetrics(svc), ...shared, defaultPort: defaultMetricsPort }),
    };
    const socketPath = join(deps.stateDir, 'unix.socket');
    const local: Listener[] = [];
    const debug = new DebugListener(deps.log);
    const opened = () => new Listeners({ socketPath, tls, local, spoken: [svc, lxd], debug });
    try {
      local.push(await listenUnix(svc, socketPath, deps.group));
      if (deps.lxd?.socket !== undefined) {
        await makeFolder(dirname(deps.lxd.socket), 0o711);
        local.push(await listenUnix(lxd, deps.lxd.socket, deps.group));
      }
      return opened();
    } catch (error) {
      await opened().close();
      throw error;
    }
  }

  /** Call when the certificate or the authority has changed. */
  renewTls(): void {
    for (const listener of allOf(this.tls)) listener.renew();
  }

  /** Accepts no new connections. Resolves when open ones have ended; websockets do not end by themselves. */
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

const allOf = ({ svc, lxd, members, metrics }: TlsListeners): readonly TlsListener[] => [svc, lxd, members, metrics];

const tlsOf = ({ certificate, members, peers, pki, log, isProxy }: ListenersDeps) => ({
  certificate,
  members,
  peers,
  pki,
  log,
  isProxy,
});

/** A member forwards requests in their original dialect, whatever the listener speaks to clients. */
function forMembersToo(own: DialectDeps, svc: DialectDeps, lxd: DialectDeps): ListenerDeps {
  const of = (request: IncomingMessage): DialectDeps => {
    const dialect = request.headers[dialectHeader];
    if (dialect === undefined) return own;
    return dialect === lxd.dialect.name ? lxd : svc;
  };
  return {
    dialect: own.dialect,
    handler: (request, response) => of(request).handler(request, response),
    websockets: { upgrade: (request, socket, head) => of(request).websockets.upgrade(request, socket, head) },
  };
}

function appOf(deps: ListenersDeps, dialect: Dialect, routes: RouteTable): Promise<HttpHandler> {
  const { identify, bearers, commonHeaders, refusal, namesIn, sightOf, log, loop, tracer } = deps;
  const { allowedOrigin, isMetricsOpen, claimOperation, followUser, countAnswer, readable, cluster, placing } = deps;
  return createApp({
    routes,
    dialect,
    identify,
    bearers,
    commonHeaders,
    refusal,
    namesIn,
    sightOf,
    log,
    loop,
    tracer,
    countAnswer,
    allowedOrigin,
    isMetricsOpen,
    claimOperation,
    followUser,
    readable,
    cluster,
    placing,
  });
}

/** Made at the first request: most servers have no LXD client, and its routes would take a tenth of their start. */
function madeWhenAsked(make: () => Promise<HttpHandler>, { log }: Pick<ListenersDeps, 'log'>): HttpHandler {
  let made: HttpHandler | undefined;
  let making: Promise<HttpHandler> | undefined;
  return (request, response) => {
    if (made !== undefined) return made(request, response);
    making ??= make().then((handler) => (made = handler));
    making.then(
      (handler) => handler(request, response),
      (error: unknown) => {
        log.error(`The routes of a dialect cannot be made: ${errorText(error)}`);
        response.destroy();
      },
    );
  };
}

function speaking(deps: ListenersDeps, dialect: Dialect, handler: HttpHandler): DialectDeps {
  const { identify, bearers, namesIn, sightOf, log, events, operations, loop, tracer } = deps;
  const { allowedOrigin, followUser, cluster, relay } = deps;
  const websockets = new Websockets({
    events,
    operations,
    identify,
    bearers,
    sightOf,
    dialect,
    log,
    loop,
    tracer,
    allowedOrigin,
    followUser,
    namesIn,
    cluster,
    relay,
  });
  return { handler, websockets, dialect };
}
