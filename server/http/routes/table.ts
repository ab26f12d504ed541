// Every endpoint's handler, put together from the use cases.
import { backupRoom, imageRoom } from '../../services/limits/image-room.ts';
import type { Socket } from 'node:net';
import type { ImagePost } from '../../api/image/image.ts';
import type { Operation } from '../../api/operation.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Backups } from '../../services/transfer/backups/backups.ts';
import { restoreBackup, type BackupUpload, type RestoreDeps } from '../../services/transfer/backups/restore.ts';
import type { Caller } from '../../services/shared/caller.ts';
import type { ClusterObjects } from '../../services/cluster/cluster-objects.ts';
import type { AbsentMembers } from '../../services/cluster/absent-members.ts';
import type { ClusterMembership } from '../../services/cluster/cluster-membership.ts';
import type { Certificates } from '../../services/server/certificates.ts';
import type { ContainerReader } from '../../services/containers/reader.ts';
import type { StateDeps } from '../../services/containers/shared/state-deps.ts';
import type { ContainerFiles } from '../../services/containers/files/files.ts';
import type { ContainersMetadata } from '../../services/containers/files/metadata.ts';
import type { containerSessions } from '../../services/containers/exec/sessions.ts';
import type { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import { addImage, type AddImageDeps } from '../../services/images/add-image.ts';
import type { Aliases } from '../../services/images/aliases.ts';
import type { ImageRefresh } from '../../services/images/image-refresh.ts';
import type { ImageStore } from '../../services/images/image-store.ts';
import type { CertificateChange } from '../../services/cluster/certificate/certificate-change.ts';
import type { KeyChange } from '../../services/cluster/keys/key-change.ts';
import type { ClusterMoves } from '../../services/cluster/moves/moves.ts';
import type { MemberGroups } from '../../services/cluster/member-groups.ts';
import type { MemberSettings } from '../../services/cluster/member-settings.ts';
import type { MemberVolumes } from '../../services/cluster/member-volumes.ts';
import type { MemberCopies } from '../../services/cluster/member-copies.ts';
import type { Migrations } from '../../services/transfer/migration/migrations.ts';
import type { Networks } from '../../services/networks/networks.ts';
import type { StoragePools } from '../../services/storage/storage-pools.ts';
import type { Projects } from '../../services/projects/projects.ts';
import type { Profiles } from '../../services/profiles/profiles.ts';
import type { ServerMetrics } from '../../services/server/metrics.ts';
import type { ServerSettings } from '../../services/server/server.ts';
import type { ContainerVolumes } from '../../services/storage/container-volumes.ts';
import type { VolumeSnapshots } from '../../services/storage/volume-snapshots.ts';
import type { Volumes } from '../../services/storage/volumes.ts';
import type { Warnings } from '../../services/warnings/warnings.ts';
import type { Cluster } from '../../membership/cluster.ts';
import { withOtherMembers } from './merged-lists.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { RouteTable } from '../route.ts';
import { backupRoutes, receiveBackup } from './backups.ts';
import { certificateRoutes } from './certificates.ts';
import { clusterGroupRoutes } from './cluster-groups.ts';
import { clusterRoutes } from './cluster.ts';
import { containerFileRoutes } from './container-files.ts';
import { containerMetadataRoutes } from './container-metadata.ts';
import { containerSessionRoutes } from './container-sessions.ts';
import { containerRoutes } from './containers.ts';
import { imageRoutes } from './images.ts';
import { networkRoutes } from './networks.ts';
import { operationRoutes } from './operations.ts';
import { poolRoutes } from './pools.ts';
import { profileRoutes } from './profiles.ts';
import { projectRoutes } from './projects.ts';
import { serverRoutes } from './server.ts';
import { snapshotRoutes } from './snapshots.ts';
import { volumeRoutes } from './volumes.ts';
import { warningRoutes } from './warnings.ts';

export interface RoutedServices {
  readonly absentMembers: AbsentMembers;
  readonly aliases: Aliases;
  readonly backups: Backups;
  readonly clusterMembership: ClusterMembership;
  readonly clusterPools: ClusterObjects;
  readonly clusterNetworks: ClusterObjects;
  readonly certificates: Certificates;
  readonly containerFiles: ContainerFiles;
  readonly containerMetadata: ContainersMetadata;
  readonly containers: ContainerReader;
  readonly containerDeps: StateDeps;
  readonly imageDeps: AddImageDeps;
  readonly imageRefresh: ImageRefresh;
  readonly images: ImageStore;
  readonly makeImage: (caller: Caller, body: ImagePost, project: string) => Promise<Operation>;
  readonly clusterMoves: ClusterMoves;
  readonly keyChange: KeyChange;
  readonly certificateChange: CertificateChange;
  readonly memberCopies: MemberCopies;
  readonly memberVolumes: MemberVolumes;
  readonly memberGroups: MemberGroups;
  readonly memberSettings: MemberSettings;
  readonly metrics: ServerMetrics;
  readonly migrations: Migrations;
  readonly networks: Networks;
  readonly storagePools: StoragePools;
  readonly profiles: Profiles;
  readonly projects: Projects;
  readonly restoreDeps: RestoreDeps;
  readonly server: ServerSettings;
  readonly sessions: ReturnType<typeof containerSessions>;
  readonly snapshots: Snapshots;
  readonly volumes: Volumes;
  readonly volumeSnapshots: VolumeSnapshots;
  readonly warnings: Warnings;
  readonly containerVolumes: ContainerVolumes;
}

export interface RouteEdge {
  readonly cluster: Cluster;
  readonly operations: Operations;
  /** Where uploads are received. */
  readonly dirs: { readonly backups: string; readonly images: string };
  readonly dialect: Pick<Dialect, 'name' | 'headerPrefix'>;
  /** Ends all that the client with this certificate has open; the socket is the one on which that was asked. */
  readonly endTrust: (fingerprint: string, asking: Socket) => void;
  /** See CertificateRoutesDeps. */
  readonly spare: (asking: Socket) => () => void;
}

/** One table for each dialect. */
export function routesOf(
  services: RoutedServices,
  { cluster, operations, dirs, dialect, endTrust, spare }: RouteEdge,
): RouteTable {
  const { headerPrefix } = dialect;
  const uploads = {
    restore: (caller: Caller, upload: BackupUpload, signal: AbortSignal) =>
      restoreBackup(services.restoreDeps, caller, upload, signal),
    room: (project: string) => backupRoom(services.imageDeps.records, project),
    dir: dirs.backups,
    headerPrefix,
  };
  const routes: RouteTable = {
    ...serverRoutes(services.server, services.metrics, dialect),
    ...certificateRoutes({
      certificates: services.certificates,
      addresses: () => addressesFor(services.server, dialect),
      endTrust,
      spare,
    }),
    ...containerRoutes({ ...services, restore: (context) => receiveBackup(uploads, context) }),
    ...backupRoutes(services),
    ...clusterRoutes(
      services.clusterMembership,
      services.clusterMoves,
      services.certificateChange,
      services.keyChange,
      {
        dialect: dialect.name,
        ended: ({ id }) => operations.wait(id, undefined),
      },
    ),
    ...clusterGroupRoutes(services.memberGroups, services.memberSettings),
    ...containerSessionRoutes(services.sessions),
    ...containerMetadataRoutes(services.containerMetadata),
    ...containerFileRoutes(services.containerFiles, headerPrefix),
    ...imageRoutes({
      images: services.images,
      aliases: services.aliases,
      add: (caller, upload) => addImage(services.imageDeps, caller, upload),
      make: services.makeImage,
      room: (project) => imageRoom(services.imageDeps.records, project),
      refresh: (caller, fingerprint) => services.imageRefresh.refresh(caller, fingerprint),
      dir: dirs.images,
      headerPrefix,
    }),
    ...networkRoutes(services.networks, services.clusterNetworks),
    ...operationRoutes(operations),
    ...poolRoutes(services.storagePools, services.clusterPools),
    ...profileRoutes(services.profiles),
    ...projectRoutes(services.projects),
    ...snapshotRoutes(services.snapshots, services.migrations),
    ...volumeRoutes(services),
    ...warningRoutes(services.warnings),
  };
  return withOtherMembers(routes, cluster, services.absentMembers);
}

const lxdName = 'lxd';

/** Where a client that has a token can go: those of Gantry's own talk to listeners for clients of LXD, too. */
function addressesFor(server: Pick<ServerSettings, 'addresses'>, { name }: Pick<Dialect, 'name'>): readonly string[] {
  const own = server.addresses(name);
  return own.length > 0 || name === lxdName ? own : server.addresses(lxdName);
}
