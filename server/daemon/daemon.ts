// The composition root: builds store, drivers, services and listeners, brings the host to what is recorded, and stops again.
import type { Socket } from 'node:net';
import { machine } from 'node:os';
import { join } from 'node:path';
import { architectureName, architecturesOfHost } from '../api/image/architectures.ts';
import type { ImageCreate } from '../api/image/image.ts';
import { version } from '../api/version.ts';
import { identifyCaller } from '../auth/identify.ts';
import { PasswordAttempts } from '../auth/password-attempts.ts';
import { ensureServerCertificate } from '../auth/server-certificate.ts';
import type { RemoteLimits } from '../drivers/remote/driver.ts';
import { noRemotes, openRemotes } from '../drivers/remote/remotes.ts';
import { Doors, type LxdDoors } from './listeners.ts';
import { damageCheck, noDamageCheck } from '../drivers/image/damage.ts';
import { openHostDrivers, type HostDriverOptions, type HostDrivers, type RuntimeChoice } from './host-drivers.ts';
import { EventHub } from '../events/hub.ts';
import { GuestSocketServer } from '../guest/guest-sockets.ts';
import { SilentGuestSockets } from '../guest/dry-run-sockets.ts';
import { svcDialect } from '../http/dialects/svc.ts';
import type { Identify } from '../http/caller-identity.ts';
import { dialChannel } from '../http/dial-channel.ts';
import { PeerConnections } from '../http/peer-connections.ts';
import { routesOf } from '../http/routes/table.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import type { Log } from '../lib/log.ts';
import { LoopWatch } from '../lib/event-loop-watch.ts';
import { Operations } from '../operations/manager.ts';
import type { RecordName } from '../operations/pending-undos.ts';
import { Sagas } from '../operations/saga.ts';
import { Records } from '../records/records.ts';
import { Backups } from '../services/backups/backups.ts';
import { Certificates } from '../services/server/certificates.ts';
import { Containers } from '../services/containers/containers.ts';
import { ContainerFiles } from '../services/containers/files/files.ts';
import { ContainersMetadata } from '../services/containers/files/metadata.ts';
import { IdMaps } from '../services/containers/life/id-maps.ts';
import { GuestAccess } from '../services/containers/guest-access.ts';
import { GuestView } from '../services/containers/guest-view.ts';
import { NetworkHosts } from '../services/networks/network-hosts.ts';
import { RunningDevices } from '../services/containers/devices/running-devices.ts';
import { containerSessions } from '../services/containers/exec/sessions.ts';
import { snapshotTasks } from '../services/containers/snapshots/schedule.ts';
import { Snapshots } from '../services/containers/snapshots/snapshots.ts';
import { ContainerView } from '../services/containers/view.ts';
import { Aliases } from '../services/images/aliases.ts';
import { ImagePulls } from '../services/images/image-pulls.ts';
import { ImageRefresh } from '../services/images/image-refresh.ts';
import { ImageSecrets } from '../services/images/image-secrets.ts';
import { ImageStore } from '../services/images/image-store.ts';
import { makeImage } from '../services/images/make-image.ts';
import { Migrations } from '../services/migration/migrations.ts';
import { Networks } from '../services/networks/networks.ts';
import { Pools } from '../services/storage/pools.ts';
import { Profiles } from '../services/profiles/profiles.ts';
import type { Caller } from '../services/caller.ts';
import { Scheduler, systemMinutes, type MinuteTimer } from '../services/server/scheduler.ts';
import { undoLocksOf } from '../services/server/undo-locks.ts';
import { ServerSettings, type AddressListener } from '../services/server/server.ts';
import { proxySettings, settingOf } from '../services/server/settings.ts';
import { VolumeSnapshots } from '../services/storage/volume-snapshots.ts';
import { DiskRoom } from '../services/server/disk-space.ts';
import { sweepFiles } from '../services/server/sweep-files.ts';
import { settleLimits } from '../services/storage/reapply-limits.ts';
import { Volumes } from '../services/storage/volumes.ts';
import { makeDirectories, type Directories } from './state-directories.ts';
import { openSqliteStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { ImageUsers } from '../services/images/image-users.ts';
import { sagaTable } from '../services/sagas.ts';
import { StoragePools } from '../services/storage/storage-pools.ts';

export interface DaemonOptions {
  readonly stateDir: string;
  readonly runtime: RuntimeChoice;
  /** HOST:PORT to listen on with TLS; overrides core.https_address while the daemon runs. */
  readonly https?: string;
  /** Where unmodified clients of LXD are served, in its dialect; none unless said. */
  readonly lxd?: LxdDoors;
  /** Group that may use the local sockets. */
  readonly group?: string;
  readonly log: (events: EventHub) => Log;
  /** Other drivers than those of this host: an embedding program may bring, or look into, its own. */
  readonly drivers?: (options: HostDriverOptions) => Promise<HostDrivers>;
  /** Other time than that of this host: what it is, and when a minute has passed. */
  readonly time?: { readonly clock: Clock; readonly minutes: MinuteTimer };
  /** Other patience with servers that images come from. */
  readonly remoteLimits?: Partial<RemoteLimits>;
  /** A copy of another daemon: what it holds is in this store, it answers on its socket, and does nothing that could be noticed
   *  outside: no TLS listener, no sockets for guests, nothing started by itself, nothing fetched. */
  readonly copy?: Store;
}

export interface Daemon {
  readonly socketPath: string;
  /** host:port of the TLS listener; undefined without one. */
  readonly httpsAddress: () => string | undefined;
  /** The same of the listener for clients of LXD. */
  readonly lxdHttpsAddress: () => string | undefined;
  readonly runtime: string;
  readonly runtimeReason: string;
  /** Containers keep running. */
  stop(): Promise<void>;
  /** For a host that goes down: containers stop in order, and run again after the next start. */
  shutDown(): Promise<void>;
}

/** Resolves when requests are served. On a throw everything opened is closed again. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const closers: (() => void | Promise<void>)[] = [];
  try {
    return await compose(options, closers);
  } catch (error) {
    for (const close of closers.toReversed()) await Promise.resolve(close()).catch(() => {});
    throw error;
  }
}

async function compose(options: DaemonOptions, closers: (() => void | Promise<void>)[]): Promise<Daemon> {
  const dirs = await makeDirectories(options.stateDir);
  const clock = options.time?.clock ?? systemClock();
  const events = new EventHub(clock);
  const log = options.log(events);
  const isCopy = options.copy !== undefined;
  const loop = new LoopWatch({
    onHold: (heldMs, underWay) =>
      log.warn(`The event loop was held for ${heldMs} ms; under way: ${underWay.join(', ') || 'no request'}`),
  });
  closers.push(() => loop.stop());
  // Before the store, which cannot be opened without any room.
  const room = isCopy ? undefined : new DiskRoom({ dir: dirs.database, log, nowMs: () => clock.nowMs() });
  closers.push(() => room?.close());
  const store = options.copy ?? (await openSqliteStore({ path: join(dirs.database, 'state.db'), history: noHistory }));
  closers.push(() => store.close());
  const records = await Records.open(store);
  const host = await (options.drivers ?? openHostDrivers)({ choice: options.runtime, stateDir: options.stateDir, log });
  closers.push(() => host.close());
  const certificate = await ensureServerCertificate(options.stateDir);
  const operations = new Operations({ clock, events, log, loop });
  const locks = new KeyedMutex();
  const undoLocks = { locks, keysOf: (record: RecordName) => undoLocksOf(records, record) };
  const { runtime, network } = host;
  const view = new ContainerView({ records, runtime });
  const idMaps = new IdMaps({ records, runtime, ids: host.ids });
  const pools = new Pools({
    records,
    drivers: host.storage,
    ...(host.storageMissing === undefined ? {} : { missing: host.storageMissing }),
    locks,
    log,
  });
  const users = new ImageUsers();
  const places = { imagesDir: dirs.images, backupsDir: dirs.backups, logsDir: dirs.logs };
  const table = sagaTable({ records, runtime, network, pools, view, idMaps, users, clock, log, ...places });
  const sagas = new Sagas({ records, clock, log, table, undoLocks });
  closers.push(() => sagas.close());
  const services = buildServices({
    dirs,
    clock,
    events,
    log,
    records,
    host,
    operations,
    sagas,
    view,
    idMaps,
    pools,
    users,
    locks,
    loop,
    certificate: certificate.certPem,
    isCopy,
    readOnly: () => room?.reason(),
    ...(options.remoteLimits === undefined ? {} : { remoteLimits: options.remoteLimits }),
  });

  await recover(services, { sagas, records, store, dirs, log });
  if (!isCopy) await resume(services);
  closers.push(() => services.containers.detach());
  closers.push(() => services.running.close());
  closers.push(() => services.guestSockets.closeAll());

  const identify: Identify = (connection) =>
    identifyCaller(
      connection,
      { isTrusted: (fingerprint) => services.certificates.isTrusted(fingerprint), own: certificate.fingerprint },
      new Date(clock.nowMs()),
    );
  const peers = new PeerConnections();
  const isKnown = (fingerprint: string): boolean =>
    fingerprint === certificate.fingerprint || services.certificates.isTrusted(fingerprint);
  const endTrust = (fingerprint: string, asking?: Socket): void => {
    operations.revoke(fingerprint);
    peers.end(fingerprint, asking);
  };
  const doors = await Doors.open({
    routesOf: ({ headerPrefix }) => routesOf(services, { operations, dirs, headerPrefix, endTrust }),
    peers,
    allowedOrigin: () => settingOf(records, 'core.https_allowed_origin'),
    claimOperation: (id, fingerprint) => {
      operations.claim(id, fingerprint);
      // The trust may have ended while the request was under way.
      if (!isKnown(fingerprint)) operations.revoke(fingerprint);
    },
    commonHeaders: (origin) => services.server.commonHeaders(origin),
    refusal: (endpoint) => room?.refusal(endpoint),
    stateDir: options.stateDir,
    group: options.group,
    lxd: options.lxd,
    identify,
    events,
    operations,
    certificate,
    log,
    loop,
  });
  closers.push(() => doors.close());
  await services.server.attachListener(isCopy ? noListener : doors.tls, options.https);

  const scheduler = new Scheduler({
    tasks: [...services.scheduled, ...(room === undefined ? [] : [room.task()])],
    clock,
    log,
    timer: isCopy ? noMinutes : (options.time?.minutes ?? systemMinutes),
  });
  scheduler.start();
  closers.push(() => scheduler.stop());
  const autostart = new AbortController();
  const started = isCopy ? Promise.resolve() : services.containers.autostart(autostart.signal);
  const end = async (before: () => Promise<void>): Promise<void> => {
    autostart.abort();
    // No new connections; open ones end with their requests. Listeners of events hear how the last operations end, then
    // they are let go: a server does not count as closed while they are there.
    const closed = doors.shut();
    await Promise.all([operations.close(10_000), started, scheduler.stop()]);
    await before();
    doors.endWebsockets();
    await closed;
    services.containers.detach();
    await services.running.close();
    services.guests.detach();
    await services.guestSockets.closeAll();
    await sagas.close();
    await host.close();
    await store.close();
    loop.stop();
    await room?.close();
  };
  return {
    socketPath: doors.socketPath,
    httpsAddress: () => doors.tls.address,
    lxdHttpsAddress: () => doors.lxdAddress,
    runtime: host.runtime.name,
    runtimeReason: host.reason,
    stop: () => end(() => Promise.resolve()),
    shutDown: () => end(() => services.containers.shutDown()),
  };
}

/** Nobody here watches the store, and what was replaced may be a secret. */
const noHistory = { minRevisions: 1, maxAgeMs: 0, maxRevisions: 1 };
const noListener: AddressListener = { address: undefined, listen: () => Promise.resolve() };
const noMinutes: MinuteTimer = () => ({ stop() {} });

interface Parts {
  readonly dirs: Directories;
  readonly clock: ReturnType<typeof systemClock>;
  readonly events: EventHub;
  readonly log: Log;
  readonly records: Records;
  readonly host: HostDrivers;
  readonly operations: Operations;
  readonly sagas: Sagas;
  readonly view: ContainerView;
  readonly idMaps: IdMaps;
  readonly pools: Pools;
  readonly users: ImageUsers;
  readonly locks: KeyedMutex;
  readonly loop: LoopWatch;
  readonly certificate: string;
  readonly isCopy: boolean;
  readonly readOnly: () => string | undefined;
  readonly remoteLimits?: Partial<RemoteLimits>;
}

type Services = ReturnType<typeof buildServices>;

function buildServices(parts: Parts) {
  const { dirs, clock, events, log, records, host, operations, sagas, view, idMaps, pools, users, locks } = parts;
  const { runtime, network } = host;
  const hosts = new NetworkHosts({ records, runtime, network, view, log });
  const paths = host.paths === undefined ? {} : { paths: host.paths };
  const running = new RunningDevices({
    records,
    runtime,
    view,
    pools,
    hosts,
    locks,
    proxies: host.proxies,
    log,
    ...paths,
  });
  const secrets = new ImageSecrets();
  const damage = parts.isCopy ? noDamageCheck : damageCheck;
  const imageDeps = {
    records,
    pools,
    operations,
    sagas,
    events,
    locks,
    clock,
    secrets,
    users,
    dir: dirs.images,
    damage,
  };
  const images = new ImageStore(imageDeps);
  const architecture = architectureName(machine()) ?? machine();
  const guestSockets = new (parts.isCopy ? SilentGuestSockets : GuestSocketServer)({
    dir: dirs.guests,
    view: new GuestView({ records, view, images }),
    hub: events,
    clock,
    log,
    dialect: svcDialect,
    ownFileSystems: runtime.name === 'lxc',
    loop: parts.loop,
    ...(runtime.peer === undefined ? {} : { peerOf: (name, socketFd) => runtime.peer?.(name, socketFd) ?? 'stranger' }),
  });
  const guests = new GuestAccess({ records, runtime, view, log, sockets: guestSockets });
  const remotes = (parts.isCopy ? () => noRemotes : openRemotes)({
    proxies: () => proxySettings(records, process.env),
    nowMs: () => clock.nowMs(),
    version,
    ...(parts.remoteLimits === undefined ? {} : { limits: parts.remoteLimits }),
  });
  const pulls = new ImagePulls({ ...imageDeps, remotes, architectures: architecturesOfHost(machine()) });
  const imageRefresh = new ImageRefresh({ records, operations, events, clock, images, pulls, log });
  const sessions = containerSessions({ records, runtime, operations, events, view, logsDir: dirs.logs, clock, log });
  const snapshots = new Snapshots({ records, runtime, pools, view, operations, sagas, events, locks, clock });
  const volumeDeps = { records, runtime, pools, operations, sagas, events, locks, clock };
  const backups = new Backups({
    ...volumeDeps,
    view,
    idMaps,
    log,
    dir: dirs.backups,
  });
  const containers = new Containers({
    records,
    runtime,
    network,
    pools,
    images,
    pulls,
    view,
    running,
    guests,
    operations,
    sagas,
    events,
    locks,
    clock,
    log,
    hosts,
    idMaps,
    architecture,
    ...paths,
    logsDir: dirs.logs,
    backupsDir: dirs.backups,
  });
  return {
    snapshots,
    backups,
    restoreDeps: { ...volumeDeps, idMaps, hosts, architecture },
    volumes: new Volumes(volumeDeps),
    migrations: new Migrations({
      ...volumeDeps,
      idMaps,
      hosts,
      architecture,
      dial: dialChannel,
      runs: containers,
      log,
    }),
    volumeSnapshots: new VolumeSnapshots(volumeDeps),
    sessions,
    scheduled: [
      ...snapshotTasks({ records, runtime, view, operations, locks, log, snapshots }),
      ...sessions.tasks,
      ...backups.tasks(),
      ...imageRefresh.tasks(),
    ],
    imageDeps,
    images,
    imageRefresh,
    makeImage: (caller: Caller, body: ImageCreate) =>
      makeImage({ records, operations, pulls, publishing: { ...imageDeps, runtime, idMaps } }, caller, body),
    pools,
    aliases: new Aliases({ records, images, events }),
    profiles: new Profiles({ records, runtime, idMaps, running, guests, pools, view, sagas, events, log }),
    storagePools: new StoragePools({ records, pools, sagas, events, locks, log }),
    networks: new Networks({ records, network, hosts, view, sagas, events, locks, log }),
    certificates: new Certificates({ records, events, attempts: new PasswordAttempts(() => clock.nowMs()), log }),
    server: new ServerSettings({
      records,
      events,
      pools,
      runtime,
      certificate: parts.certificate,
      log,
      loop: parts.loop,
      readOnly: parts.readOnly,
    }),
    containerMetadata: new ContainersMetadata({ records, pools, locks, events }),
    containerFiles: new ContainerFiles({ records, runtime, pools, view, locks, idMaps }),
    running,
    guests,
    guestSockets,
    containers,
  };
}

/** Half-done changes first, then the host is brought to what is recorded, then running containers are found again. */
async function recover(
  services: Services,
  deps: {
    readonly sagas: Sagas;
    readonly records: Records;
    readonly store: Store;
    readonly dirs: Directories;
    readonly log: Log;
  },
): Promise<void> {
  await services.containers.attach();
  await services.pools.mountAll();
  await deps.sagas.recover();
  const { records, dirs, log } = deps;
  await sweepFiles({ records, imageDeps: services.imageDeps, backupsDir: dirs.backups, log });
  await services.profiles.ensureDefault();
  await services.networks.upAll();
  await settleLimits({ records: deps.records, pools: services.pools, log: deps.log });
  await services.containers.settle();
}

/** What a daemon does beside running containers. */
async function resume({ running, guests, containers }: Services): Promise<void> {
  await running.resume(containers.names());
  await guests.resume(containers.names());
}
