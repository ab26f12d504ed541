// Builds every use case on the foundation. The order is that of their needs: sagas know all they act on before anything runs them.
import { composeWarnings } from './warnings.ts';
import type { Foundation } from '../foundation.ts';
import type { DaemonOptions } from '../daemon-options.ts';
import { ContainerView } from '../../services/shared/container-view.ts';
import { IdMaps } from '../../services/containers/shared/id-maps.ts';
import { Pools } from '../../services/storage/pools.ts';
import { ImageUsers } from '../../services/images/image-users.ts';
import { sagaTable } from './saga-table.ts';
import type { RecordName } from '../../operations/pending-undos.ts';
import { undoLocksOf } from '../../services/server/undo-locks.ts';
import { Sagas } from '../../operations/saga.ts';
import { NetworkHosts } from '../../services/networks/network-hosts.ts';
import { RunningDevices } from '../../services/containers/devices/running-devices.ts';
import { ImageSecrets } from '../../services/images/image-secrets.ts';
import { noDamageCheck, damageCheck } from '../../drivers/image/damage.ts';
import { ImageStore } from '../../services/images/image-store.ts';
import { architectureName, architecturesOfHost } from '../../api/image/architectures.ts';
import { SilentGuestSockets } from '../../guest/dry-run-sockets.ts';
import { GuestSocketServer } from '../../guest/guest-sockets.ts';
import { GuestView } from '../../services/containers/guest-view.ts';
import { svcDialect } from '../../http/dialects/svc.ts';
import { GuestAccess } from '../../services/containers/guest-access.ts';
import { noRemotes, openRemotes } from '../../drivers/remote/remotes.ts';
import { proxySettings } from '../../services/shared/settings.ts';
import { version } from '../../api/version.ts';
import { ImagePulls } from '../../services/images/image-pulls.ts';
import { ImageRefresh } from '../../services/images/image-refresh.ts';
import { containerSessions } from '../../services/containers/exec/sessions.ts';
import { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import { Backups } from '../../services/transfer/backups/backups.ts';
import { ContainerEnds } from '../../services/containers/power/ends.ts';
import { ContainerReader } from '../../services/containers/reader.ts';
import { patchContainer } from '../../services/containers/update/update.ts';
import { Volumes } from '../../services/storage/volumes.ts';
import { Migrations } from '../../services/transfer/migration/migrations.ts';
import { dialChannel } from '../../http/dial-channel.ts';
import { snapshotAtStart, snapshotTasks } from '../../services/containers/snapshots/schedule.ts';
import { makeImage } from '../../services/transfer/publish/make-image.ts';
import { MemberImages } from '../../services/images/member-images.ts';
import { Aliases } from '../../services/images/aliases.ts';
import { Profiles } from '../../services/profiles/profiles.ts';
import { Projects } from '../../services/projects/projects.ts';
import { StoragePools } from '../../services/storage/storage-pools.ts';
import { Networks } from '../../services/networks/networks.ts';
import { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import { networkRealisation, poolRealisation } from '../../services/cluster/realisations.ts';
import { Placing } from '../../services/cluster/placing.ts';
import { ClusterMoves } from '../../services/cluster/moves/moves.ts';
import { MemberCopies } from '../../services/cluster/member-copies.ts';
import { AbsentMembers } from '../../services/cluster/absent-members.ts';
import { readEtcdAuthority } from '../../membership/membership.ts';
import { KeyChange } from '../../services/cluster/keys/key-change.ts';
import { CertificateChange } from '../../services/cluster/certificate/certificate-change.ts';
import { ClusterMembership } from '../../services/cluster/cluster-membership.ts';
import { Certificates } from '../../services/server/certificates.ts';
import { trustLimits } from '../../auth/trust.ts';
import { Attempts } from '../../lib/shared/attempts.ts';
import { TrustTokens } from '../../auth/trust-tokens.ts';
import { ServerMetrics } from '../../services/server/metrics.ts';
import { ServerSettings } from '../../services/server/server.ts';
import { ContainersMetadata } from '../../services/containers/files/metadata.ts';
import { machine } from 'node:os';
import { imageRoom } from '../../services/limits/image-room.ts';
import { ContainerVolumes } from '../../services/storage/container-volumes.ts';
import { VolumeSnapshots } from '../../services/storage/volume-snapshots.ts';
import { volumeSnapshotTasks } from '../../services/storage/snapshot-schedule.ts';
import type { Caller } from '../../services/shared/caller.ts';
import { MemberGroups } from '../../services/cluster/member-groups.ts';
import { MemberSettings } from '../../services/cluster/member-settings.ts';
import { replicateImages } from '../../services/images/replicate-images.ts';
import { MemberVolumes } from '../../services/cluster/member-volumes.ts';
import type { ImagePost } from '../../api/image/image.ts';
import { clusterDir } from '../../membership/membership.ts';
import { WarningBook } from '../../services/warnings/warning-book.ts';
import { noWarnings, type WarningSink } from '../../services/warnings/warning-sink.ts';
import { Guard } from '../../drivers/runtime/guard/guard.ts';
import { Fencing } from '../../services/cluster/healing/fencing.ts';
import { GoOn } from '../../services/cluster/healing/go-on.ts';
import { Healing } from '../../services/cluster/healing/healing.ts';
import { ContainerFiles } from '../../services/containers/files/files.ts';
export type Services = ReturnType<typeof composeServices>;

export function composeServices(base: Foundation, options: Pick<DaemonOptions, 'remoteLimits' | 'stateDir'>) {
  const { isDryRun, unprivilegedOnly, dirs, clock, events, log, records, host, operations, locks, loop, room } = base;
  const { runtime, network, paths, proxies } = host;
  const attempts = new Attempts(() => clock.nowMs(), trustLimits);
  const view = new ContainerView({ records, runtime, places: base.cluster });
  const idMaps = new IdMaps({ records, runtime, ids: host.ids });
  const pools = new Pools({ records, drivers: host.storage, missing: host.storageMissing ?? {}, locks, log });
  const users = new ImageUsers();
  const places = { imagesDir: dirs.images, backupsDir: dirs.backups, logsDir: dirs.logs };
  const book = new WarningBook({ records, clock, log, canWrite: () => room?.reason() === undefined });
  const warnings: WarningSink = isDryRun ? noWarnings : book;
  const acting = { records, runtime, network, pools, view, idMaps, clock, log, locks, events, warnings };
  const undoLocks = { locks, keysOf: (record: RecordName) => undoLocksOf(records, record) };
  const sagas = new Sagas({ records, clock, log, table: sagaTable({ ...acting, users, ...places }), undoLocks });
  const hosts = new NetworkHosts(acting);
  const location = (): string => base.cluster.ownName;
  const fencing = new Fencing({
    records,
    cluster: base.cluster,
    runtime,
    guard: new Guard(clusterDir(options.stateDir)),
    missing: Guard.missing(),
    log,
    warnings,
    nowMs: () => performance.now(),
  });
  const common = {
    fencing,
    ...acting,
    operations,
    sagas,
    hosts,
    unprivilegedOnly,
    location,
    ...(paths === undefined ? {} : { paths }),
  };
  const running = new RunningDevices({ ...common, proxies });
  const damage = isDryRun ? noDamageCheck : damageCheck;
  const addDeps = { ...common, dir: dirs.images, damage };
  const members = new MemberImages({ ...addDeps, cluster: base.cluster, users });
  const imageDeps = { ...addDeps, secrets: new ImageSecrets(), users, members };
  const images = new ImageStore(imageDeps);
  const architecture = architectureName(machine()) ?? machine();
  const guestSockets = new (isDryRun ? SilentGuestSockets : GuestSocketServer)({
    dir: dirs.guests,
    view: new GuestView({ records, view, images }),
    hub: events,
    clock,
    log,
    dialect: svcDialect,
    ownFileSystems: runtime.name === 'lxc',
    loop,
    ...(runtime.peer === undefined ? {} : { peerOf: (name, socketFd) => runtime.peer?.(name, socketFd) ?? 'stranger' }),
  });
  const guests = new GuestAccess({ ...common, sockets: guestSockets });
  const remotes = (isDryRun ? () => noRemotes : openRemotes)({
    proxies: () => proxySettings(records, process.env),
    nowMs: () => clock.nowMs(),
    version,
    ...(options.remoteLimits === undefined ? {} : { limits: options.remoteLimits }),
  });
  const pulls = new ImagePulls({
    ...imageDeps,
    room: (project) => imageRoom(records, project),
    remotes,
    architectures: architecturesOfHost(machine()),
  });
  const imageRefresh = new ImageRefresh({ ...common, images, pulls });
  const sessions = containerSessions({ ...common, ...places });
  const snapshots = new Snapshots(common);
  const volumes = new Volumes(common);
  const volumeSnapshots = new VolumeSnapshots(common);
  const backups = new Backups({ ...common, dir: dirs.backups });
  const containerDeps = {
    ...common,
    ...places,
    images,
    pulls,
    running,
    guests,
    architecture,
    snapshotAtStart: (name: string, signal: AbortSignal) => snapshotAtStart({ ...common, snapshots }, name, signal),
  };
  const containers = new ContainerReader({ records, view });
  const networks = new Networks({ ...common, running });
  const storagePools = new StoragePools(common);
  const { cluster } = base;
  const inCluster = { records, cluster, log };
  const poolsOfAll = poolRealisation(inCluster, storagePools);
  const networksOfAll = networkRealisation(inCluster, networks);
  const keyChange = new KeyChange({
    ...common,
    cluster: base.cluster,
    keys: base.keys,
    identity: base.identity,
    runsEtcd: (address) => base.ownEtcd.roleOf(address) !== 'none',
    use: base.useKeys,
    formerAuthority: () => readEtcdAuthority(options.stateDir),
    renew: (signal) => base.stores.renew(signal),
    nowMs: () => performance.now(),
  });
  const clusterMembership = new ClusterMembership({
    ...common,
    stateDir: options.stateDir,
    cluster: base.cluster,
    images: members,
    stores: base.clusterStores,
    single: base.singleStores,
    fence: base.clusterStores,
    certificates: base.certificates,
    identity: base.identity,
    keys: base.keys,
    keyChange,
    attempts,
    architecture,
    etcdRoleOf: (address) => base.ownEtcd.roleOf(address),
    version: base.release,
    listen: base.membership.listen,
    becameMember: base.membership.became,
  });
  const certificateChange = new CertificateChange({
    ...common,
    stateDir: options.stateDir,
    cluster: base.cluster,
    certificates: base.certificates,
    version: base.release,
    nowMs: () => performance.now(),
  });
  const server = new ServerSettings({
    ...common,
    certificate: () => base.certificates.current,
    cluster: base.cluster,
    loop,
    listenForMembers: base.membership.listen,
    readOnly: () => room?.reason() ?? (cluster.isRemoved ? cluster.doubt : undefined),
    settled: () => base.traces.settled,
  });
  const clusterPools = new ClusterObjects({ ...inCluster, on: poolsOfAll });
  const clusterNetworks = new ClusterObjects({ ...inCluster, on: networksOfAll });
  const watched = composeWarnings(base, book, {
    view,
    pools,
    hosts,
    sagas,
    server,
    fencing,
    certificateChange,
    keyChange,
    clusterPools,
    clusterNetworks,
  });
  return {
    certificateChange,
    keyChange,
    absentMembers: new AbsentMembers({ records, cluster, containers, pools }),
    aliases: new Aliases({ ...common, images }),
    backups,
    clusterPools,
    clusterNetworks,
    clusterMembership,
    memberGroups: new MemberGroups({ records, cluster, events }),
    memberSettings: new MemberSettings({ records, events, shown: (name) => clusterMembership.member(name).object }),
    certificates: new Certificates({
      ...common,
      attempts,
      tokens: new TrustTokens(() => clock.nowMs()),
      serverFingerprint: () => base.certificates.current.fingerprint,
    }),
    containerFiles: new ContainerFiles(common),
    containerMetadata: new ContainersMetadata(common),
    containers,
    containerDeps,
    containerEnds: new ContainerEnds(containerDeps),
    fencing,
    goOn: new GoOn(containerDeps),
    guests,
    guestSockets,
    healing: new Healing({ ...common, cluster, nowMs: () => performance.now() }),
    imageDeps,
    imageRefresh,
    images,
    makeImage: (caller: Caller, body: ImagePost, project: string) =>
      makeImage({ ...common, pulls, publishing: imageDeps, copying: { ...imageDeps, images } }, caller, body, project),
    clusterMoves: new ClusterMoves({
      ...containerDeps,
      cluster,
      dial: dialChannel,
      certificate: () => base.certificates.current.certPem,
    }),
    memberCopies: new MemberCopies({ records, cluster, certificate: () => base.certificates.current.certPem }),
    memberVolumes: new MemberVolumes({
      ...common,
      cluster,
      certificate: () => base.certificates.current.certPem,
    }),
    metrics: new ServerMetrics({ records, view, runtime, pools, operations, loop, warnings: watched.warnings }),
    migrations: new Migrations({ ...containerDeps, dial: dialChannel }),
    networks,
    placing: new Placing({ records, cluster, nowMs: () => clock.nowMs() }),
    pools,
    profiles: new Profiles({ ...common, running, guests }),
    projects: new Projects({ ...common, ...places, running }),
    restoreDeps: { ...common, architecture },
    running,
    sagas,
    scheduled: [
      ...snapshotTasks({ ...common, snapshots }),
      ...volumeSnapshotTasks({ ...common, snapshots: volumeSnapshots }),
      ...sessions.tasks,
      ...backups.tasks(),
      ...imageRefresh.tasks(),
      ...(isDryRun ? [] : [replicateImages({ records, cluster: base.cluster, members, log })]),
      ...(room === undefined ? [] : [room.task()]),
      ...(isDryRun ? [] : [watched.warningWatch.task(), watched.unsyncedFiles.task()]),
    ],
    server,
    sessions,
    snapshots,
    storagePools,
    volumes,
    containerVolumes: new ContainerVolumes({
      ...common,
      lists: volumes.lists,
      changeDevices: (caller, name, devices, ifMatch) =>
        patchContainer(containerDeps, caller, name, { devices }, ifMatch),
    }),
    view,
    volumeSnapshots,
    warningBook: book,
    ...watched,
  };
}
