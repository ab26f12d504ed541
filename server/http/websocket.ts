// Upgrades to websockets, the same on every listener: the event stream, and operation channels.
import type { AppDeps } from './serve/app-deps.ts';
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { endpoints } from '../api/endpoints/endpoint-table.ts';
import { AppError, errors } from '../api/errors.ts';
import { eventTypes, type EventType, type LifecycleMetadata } from '../api/event.ts';
import { eventTypesFor } from '../auth/policy.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { defaultProject } from '../api/project/project-names.ts';
import { isSeen } from '../auth/restricted-view.ts';
import { isTrustedCaller, type Caller } from '../services/shared/caller.ts';
import { accessRefusal } from './restricted.ts';
import { refuseProject } from './route.ts';
import { isTrue } from '../api/text/value-checks.ts';
import type { EventHub } from '../events/hub.ts';
import type { Operations } from '../operations/manager.ts';
import { endSoon } from '../lib/end-soon.ts';
import type { Log } from '../lib/log.ts';
import { rawAnswer } from '../lib/shared/raw-answer.ts';
import { sendEvent, watchListener } from '../events/websocket-listener.ts';
import { labelOf } from './answer.ts';
import { checkOrigin } from './serve/origin.ts';
import { logRequest } from './log-request.ts';
import { queryOf } from './query.ts';
import { ChannelSocket, channelOf } from './websocket-channel.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { EventRelay } from '../membership/event-relay.ts';
import { forwardUpgrade } from './forward.ts';
import { admitBearer, identityOf, userToForward, type Identity } from './caller-identity.ts';
import { toAppError } from '../services/shared/translate-errors.ts';
import { traceSocket, type SocketTrace, type TracedSocket } from './trace-request.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface WebsocketDeps extends Pick<
  AppDeps,
  'identify' | 'sightOf' | 'bearers' | 'loop' | 'tracer' | 'allowedOrigin' | 'followUser' | 'namesIn' | 'cluster'
> {
  readonly events: EventHub;
  readonly operations: Operations;
  readonly dialect: Dialect;
  readonly log: Log;
  /** Relays events of other members; for one listener. */
  readonly relay: Pick<EventRelay, 'listen'>;
}

interface EventSubscription {
  readonly types: ReadonlySet<EventType>;
  /** Undefined: all. Events without a project go to everybody. */
  readonly project: string | undefined;
  /** Another member listens: it gets the other members' events itself. */
  readonly isOwnOnly: boolean;
  readonly endpoint: Endpoint;
}

/** The request for the event stream. */
interface Asking {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly span: SocketTrace | undefined;
}

const switchingProtocols = 101;
/** A listener that reads too slowly is closed at this backlog. */
const maxBacklogBytes = 8 * 1024 * 1024;
/** Lifecycle events after which a caller may lose its stream. */
const endsTrust: ReadonlySet<string> = new Set([
  'certificate-deleted',
  'certificate-updated',
  'config-updated',
  'project-deleted',
  'project-renamed',
]);
/** Clients of channels send data at once as they read it, in frames of any size up to this. */
const maxFrameBytes = 16 * 1024 * 1024;
/** The kernel detects a peer that vanished silently. Pings would also end peers that only read slowly. */
const keepAliveMs = 30_000;

/** Endpoints of websockets, each with its path pattern: the event stream, and channels of operations. */
const sockets = (endpoints as readonly Endpoint[])
  .filter(({ mode }) => mode === 'websocket')
  .map((endpoint) => ({ endpoint, form: new RegExp(`^${endpoint.path.replace(/:\w+/, '([^/]+)')}/?$`) }));

export class Websockets {
  readonly #deps: WebsocketDeps;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: 1024 * 1024 });
  /** Forwarded to other members: no websocket server here has them. */
  readonly #passedOn = new Set<Duplex>();
  #isClosed = false;
  readonly #channels = new WebSocketServer({ noServer: true, maxPayload: maxFrameBytes, WebSocket: ChannelSocket });

  constructor(deps: WebsocketDeps) {
    this.#deps = deps;
    for (const server of [this.#server, this.#channels])
      server.on('wsClientError', (error, socket) => this.#refuse(socket, errors.badRequest(error.message)));
  }

  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    logRequest(this.#deps.log, request);
    const arrivedMs = Date.now();
    const admitted = admitBearer(this.#deps.bearers, request);
    if (admitted === undefined) return this.#upgrade(request, socket, head, arrivedMs);
    void admitted.then(
      () => this.#upgrade(request, socket, head, arrivedMs),
      (error: unknown) => this.#refuse(socket, toAppError(error)),
    );
  };

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, arrivedMs: number): void {
    const leave = this.#deps.loop.enter(() => `${labelOf(request)} (websocket)`);
    let span: SocketTrace | undefined;
    try {
      if (this.#isClosed) throw errors.unavailable('The daemon is stopping');
      const url = parseUrl(request.url ?? '/');
      const { endpoint, operation } = this.#authorize(request, url);
      const identity = this.#identityOf(request, url);
      const { caller, subject, isForwarded = false } = identity;
      const above = operation === undefined ? undefined : this.#deps.operations.spanOf(operation);
      const of = operation === undefined ? {} : { operation };
      span = this.#trace(caller, { endpoint, request, socket, arrivedMs, above, ...of }, url);
      if (operation === undefined) {
        const types = eventTypesFor(caller.class, parseTypes(url.searchParams.get('type')));
        const wanted = { types, project: this.#projectOf(url), isOwnOnly: isForwarded, endpoint };
        this.#listen(wanted, { request, url, socket, head, span });
        return;
      }
      const { bearers, cluster, dialect } = this.#deps;
      const member =
        isForwarded || this.#deps.operations.has(operation) ? undefined : cluster.routing.memberOfOperation(operation);
      if (cluster.isOn && member !== undefined) {
        const asked = { member, caller, user: userToForward(bearers, identity), dialect: dialect.name, request };
        const passOn = () => forwardUpgrade(cluster, asked, socket, head);
        const passed = span === undefined ? passOn() : span.within(passOn);
        this.#passedOn.add(socket);
        socket.once('close', () => this.#passedOn.delete(socket));
        this.#endWithTrust(subject, caller.project, socket);
        passed.catch((error: unknown) => this.#refuse(socket, toAppError(error), span));
        return;
      }
      const project = url.searchParams.get('project') || undefined;
      const attach = this.#deps.operations.admit(operation, url.searchParams.get('secret') ?? '', project);
      if (socket instanceof Socket) socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
      this.#channels.handleUpgrade(request, socket, head, (peer) => {
        span?.answered(switchingProtocols);
        this.#endWithTrust(subject, caller.project, socket);
        attach(channelOf(peer, socket));
      });
    } catch (error) {
      this.#refuse(socket, toAppError(error), span);
    } finally {
      leave();
    }
  }

  /** The connection of a user with a token ends when the config no longer trusts the user, whoever started the operation. */
  #endWithTrust(subject: string | undefined, project: string, socket: Duplex): void {
    if (subject === undefined) return;
    const unfollow = this.#deps.followUser(subject, project, () => socket.destroy());
    socket.once('close', unfollow);
  }

  /** Untrusted callers add nothing to traces. */
  #trace(
    caller: Caller,
    traced: Omit<TracedSocket, 'project' | 'member'>,
    { searchParams }: URL,
  ): SocketTrace | undefined {
    const tracer = isTrustedCaller(caller) ? this.#deps.tracer() : undefined;
    if (tracer === undefined) return undefined;
    const project = searchParams.get('project') || defaultProject;
    return traceSocket(tracer, { ...traced, project, member: this.#deps.cluster.ownName });
  }

  close(): void {
    this.#isClosed = true;
    for (const server of [this.#server, this.#channels]) {
      for (const peer of server.clients) peer.terminate();
      server.close();
    }
    for (const socket of this.#passedOn) socket.destroy();
  }

  /** The requested stream; without an operation it is the event stream. Throws if the caller may have neither. */
  #authorize(request: IncomingMessage, url: URL): { readonly endpoint: Endpoint; readonly operation?: string } {
    const socket = sockets.find(({ form }) => form.test(url.pathname));
    if (socket === undefined) throw new AppError('notFound', `There is no websocket at ${url.pathname}`);
    const { endpoint, form } = socket;
    const operation = form.exec(url.pathname)?.[1];
    const refusal = this.#refusal(request, url, endpoint);
    if (refusal !== undefined) throw refusal;
    checkOrigin(this.#deps.allowedOrigin(), request, true);
    return { endpoint, ...withoutUndefined({ operation }) };
  }

  #refusal(request: IncomingMessage, url: URL, endpoint: Endpoint): AppError | undefined {
    return accessRefusal(this.#callerOf(request, url), endpoint, queryOf(url.search.slice(1)), false);
  }

  #identityOf(request: IncomingMessage, url: URL): Identity {
    return identityOf(this.#deps, request, url.searchParams.get('project') || defaultProject);
  }

  #callerOf(request: IncomingMessage, url: URL): Caller {
    return this.#identityOf(request, url).caller;
  }

  /** The stream begins once events of all members arrive. */
  #listen(wanted: EventSubscription, { request, url, socket, head, span }: Asking): void {
    const begin = (leave: () => void): void => {
      if (socket.destroyed) return leave();
      this.#server.handleUpgrade(request, socket, head, (peer) => {
        span?.answered(switchingProtocols);
        peer.once('close', leave);
        this.#stream(peer, wanted, request, url);
      });
    };
    if (wanted.isOwnOnly || !this.#deps.cluster.isOn) begin(() => {});
    else void this.#deps.relay.listen().then(begin);
  }

  /** The project of the wanted events; undefined: all projects. */
  #projectOf({ searchParams }: URL): string | undefined {
    const named = searchParams.get('project') ?? '';
    if (isTrue(searchParams.get('all-projects') ?? '')) return refuseProject({ project: named });
    const project = named || defaultProject;
    if (project === '*') return undefined;
    this.#deps.namesIn(project);
    return project;
  }

  #stream(
    peer: WebSocket,
    { types, project, isOwnOnly, endpoint }: EventSubscription,
    request: IncomingMessage,
    url: URL,
  ): void {
    const caller = this.#callerOf(request, url);
    const sight = caller.projects === undefined ? undefined : this.#deps.sightOf(caller);
    const endUnlessTrusted = (): void => {
      const isOther = this.#callerOf(request, url).projects?.join() !== caller.projects?.join();
      if (isOther || this.#refusal(request, url, endpoint) !== undefined) peer.terminate();
    };
    const dialect = this.#deps.dialect.forClient?.(request.headers['user-agent']) ?? this.#deps.dialect;
    const unsubscribe = this.#deps.events.subscribe(
      types,
      (event, svcText) => {
        if (sight !== undefined && !isSeen(event, sight)) return;
        if (project !== undefined && (event.project ?? project) !== project) return;
        const published = dialect.event?.(event) ?? event;
        const text = published === event ? svcText : JSON.stringify(published);
        sendEvent(peer, text, maxBacklogBytes);
      },
      isOwnOnly,
    );
    // Removing a certificate, or one of its projects, takes effect at once, also on open streams; so does a config that no longer trusts a
    // user.
    const unwatch = this.#deps.events.subscribe(new Set(['lifecycle']), (event) => {
      if (endsTrust.has((event.metadata as LifecycleMetadata).action)) endUnlessTrusted();
    });
    const onClose = (): void => {
      unsubscribe();
      unwatch();
    };
    watchListener(peer, { onPing: endUnlessTrusted, onClose });
  }

  #refuse(socket: Duplex, error: AppError, span?: SocketTrace): void {
    const { status, body } = this.#deps.dialect.error(error);
    span?.answered(status);
    endSoon(socket, rawAnswer(status, { 'content-type': 'application/json' }, JSON.stringify(body)));
  }
}

function parseUrl(text: string): URL {
  try {
    return new URL(text, 'http://localhost');
  } catch {
    throw errors.badRequest('The request is malformed: its target is not a URL');
  }
}

/** Absent or empty: all. Rejects unknown types; a listener for one would never receive anything. */
function parseTypes(text: string | null): ReadonlySet<EventType> {
  if (text === null || text === '') return new Set(eventTypes);
  const wanted = text.split(',').map((part) => part.trim());
  const unknown = new Set(wanted.filter((type) => !(eventTypes as readonly string[]).includes(type)));
  if (unknown.size > 0) {
    const names = [...unknown].map((type) => JSON.stringify(type)).join(', ');
    throw errors.invalid('query', [{ path: 'type', message: `${names} is none of ${eventTypes.join(', ')}` }]);
  }
  return new Set(wanted as EventType[]);
}
