// Every endpoint's handler, composed from the use cases.
import { backupRoom, imageRoom } from '../../services/limits/image-room.ts';
import type { Socket } from 'node:net';
import type { Operations } from '../../operations/manager.ts';
import { restoreBackup, type RestoreDeps } from '../../services/transfer/backups/restore.ts';
import { restoreVolumeBackup } from '../../services/transfer/backups/restore-volume.ts';
import type { AbsentMembers } from '../../services/cluster/absent-members.ts';
import type { Certificates } from '../../services/server/certificates.ts';
import { addImage, type AddImageDeps } from '../../services/images/add-image.ts';
import type { ImageRefresh } from '../../services/images/image-refresh.ts';
import type { ServerSettings } from '../../services/server/server.ts';
import type { Cluster } from '../../membership/cluster.ts';
import { withOtherMembers } from './merged-lists.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { RouteTable } from '../route.ts';
import { backupRoutes, receiveBackup } from './backups.ts';
import type { TrustTokens } from '../../services/server/trust-tokens.ts';
import { certificateRoutes } from './certificates.ts';
import { clusterGroupRoutes } from './cluster-groups.ts';
import { clusterRoutes } from './cluster.ts';
import { containerFileRoutes } from './container-files.ts';
import { containerMetadataRoutes } from './container-metadata.ts';
import { containerSessionRoutes } from './container-sessions.ts';
import { containerRoutes } from './containers.ts';
import { imageRoutes, type ImageRouteDeps } from './images.ts';
import { networkAclRoutes } from './network-acls.ts';
import { networkRoutes } from './networks.ts';
import { operationRoutes } from './operations.ts';
import { poolRoutes } from './pools.ts';
import { profileRoutes } from './profiles.ts';
import { projectRoutes } from './projects.ts';
import { serverRoutes } from './server.ts';
import { snapshotRoutes } from './snapshots.ts';
import { volumeRoutes, volumeSnapshotRoutes } from './volumes.ts';
import { warningRoutes } from './warnings.ts';

type ServicesOf<Make extends (services: never, edge: never) => unknown> = Parameters<Make>[0];

export type RoutedServices = Omit<ServicesOf<typeof containerRoutes>, 'restore'> &
  ServicesOf<typeof backupRoutes> &
  ServicesOf<typeof clusterGroupRoutes> &
  ServicesOf<typeof clusterRoutes> &
  ServicesOf<typeof containerFileRoutes> &
  ServicesOf<typeof containerMetadataRoutes> &
  ServicesOf<typeof containerSessionRoutes> &
  ServicesOf<typeof networkAclRoutes> &
  ServicesOf<typeof networkRoutes> &
  ServicesOf<typeof poolRoutes> &
  ServicesOf<typeof profileRoutes> &
  ServicesOf<typeof projectRoutes> &
  ServicesOf<typeof serverRoutes> &
  ServicesOf<typeof snapshotRoutes> &
  Omit<ServicesOf<typeof volumeRoutes>, 'restore'> &
  ServicesOf<typeof volumeSnapshotRoutes> &
  ServicesOf<typeof warningRoutes> &
  Pick<ImageRouteDeps, 'aliases' | 'images'> & {
    readonly absentMembers: AbsentMembers;
    readonly certificates: Certificates;
    readonly trustTokens: TrustTokens;
    readonly imageDeps: AddImageDeps;
    readonly imageRefresh: ImageRefresh;
    readonly makeImage: ImageRouteDeps['make'];
    readonly restoreDeps: RestoreDeps;
  };

export interface RouteEdge {
  readonly cluster: Cluster;
  readonly operations: Operations;
  readonly dirs: { readonly backups: string; readonly images: string };
  readonly dialect: Pick<Dialect, 'name' | 'headerPrefix'>;
  /** Closes what the client with this certificate has open; the socket is the request's own. */
  readonly endTrust: (fingerprint: string, asking: Socket) => void;
  /** See CertificateRoutesDeps. */
  readonly exempt: (asking: Socket) => () => void;
}

/** One table per dialect. */
export function routesOf(
  services: RoutedServices,
  { cluster, operations, dirs, dialect, endTrust, exempt }: RouteEdge,
): RouteTable {
  const { headerPrefix } = dialect;
  const { restoreDeps } = services;
  const uploads = {
    room: (project: string) => backupRoom(services.imageDeps.records, project),
    dir: dirs.backups,
    headerPrefix,
  };
  const routes: RouteTable = {
    ...serverRoutes(services, dialect),
    ...certificateRoutes({
      certificates: services.certificates,
      trustTokens: services.trustTokens,
      addresses: () => addressesFor(services.server, dialect),
      endTrust,
      exempt,
    }),
    ...containerRoutes({
      ...services,
      restore: (context) =>
        receiveBackup(uploads, context, (upload) => restoreBackup(restoreDeps, context.caller, upload, context.signal)),
    }),
    ...backupRoutes(services),
    ...clusterRoutes(services, {
      dialect: dialect.name,
      ended: ({ id }) => operations.wait(id, undefined),
    }),
    ...clusterGroupRoutes(services),
    ...containerSessionRoutes(services),
    ...containerMetadataRoutes(services),
    ...containerFileRoutes(services, headerPrefix),
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
    ...networkAclRoutes(services),
    ...networkRoutes(services),
    ...operationRoutes(operations),
    ...poolRoutes(services),
    ...profileRoutes(services),
    ...projectRoutes(services),
    ...snapshotRoutes(services),
    ...volumeRoutes({
      ...services,
      restore: (context) =>
        receiveBackup(uploads, context, (upload) =>
          restoreVolumeBackup(restoreDeps, context.caller, context.params.pool, upload, context.signal),
        ),
    }),
    ...volumeSnapshotRoutes(services),
    ...warningRoutes(services),
  };
  return withOtherMembers(routes, cluster, services.absentMembers);
}

const lxdName = 'lxd';

/** Where a client with a token can connect: Gantry's own clients also use listeners for LXD clients. */
function addressesFor(server: Pick<ServerSettings, 'addresses'>, { name }: Pick<Dialect, 'name'>): readonly string[] {
  const own = server.addresses(name);
  return own.length > 0 || name === lxdName ? own : server.addresses(lxdName);
}
