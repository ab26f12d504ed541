// The client of a daemon: one typed call per API request, over a unix socket or TLS. Composes the parts; contains no logic.
import type { WebSocket } from 'ws';
import type { ClusterMember } from '../api/cluster/cluster.ts';
import type { ContainerState, ContainerStatePut } from '../api/container/container.ts';
import type { NetworkLease } from '../api/network/network.ts';
import type { Operation } from '../api/operation.ts';
import type { Recovery, RecoveryPost } from '../api/server/recovery.ts';
import type { Server, ServerPut } from '../api/server/server.ts';
import type { Warning } from '../api/server/warning.ts';
import { ClientError } from './client-error.ts';
import { parseEndpoints, renderEndpoints, type Endpoint } from './transport/host-endpoint.ts';
import { EventSocket, type EventSocketHandlers } from './events/event-socket.ts';
import { eventStream, type EventsOptions } from './events/event-stream.ts';
import type { Event, EventType } from './events/event-types.ts';
import {
  startConsole,
  startExec,
  type ConsoleOptions,
  type ConsoleSession,
  type ExecOptions,
  type ExecSession,
} from './channels/exec.ts';
import { clusterCalls, type ClusterCalls } from './cluster-calls.ts';
import { createHttp, type Call, type Http } from './transport/http.ts';
import { outsideSpans } from '../lib/shared/spans.ts';
import { exportImage, uploadImage, type ImageExport, type ImageUpload } from './files/image-files.ts';
import { kinds, type KindName } from '../api/kinds.ts';
import type { KindTypes } from '../api/kind-schemas.ts';
import { partsOfVolume, pathOf } from './kind-paths.ts';
import {
  creating,
  listContainers,
  listOf,
  listVolumes,
  readList,
  readServer,
  sharedWhileAsked,
  writing,
  type Send,
} from './object-calls.ts';
import { OperationFollower, type Operations } from './operations.ts';
import { isObject, type Reply } from './transport/reply.ts';
import { Several, type Link } from './transport/several.ts';
import { Transport, type TransportOptions } from './transport/transport.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface ClientOptions extends Pick<TransportOptions, 'bearer' | 'tls' | 'connections' | 'link'> {
  /** Limit of every call that is not a stream or a wait; default 30 s, and an hour for changes of pools and volumes. */
  readonly timeoutMs?: number;
  /** Limit without a byte from the server, except for uploads and websockets; default 60 s. */
  readonly silentMs?: number;
  /** Sent with every call, to servers with projects. */
  readonly project?: string;
  /** Called when an answer comes from the memory of a member that misses the others' changes; `reason`: the server's explanation. */
  readonly onStale?: (reason: string | undefined) => void;
}

export interface WriteOptions {
  /** ETag of the object as it was read; 412 if it has changed since. */
  readonly ifMatch?: string;
  readonly target?: string;
}

/** The spec's wire format, or LXD's. Both are read alike; this only shows the server type. */
export type Dialect = 'svc' | 'lxd';

export interface Client {
  /** The given host in normal form; several addresses separated by commas. */
  readonly host: string;
  server(signal?: AbortSignal): Promise<Reply<Server>>;
  /** Absent keys stay; empty text unsets. */
  patchServer(body: ServerPut, options?: WriteOptions, signal?: AbortSignal): Promise<Reply<unknown>>;

  /** All objects of the kind (recursion=1). */
  list<K extends KindName>(kind: K, signal?: AbortSignal): Promise<readonly KindTypes[K]['object'][]>;
  /** `target`: as seen by that member of a cluster. */
  get<K extends KindName>(
    kind: K,
    name: string,
    signal?: AbortSignal,
    target?: string,
  ): Promise<Reply<KindTypes[K]['object']>>;
  members(signal?: AbortSignal): Promise<readonly ClusterMember[]>;
  /** Only servers with the extension `warnings` have them. */
  warnings(signal?: AbortSignal): Promise<readonly Warning[]>;
  /** Lost records of the server that are found in its pools. LXD has no such call. */
  recover(body: RecoveryPost, signal?: AbortSignal): Promise<Recovery>;
  /** These four may return an operation: wrap them in `operations.run` to wait for it. */
  create<K extends KindName>(
    kind: K,
    body: KindTypes[K]['create'],
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Reply<unknown>>;
  put<K extends KindName>(
    kind: K,
    name: string,
    body: KindTypes[K]['put'],
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Reply<unknown>>;
  patch<K extends KindName>(
    kind: K,
    name: string,
    body: Partial<KindTypes[K]['put']>,
    options?: WriteOptions,
    signal?: AbortSignal,
  ): Promise<Reply<unknown>>;
  /** `target`: the cluster member, for a volume that several have under one name. */
  delete(kind: KindName, name: string, signal?: AbortSignal, target?: string): Promise<Reply<unknown>>;
  rename(kind: KindName, name: string, newName: string, signal?: AbortSignal): Promise<Reply<unknown>>;

  containerState(name: string, signal?: AbortSignal): Promise<Reply<ContainerState>>;
  putContainerState(name: string, body: ContainerStatePut, signal?: AbortSignal): Promise<Reply<Operation>>;
  networkLeases(name: string, signal?: AbortSignal): Promise<readonly NetworkLease[]>;
  uploadImage(upload: ImageUpload, signal?: AbortSignal): Promise<Reply<Operation>>;
  exportImage(fingerprint: string, signal?: AbortSignal): Promise<ImageExport>;

  exec(name: string, options: ExecOptions, signal?: AbortSignal): Promise<ExecSession>;
  console(name: string, options: ConsoleOptions, signal?: AbortSignal): Promise<ConsoleSession>;

  readonly operations: Operations;
  readonly cluster: ClusterCalls;
  /** The same server with another of its projects; closed with this client. */
  inProject(project: string): Client;
  /** A websocket of the server, still connecting. */
  openSocket(path: string): WebSocket;
  /** Reconnects by itself; ends when `signal` aborts. `types` empty: all. */
  events(types: readonly EventType[], signal: AbortSignal, options?: EventsOptions): AsyncIterable<Event>;
  readonly http: Http;
  close(): Promise<void>;
}

/** Opens no connection yet: the first call does. `host`: one, or several members of a cluster separated by commas. Throws if it or the pin
 *  is malformed. */
export function createClient(host: string, options: ClientOptions = {}): Client {
  const endpoints = parseEndpoints(host);
  const [first, ...others] = endpoints;
  const linkTo = (endpoint: Endpoint): Transport =>
    new Transport(endpoint, {
      ...(others.length === 0 ? {} : { connectTimeoutMs: quickConnectMs }),
      ...withoutUndefined({
        tls: options.tls,
        connections: options.connections,
        link: options.link,
        bearer: options.bearer,
      }),
    });
  const transport = others.length === 0 ? linkTo(first) : new Several([linkTo(first), ...others.map(linkTo)]);
  return clientOver(transport, renderEndpoints(endpoints), options);
}

const isStorage = (kind: KindName): boolean => kind === 'storage_pool' || kind === 'storage_volume';

/** The server answers when the tools of its pool (ceph, mkfs, zfs) have ended. What waits for them has a limit of its own. */
const storageLimits = { timeoutMs: 3_600_000, silentMs: 3_600_000 };

/** The timeout if there are other members to try next. */
const quickConnectMs = 4000;

function clientOver(transport: Link, host: string, options: ClientOptions): Client {
  const inProjects = new Map<string, Client>();
  const project = options.project === undefined ? {} : { project: options.project };
  const stale = options.onStale === undefined ? {} : { onStale: options.onStale };
  const silentMs = options.silentMs ?? 60_000;
  const http = createHttp({
    transport,
    timeoutMs: options.timeoutMs ?? Math.max(30_000, options.silentMs ?? 0),
    silentMs,
    ...project,
    ...stale,
  });
  const patience = (kind: KindName): Pick<Call, 'timeoutMs' | 'silentMs'> =>
    isStorage(kind) && options.timeoutMs === undefined && options.silentMs === undefined ? storageLimits : {};
  const openEvents = (types: readonly EventType[], handlers: EventSocketHandlers): EventSocket =>
    new EventSocket(
      {
        // One stream serves all work of the client.
        open: (path) => outsideSpans(() => transport.openSocket(path)),
        types,
        ...project,
        ...(transport.endpoint.kind === 'https' ? { heartbeatMs: 20_000 } : {}),
      },
      handlers,
    );
  const operations = new OperationFollower({ http, openEvents: (handlers) => openEvents(['operation'], handlers) });
  const send: Send = (call, signal) => http.send(call, signal);
  const pools = sharedWhileAsked((signal) => listOf(send, kinds.storage_pool.collection, signal));
  return {
    host,
    http,
    operations,
    cluster: clusterCalls(send),
    inProject(name) {
      const known = inProjects.get(name);
      if (known !== undefined) return known;
      const other = clientOver(transport, host, { ...options, project: name });
      inProjects.set(name, other);
      return other;
    },
    server: (signal) => send({ method: 'GET', path: '/1.0' }, signal),
    patchServer: (json, write = {}, signal) => send({ method: 'PATCH', path: '/1.0', json, ...writing(write) }, signal),
    list: async <K extends KindName>(kind: K, signal?: AbortSignal) =>
      (kind === 'storage_volume'
        ? await listVolumes(send, pools, signal)
        : kind === 'server_config'
          ? [(await readServer(send, signal)).metadata]
          : kind === 'storage_pool'
            ? await pools(signal)
            : kind === 'container'
              ? await listContainers(send, signal)
              : await listOf(send, kinds[kind].collection, signal)) as readonly KindTypes[K]['object'][],
    warnings: async (signal) => (await listOf(send, '/1.0/warnings', signal)) as readonly Warning[],
    recover: async (json, signal) =>
      (await send<Recovery>({ method: 'POST', path: '/1.0/recovery', json }, signal)).metadata,
    members: async (signal) => (await listOf(send, '/1.0/cluster/members', signal)) as readonly ClusterMember[],
    get: async (kind, name, signal, target) => {
      const reply: Reply<object> =
        kind === 'server_config'
          ? await readServer(send, signal)
          : await send({ method: 'GET', path: pathOf(kind, name), query: { target } }, signal);
      const { pool } = partsOfVolume(name);
      return (kind === 'storage_volume' ? { ...reply, metadata: { ...reply.metadata, pool } } : reply) as never;
    },
    create: (kind, json, write = {}, signal) =>
      send({ method: 'POST', ...creating(kind, json), ...writing(write), ...patience(kind) }, signal),
    put: (kind, name, json, write = {}, signal) =>
      send({ method: 'PUT', path: pathOf(kind, name), json, ...writing(write), ...patience(kind) }, signal),
    patch: (kind, name, json, write = {}, signal) =>
      send({ method: 'PATCH', path: pathOf(kind, name), json, ...writing(write), ...patience(kind) }, signal),
    delete: (kind, name, signal, target) =>
      send({ method: 'DELETE', path: pathOf(kind, name), query: { target }, json: {}, ...patience(kind) }, signal),
    rename: (kind, name, newName, signal) =>
      send({ method: 'POST', path: pathOf(kind, name), json: { name: newName }, ...patience(kind) }, signal),
    containerState: (name, signal) => send({ method: 'GET', path: `${pathOf('container', name)}/state` }, signal),
    putContainerState: (name, json, signal) =>
      send({ method: 'PUT', path: `${pathOf('container', name)}/state`, json }, signal),
    networkLeases: async (name, signal) =>
      readList(
        await send({ method: 'GET', path: `${pathOf('network', name)}/leases` }, signal),
        'leases',
      ) as readonly NetworkLease[],
    uploadImage: (upload, signal) => uploadImage(http, upload, signal),
    exportImage: (fingerprint, signal) => exportImage(http, fingerprint, signal),
    exec: (name, execOptions, signal) => startExec({ http, operations, transport }, name, execOptions, signal),
    openSocket: (path) => transport.openSocket(path),
    console: (name, consoleOptions, signal) =>
      startConsole({ http, operations, transport }, name, consoleOptions, signal),
    events: (types, signal, streamOptions = {}) =>
      eventStream(
        (handlers) => openEvents(types.length === 0 ? ['operation', 'logging', 'lifecycle'] : types, handlers),
        streamOptions,
        signal,
      ),
    async close() {
      operations.close();
      await Promise.all([...inProjects.values()].map((other) => other.close()));
      await transport.close();
    },
  };
}

/** A client of a server that answers and trusts us. Throws ClientError `unreachable` or `untrusted` with the remedy. */
export async function connect(host: string, options: ClientOptions = {}, signal?: AbortSignal): Promise<Client> {
  const client = createClient(host, options);
  try {
    const metadata: unknown = (await client.server(signal)).metadata;
    if (!isObject(metadata))
      throw new ClientError('badReply', `GET /1.0: the answer of ${client.host} does not describe a server`);
    if (metadata['auth'] !== 'trusted') {
      const how =
        options.tls?.certificate === undefined
          ? 'give a client certificate and key that it knows'
          : 'add this client certificate to its trusted ones (POST /1.0/certificates with the trust password, or on its socket)';
      throw new ClientError('untrusted', `${client.host} does not trust this client: ${how}`, { status: 403 });
    }
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** From GET /1.0. A gantry daemon names itself; others report lxd or incus. */
export function dialectOf(server: Server): Dialect {
  const environment: unknown = server.environment;
  const name = isObject(environment) ? environment['server'] : undefined;
  return name === 'lxd' || name === 'incus' ? 'lxd' : 'svc';
}
