// The foundation of every service: time, events, log, records in their store, host drivers, operations.
import { version } from '../api/version.ts';
import { PkiWatch } from '../auth/pki-watch.ts';
import { ServingCertificate } from '../auth/serving-certificate.ts';
import { Cluster } from '../membership/cluster.ts';
import { ClusterKeys } from '../membership/keys/cluster-keys.ts';
import { MemberIdentity } from '../membership/keys/identity.ts';
import { keepClusterPair, readMembership } from '../membership/membership.ts';
import { EventHub } from '../events/hub.ts';
import { feedingLog, LogFeed } from '../events/log-feed.ts';
import { systemClock } from '../lib/clock.ts';
import { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import { readableLog } from '../lib/log.ts';
import { KeyedMutex } from '../lib/keyed-mutex.ts';
import { readableNames } from '../api/project/readable-names.ts';
import { Operations } from '../operations/manager.ts';
import { Records } from '../records/records.ts';
import { projectGuard } from '../services/limits/guard.ts';
import { addressGuard } from '../services/limits/address-guard.ts';
import { unprivilegedGuard } from '../services/limits/unprivileged-guard.ts';
import { sharedVolumeGuard } from '../services/storage/shared-volumes.ts';
import { DiskRoom } from '../services/server/disk-space.ts';
import { TraceSwitch } from '../traces/trace-switch.ts';
import type { DaemonOptions } from './daemon-options.ts';
import { openHostDrivers } from './host-drivers.ts';
import { EtcdClusterStores } from './stores/cluster-stores.ts';
import { MembershipHooks } from './membership-hooks.ts';
import { OwnEtcd } from './stores/own-etcd.ts';
import { KeyUse } from './stores/key-use.ts';
import { CurrentStore } from './stores/current-store.ts';
import { SingleStoreFiles } from './stores/single-store.ts';
import { lockState, stateInUse } from './stores/state-lock.ts';
import { checkOwnAddress } from './cluster/own-address.ts';
import type { OpenParts } from './open-parts.ts';
import { openStore, type OpenedStore, type OpenStoreOptions } from './stores/open-store.ts';
import { makeDirectories } from './state-directories.ts';

/** How long to wait for an earlier daemon that is ending. */
const lockMs = 3_000;

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/** For a member that waits for a majority: its number, and when its records were kept. */
interface Waiting {
  readonly member: number;
  readonly at: Date;
}

/** Serves while the store of the cluster does not answer yet. */
export type ServeWhileWaiting = (options: DaemonOptions, number: number) => Promise<() => Promise<void>>;

export async function openFoundation(
  options: DaemonOptions,
  open: OpenParts,
  waiting?: Waiting,
  serveWhileWaiting?: ServeWhileWaiting,
) {
  const { stateDir } = options;
  const isDryRun = options.dryRun !== undefined;
  const dirs = await makeDirectories(stateDir);
  const membership = isDryRun ? undefined : await readMembership(stateDir);
  // A single host's file has a lock of its own; the cluster's store is open to all members.
  let lock = isDryRun ? undefined : await lockState(stateDir, membership === undefined ? 0 : lockMs);
  if (lock === undefined && membership !== undefined) throw stateInUse(stateDir);
  open.add(() => lock?.release());
  const clock = options.time?.clock ?? systemClock();
  let cluster: Cluster | undefined;
  const events = new EventHub(clock, () => cluster?.ownName ?? 'none');
  let projects: Records['projects'] | undefined;
  const isProject = (name: string): boolean => projects?.has(name) ?? false;
  const readable = (text: string, project: string, mayKnowProjects = false): string =>
    readableNames(text, project, mayKnowProjects ? isProject : (name) => name === project && isProject(name));
  const log = readableLog(feedingLog(options.log, new LogFeed(events, clock)), (text) =>
    readableNames(text, undefined, isProject),
  );
  const traces = new TraceSwitch({
    env: isDryRun ? {} : process.env,
    service: 'gantryd',
    onProblem: (message) => log.warn(message),
  });
  open.add(() => traces.close());
  const loop = new EventLoopMonitor({
    onBlocked: (heldMs, underWay) =>
      log.warn(`The event loop was blocked for ${heldMs} ms; under way: ${underWay.join(', ') || 'no request'}`),
  });
  open.add(() => loop.stop());
  // Before the store, which cannot be opened on a full disk.
  const room = isDryRun ? undefined : new DiskRoom({ dir: dirs.database, log, nowMs: () => clock.nowMs() });
  open.add(() => room?.close());
  const identity = new MemberIdentity(stateDir);
  if (membership !== undefined) await identity.ensure(new Date(clock.nowMs()));
  const keys = new ClusterKeys({ stateDir, identity });
  const keyUse = new KeyUse({ stateDir, keys, identity, log });
  const ownEtcd = new OwnEtcd({ stateDir, log, etcdPath: options.etcdPath, issuers: () => keyUse.issuers });
  open.add(() => ownEtcd.stop());
  if (membership !== undefined) await checkOwnAddress(membership, stateDir);
  if (membership !== undefined) await keyUse.begin(membership, ownEtcd);
  if (membership?.store.own === true) await ownEtcd.resume();
  const stores = new CurrentStore(
    await openStoreOf(options, serveWhileWaiting, {
      databaseDir: dirs.database,
      log,
      membership,
      keys: keyUse,
      ...(membership?.store.own === true ? { makeRoom: () => ownEtcd.makeRoom(membership.store) } : {}),
    }),
    log,
  );
  keyUse.stores = stores;
  open.add(() => stores.close());
  // An ending daemon had the lock before.
  if (!isDryRun) lock ??= await lockState(stateDir, lockMs);
  const records = await Records.open(stores.store, membership?.number ?? waiting?.member);
  if (membership !== undefined) checkStillMember(records, membership.number, stateDir);
  stores.follow(records);
  projects = records.projects;
  const host = await (options.drivers ?? openHostDrivers)({
    choice: options.runtime,
    stateDir,
    log,
    cluster: () => partOf(records),
  });
  open.add(() => host.close());
  const guards = [
    projectGuard(records),
    addressGuard(records, host.network),
    sharedVolumeGuard(records),
    ...(options.unprivilegedOnly === true ? [unprivilegedGuard(records)] : []),
  ];
  records.guardWith((changes, others) => guards.forEach((guard) => guard(changes, others)));
  const pair = records.cluster.get('config')?.document.certificate;
  if (membership !== undefined && pair !== undefined) await keepClusterPair(stateDir, pair);
  const certificates = await ServingCertificate.open(stateDir, membership !== undefined);
  const pki = await PkiWatch.open({ dir: stateDir, server: certificates.current, log, nowMs: () => clock.nowMs() });
  open.add(() => pki.close());
  const joined = new Cluster({
    records,
    store: () => stores.store,
    identity: () => identity.current,
    log,
    keptAt: waiting?.at,
  });
  cluster = joined;
  open.add(() => joined.close());
  const operations = new Operations({ clock, events, log, loop, readable, place: joined });
  return {
    release: options.release ?? version,
    isDryRun,
    stateDir,
    unprivilegedOnly: options.unprivilegedOnly === true,
    dirs,
    clock,
    events,
    log,
    loop,
    traces,
    room,
    records,
    host,
    certificates,
    identity,
    keys,
    useKeys: () => keyUse.use(ownEtcd),
    stores,
    cluster: joined,
    ownEtcd,
    clusterStores: new EtcdClusterStores({
      stateDir,
      configured: options.clusterStore,
      own: ownEtcd,
      keys,
      current: stores,
      log,
    }),
    singleStores: new SingleStoreFiles(dirs.database, stores),
    membership: new MembershipHooks(),
    pki,
    operations,
    readable,
    locks: new KeyedMutex(),
  };
}

/** Undefined outside a cluster. */
function partOf({ member, cluster }: Records): { readonly id: string; readonly member: number } | undefined {
  const id = cluster.get('config')?.document.uuid;
  return member === undefined || id === undefined ? undefined : { id, member };
}

/** Throws an Error if the others removed this host while it was away. */
function checkStillMember(records: Records, number: number, stateDir: string): void {
  if (records.members.list().some(({ document }) => document.number === number)) return;
  throw new Error(
    `This host was removed from its cluster while it was away. To go on as a single host, with the records from before it joined, run gantryd cluster leave --state-dir ${stateDir} --yes and start gantryd again; then it may join again`,
  );
}

async function openStoreOf(
  options: DaemonOptions,
  serveWhileWaiting: ServeWhileWaiting | undefined,
  parts: Pick<OpenStoreOptions, 'databaseDir' | 'log' | 'membership' | 'keys' | 'makeRoom'>,
): Promise<OpenedStore> {
  const { dryRun, stateDir, etcd, release = version, stopStart } = options;
  if (dryRun === undefined)
    return await openStore({
      ...parts,
      stateDir,
      etcd,
      release,
      stopStart,
      serveWhileWaiting: serveWhileWaiting && ((number) => serveWhileWaiting(options, number)),
    });
  return { store: dryRun, follow: () => {}, close: () => dryRun.close() };
}
