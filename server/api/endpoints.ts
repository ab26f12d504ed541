// The endpoint table: every row of spec part 4, with caller classes, mode, bodies and whether this release serves it.
// Routing, validation, the authorisation tests and OpenAPI are derived from it.
import { Type } from 'typebox';
import { Certificate, CertificateCreate, CertificatePut } from './certificate.ts';
import {
  Backup,
  BackupCreate,
  Cluster,
  ClusterMember,
  ClusterMemberPost,
  ClusterPut,
  Project,
  ProjectCreate,
  ProjectPut,
} from './cluster.ts';
import { UrlList } from './common.ts';
import {
  Container,
  ContainerCreate,
  ContainerMetadata,
  ContainerPost,
  ContainerPut,
  ContainerState,
  ContainerStatePut,
} from './container.ts';
import { endpoint, everyone, type Endpoint } from './endpoint.ts';
import { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageCreate, ImagePut } from './image.ts';
import { Network, NetworkCreate, NetworkLease, NetworkPut, NetworkState } from './network.ts';
import { Operation } from './operation.ts';
import { PoolResources, StoragePool, StoragePoolCreate, StoragePoolPut } from './pool.ts';
import { Profile, ProfileCreate, ProfilePut, RenamePost } from './profile.ts';
import { Resources, Server, ServerPut } from './server.ts';
import { Snapshot, SnapshotCreate, SnapshotPut } from './snapshot.ts';
import { StorageVolume, StorageVolumeCreate, StorageVolumePost, StorageVolumePut, VolumeSnapshot } from './volume.ts';

const list = ['recursion'] as const;
const strings = Type.Array(Type.String());
const unbuilt = { built: false } as const;
const recursion = { query: list, result: UrlList } as const;

const serverEndpoints = [
  endpoint('root.get', 'GET /', 'sync', 'Supported API versions.', { auth: everyone, result: strings }),
  endpoint('server.get', 'GET /1.0', 'sync', 'The server; callers without trust see only its public fields.', {
    auth: everyone,
    query: ['target'],
    result: Server,
    etag: true,
  }),
  endpoint('server.put', 'PUT /1.0', 'sync', 'Replace the server config.', {
    query: ['target'],
    body: ServerPut,
    etag: true,
  }),
  endpoint('server.patch', 'PATCH /1.0', 'sync', 'Change the given server config keys.', {
    query: ['target'],
    body: ServerPut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('resources.get', 'GET /1.0/resources', 'sync', 'Processors and memory of the host.', {
    auth: everyone,
    query: ['target'],
    result: Resources,
    extension: 'resources',
  }),
  endpoint('events.get', 'GET /1.0/events', 'websocket', 'The stream of notifications.', { query: ['type'] }),
];

const certificateEndpoints = [
  endpoint('certificates.list', 'GET /1.0/certificates', 'sync', 'Trusted client certificates.', recursion),
  endpoint(
    'certificates.create',
    'POST /1.0/certificates',
    'sync',
    'Trust a certificate; callers without trust need the password.',
    {
      auth: ['untrusted', 'trusted'],
      body: CertificateCreate,
    },
  ),
  endpoint(
    'certificates.get',
    'GET /1.0/certificates/:fingerprint',
    'sync',
    'One certificate; a unique prefix will do.',
    {
      result: Certificate,
      etag: true,
    },
  ),
  endpoint('certificates.put', 'PUT /1.0/certificates/:fingerprint', 'sync', 'Replace name and type.', {
    body: CertificatePut,
    etag: true,
    extension: 'certificate_update',
  }),
  endpoint('certificates.patch', 'PATCH /1.0/certificates/:fingerprint', 'sync', 'Change name or type.', {
    body: CertificatePut,
    etag: true,
    extension: 'certificate_update',
  }),
  endpoint('certificates.delete', 'DELETE /1.0/certificates/:fingerprint', 'sync', 'Stop trusting it, at once.', {
    status: 202,
  }),
];

const containerEndpoints = [
  endpoint(
    'containers.list',
    'GET /1.0/containers',
    'sync',
    'Containers; recursion=2 adds state, snapshots and backups.',
    recursion,
  ),
  endpoint(
    'containers.create',
    'POST /1.0/containers',
    'async',
    'Create a container from an image, a copy, a migration or empty.',
    {
      query: ['target'],
      body: ContainerCreate,
    },
  ),
  endpoint('containers.get', 'GET /1.0/containers/:name', 'sync', 'One container.', {
    query: list,
    result: Container,
    etag: true,
  }),
  endpoint('containers.put', 'PUT /1.0/containers/:name', 'async', 'Replace the container, or restore a snapshot.', {
    body: ContainerPut,
    etag: true,
  }),
  endpoint('containers.patch', 'PATCH /1.0/containers/:name', 'sync', 'Change the given members.', {
    body: ContainerPut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('containers.post', 'POST /1.0/containers/:name', 'async', 'Rename, or set up a migration.', {
    query: ['target'],
    body: ContainerPost,
  }),
  endpoint('containers.delete', 'DELETE /1.0/containers/:name', 'async', 'Delete a stopped container.'),
  endpoint('containers.state.get', 'GET /1.0/containers/:name/state', 'sync', 'Live figures.', {
    result: ContainerState,
  }),
  endpoint(
    'containers.state.put',
    'PUT /1.0/containers/:name/state',
    'async',
    'Start, stop, restart, freeze, unfreeze.',
    {
      body: ContainerStatePut,
    },
  ),
  endpoint('containers.exec', 'POST /1.0/containers/:name/exec', 'async', 'Run a command.', unbuilt),
  endpoint('containers.console.get', 'GET /1.0/containers/:name/console', 'raw', 'Console log.', {
    ...unbuilt,
    extension: 'console',
  }),
  endpoint('containers.console.post', 'POST /1.0/containers/:name/console', 'async', 'Attach to the console.', {
    ...unbuilt,
    extension: 'console',
  }),
  endpoint('containers.console.delete', 'DELETE /1.0/containers/:name/console', 'sync', 'Clear the console log.', {
    ...unbuilt,
    extension: 'console',
  }),
  endpoint('containers.files.get', 'GET /1.0/containers/:name/files', 'raw', 'Read a file, directory or symlink.', {
    ...unbuilt,
    query: ['path'],
  }),
  endpoint('containers.files.post', 'POST /1.0/containers/:name/files', 'sync', 'Write a file, directory or symlink.', {
    ...unbuilt,
    query: ['path'],
  }),
  endpoint('containers.files.delete', 'DELETE /1.0/containers/:name/files', 'sync', 'Remove a file.', {
    ...unbuilt,
    query: ['path'],
    extension: 'file_delete',
  }),
  endpoint('containers.logs.list', 'GET /1.0/containers/:name/logs', 'sync', 'Log files.', {
    ...unbuilt,
    result: UrlList,
  }),
  endpoint('containers.logs.get', 'GET /1.0/containers/:name/logs/:file', 'raw', 'One log file.', unbuilt),
  endpoint('containers.logs.delete', 'DELETE /1.0/containers/:name/logs/:file', 'sync', 'Remove a log file.', unbuilt),
  endpoint(
    'containers.metadata.get',
    'GET /1.0/containers/:name/metadata',
    'sync',
    'Image metadata of the container.',
    {
      ...unbuilt,
      result: ContainerMetadata,
      etag: true,
      extension: 'container_edit_metadata',
    },
  ),
  endpoint('containers.metadata.put', 'PUT /1.0/containers/:name/metadata', 'sync', 'Replace the metadata.', {
    ...unbuilt,
    body: ContainerMetadata,
    etag: true,
    extension: 'container_edit_metadata',
  }),
  endpoint(
    'containers.templates.get',
    'GET /1.0/containers/:name/metadata/templates',
    'raw',
    'Template names, or one template.',
    {
      ...unbuilt,
      query: ['path'],
      extension: 'container_edit_metadata',
    },
  ),
  endpoint('containers.templates.post', 'POST /1.0/containers/:name/metadata/templates', 'sync', 'Add a template.', {
    ...unbuilt,
    query: ['path'],
    extension: 'container_edit_metadata',
  }),
  endpoint('containers.templates.put', 'PUT /1.0/containers/:name/metadata/templates', 'sync', 'Replace a template.', {
    ...unbuilt,
    query: ['path'],
    extension: 'container_edit_metadata',
  }),
  endpoint(
    'containers.templates.delete',
    'DELETE /1.0/containers/:name/metadata/templates',
    'sync',
    'Remove a template.',
    {
      ...unbuilt,
      query: ['path'],
      extension: 'container_edit_metadata',
    },
  ),
];

const snapshotEndpoints = [
  endpoint('snapshots.list', 'GET /1.0/containers/:name/snapshots', 'sync', 'Snapshots.', { ...unbuilt, ...recursion }),
  endpoint('snapshots.create', 'POST /1.0/containers/:name/snapshots', 'async', 'Take a snapshot.', {
    ...unbuilt,
    body: SnapshotCreate,
  }),
  endpoint('snapshots.get', 'GET /1.0/containers/:name/snapshots/:snapshot', 'sync', 'One snapshot.', {
    ...unbuilt,
    result: Snapshot,
  }),
  endpoint('snapshots.post', 'POST /1.0/containers/:name/snapshots/:snapshot', 'async', 'Rename or migrate.', {
    ...unbuilt,
    body: ContainerPost,
  }),
  endpoint('snapshots.put', 'PUT /1.0/containers/:name/snapshots/:snapshot', 'async', 'Change the expiry.', {
    ...unbuilt,
    body: SnapshotPut,
    extension: 'snapshot_expiry',
  }),
  endpoint('snapshots.delete', 'DELETE /1.0/containers/:name/snapshots/:snapshot', 'async', 'Delete it.', unbuilt),
  endpoint('backups.list', 'GET /1.0/containers/:name/backups', 'sync', 'Backups.', {
    ...unbuilt,
    ...recursion,
    extension: 'container_backup',
  }),
  endpoint('backups.create', 'POST /1.0/containers/:name/backups', 'async', 'Make a backup.', {
    ...unbuilt,
    body: BackupCreate,
    extension: 'container_backup',
  }),
  endpoint('backups.get', 'GET /1.0/containers/:name/backups/:backup', 'sync', 'One backup.', {
    ...unbuilt,
    result: Backup,
    extension: 'container_backup',
  }),
  endpoint('backups.post', 'POST /1.0/containers/:name/backups/:backup', 'async', 'Rename it.', {
    ...unbuilt,
    body: RenamePost,
    extension: 'container_backup',
  }),
  endpoint('backups.delete', 'DELETE /1.0/containers/:name/backups/:backup', 'async', 'Delete it.', {
    ...unbuilt,
    extension: 'container_backup',
  }),
  endpoint('backups.export', 'GET /1.0/containers/:name/backups/:backup/export', 'raw', 'The backup file.', {
    ...unbuilt,
    extension: 'container_backup',
  }),
];

const imageEndpoints = [
  endpoint('images.list', 'GET /1.0/images', 'sync', 'Images; callers without trust see public ones.', {
    auth: everyone,
    ...recursion,
  }),
  endpoint('images.create', 'POST /1.0/images', 'async', 'Upload files, or make one from an image, container or URL.', {
    body: ImageCreate,
  }),
  endpoint('images.get', 'GET /1.0/images/:fingerprint', 'sync', 'One image; a unique prefix will do.', {
    auth: everyone,
    query: ['secret'],
    result: Image,
    etag: true,
  }),
  endpoint('images.put', 'PUT /1.0/images/:fingerprint', 'sync', 'Replace properties, public, auto_update.', {
    body: ImagePut,
    etag: true,
  }),
  endpoint('images.patch', 'PATCH /1.0/images/:fingerprint', 'sync', 'Change properties, public, auto_update.', {
    body: ImagePut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('images.delete', 'DELETE /1.0/images/:fingerprint', 'async', 'Delete it.'),
  endpoint('images.export', 'GET /1.0/images/:fingerprint/export', 'raw', 'The image file or files.', {
    auth: everyone,
    query: ['secret'],
  }),
  endpoint(
    'images.secret',
    'POST /1.0/images/:fingerprint/secret',
    'async',
    'A secret with which a guest may fetch the image.',
  ),
  endpoint(
    'images.refresh',
    'POST /1.0/images/:fingerprint/refresh',
    'async',
    'Look for a newer version at its source.',
    {
      ...unbuilt,
      extension: 'image_force_refresh',
    },
  ),
  endpoint('aliases.list', 'GET /1.0/images/aliases', 'sync', 'Aliases.', recursion),
  endpoint('aliases.create', 'POST /1.0/images/aliases', 'sync', 'Create an alias.', {
    body: ImageAliasCreate,
  }),
  endpoint('aliases.get', 'GET /1.0/images/aliases/*', 'sync', 'One alias; without trust only of a public image.', {
    auth: everyone,
    result: ImageAlias,
    etag: true,
  }),
  endpoint('aliases.put', 'PUT /1.0/images/aliases/*', 'sync', 'Replace description and target.', {
    body: ImageAliasPut,
    etag: true,
  }),
  endpoint('aliases.patch', 'PATCH /1.0/images/aliases/*', 'sync', 'Change description or target.', {
    body: ImageAliasPut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('aliases.post', 'POST /1.0/images/aliases/*', 'sync', 'Rename it.', { body: RenamePost }),
  endpoint('aliases.delete', 'DELETE /1.0/images/aliases/*', 'sync', 'Delete it.'),
];

const networkEndpoints = [
  endpoint('networks.list', 'GET /1.0/networks', 'sync', 'Networks and host interfaces.', recursion),
  endpoint('networks.create', 'POST /1.0/networks', 'sync', 'Create a managed bridge.', {
    query: ['target'],
    body: NetworkCreate,
    extension: 'network',
  }),
  endpoint('networks.get', 'GET /1.0/networks/:name', 'sync', 'One network.', {
    query: ['target'],
    result: Network,
    etag: true,
  }),
  endpoint('networks.put', 'PUT /1.0/networks/:name', 'sync', 'Replace config and description.', {
    query: ['target'],
    body: NetworkPut,
    etag: true,
    extension: 'network',
  }),
  endpoint('networks.patch', 'PATCH /1.0/networks/:name', 'sync', 'Change the given config keys.', {
    query: ['target'],
    body: NetworkPut,
    etag: true,
    extension: 'network',
  }),
  endpoint('networks.post', 'POST /1.0/networks/:name', 'sync', 'Rename it.', {
    body: RenamePost,
    extension: 'network',
    status: 204,
  }),
  endpoint('networks.delete', 'DELETE /1.0/networks/:name', 'sync', 'Delete an unused network.', {
    extension: 'network',
    status: 202,
  }),
  endpoint('networks.state', 'GET /1.0/networks/:name/state', 'sync', 'Addresses and counters.', {
    query: ['target'],
    result: NetworkState,
    extension: 'network_state',
  }),
  endpoint('networks.leases', 'GET /1.0/networks/:name/leases', 'sync', 'Leases.', {
    result: Type.Array(NetworkLease),
    extension: 'network_leases',
  }),
];

const operationEndpoints = [
  endpoint(
    'operations.list',
    'GET /1.0/operations',
    'sync',
    'Operations that run, wait or ended in the last seconds.',
    recursion,
  ),
  endpoint('operations.get', 'GET /1.0/operations/:id', 'sync', 'One operation.', { result: Operation }),
  endpoint('operations.delete', 'DELETE /1.0/operations/:id', 'sync', 'Cancel it.', { status: 202 }),
  endpoint('operations.wait', 'GET /1.0/operations/:id/wait', 'sync', 'Wait for its end.', {
    query: ['timeout'],
    result: Operation,
  }),
  endpoint(
    'operations.websocket',
    'GET /1.0/operations/:id/websocket',
    'websocket',
    'Data channel; needs the secret.',
    {
      auth: everyone,
      query: ['secret'],
    },
  ),
];

const profileEndpoints = [
  endpoint('profiles.list', 'GET /1.0/profiles', 'sync', 'Profiles.', recursion),
  endpoint('profiles.create', 'POST /1.0/profiles', 'sync', 'Create a profile.', { body: ProfileCreate }),
  endpoint('profiles.get', 'GET /1.0/profiles/:name', 'sync', 'One profile.', { result: Profile, etag: true }),
  endpoint('profiles.put', 'PUT /1.0/profiles/:name', 'sync', 'Replace config, description, devices.', {
    body: ProfilePut,
    etag: true,
  }),
  endpoint('profiles.patch', 'PATCH /1.0/profiles/:name', 'sync', 'Change the given members.', {
    body: ProfilePut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('profiles.post', 'POST /1.0/profiles/:name', 'sync', 'Rename it.', { body: RenamePost, status: 204 }),
  endpoint('profiles.delete', 'DELETE /1.0/profiles/:name', 'sync', 'Delete an unused profile.', { status: 202 }),
];

const target = ['target'] as const;
const storage = { extension: 'storage', query: target } as const;
const volumes = { ...unbuilt, ...storage } as const;
const volumeSnapshots = { ...unbuilt, query: target, extension: 'storage_api_volume_snapshots' } as const;
const volumePath = '/1.0/storage-pools/:pool/volumes/:type/:name';

const storageEndpoints = [
  endpoint('pools.list', 'GET /1.0/storage-pools', 'sync', 'Storage pools.', { extension: 'storage', ...recursion }),
  endpoint('pools.create', 'POST /1.0/storage-pools', 'sync', 'Create a pool.', {
    ...storage,
    body: StoragePoolCreate,
  }),
  endpoint('pools.get', 'GET /1.0/storage-pools/:pool', 'sync', 'One pool.', {
    ...storage,
    result: StoragePool,
    etag: true,
  }),
  endpoint('pools.put', 'PUT /1.0/storage-pools/:pool', 'sync', 'Replace the config.', {
    ...storage,
    body: StoragePoolPut,
    etag: true,
  }),
  endpoint('pools.patch', 'PATCH /1.0/storage-pools/:pool', 'sync', 'Change the given config keys.', {
    ...storage,
    body: StoragePoolPut,
    etag: true,
  }),
  endpoint('pools.delete', 'DELETE /1.0/storage-pools/:pool', 'sync', 'Delete an unused pool.', storage),
  endpoint('pools.resources', 'GET /1.0/storage-pools/:pool/resources', 'sync', 'Space and inodes.', {
    query: target,
    result: PoolResources,
    extension: 'resources',
  }),
  endpoint('volumes.list', 'GET /1.0/storage-pools/:pool/volumes', 'sync', 'Volumes of every type.', {
    ...volumes,
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  endpoint('volumes.create', 'POST /1.0/storage-pools/:pool/volumes', 'sync', 'Create a custom volume.', {
    ...volumes,
    body: StorageVolumeCreate,
  }),
  endpoint('volumes.listType', 'GET /1.0/storage-pools/:pool/volumes/:type', 'sync', 'Volumes of one type.', {
    ...volumes,
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  endpoint(
    'volumes.createType',
    'POST /1.0/storage-pools/:pool/volumes/:type',
    'sync',
    'Create a volume of this type.',
    {
      ...volumes,
      body: StorageVolumeCreate,
    },
  ),
  endpoint('volumes.get', `GET ${volumePath}`, 'sync', 'One volume.', {
    ...volumes,
    result: StorageVolume,
    etag: true,
  }),
  endpoint('volumes.post', `POST ${volumePath}`, 'sync', 'Rename, move or migrate.', {
    ...volumes,
    body: StorageVolumePost,
  }),
  endpoint('volumes.put', `PUT ${volumePath}`, 'sync', 'Replace the config.', {
    ...volumes,
    body: StorageVolumePut,
    etag: true,
  }),
  endpoint('volumes.patch', `PATCH ${volumePath}`, 'sync', 'Change the given keys.', {
    ...volumes,
    body: StorageVolumePut,
    etag: true,
  }),
  endpoint('volumes.delete', `DELETE ${volumePath}`, 'sync', 'Delete it.', volumes),
  endpoint('volumeSnapshots.list', `GET ${volumePath}/snapshots`, 'sync', 'Snapshots of a volume.', {
    ...volumeSnapshots,
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  endpoint('volumeSnapshots.create', `POST ${volumePath}/snapshots`, 'async', 'Take a snapshot.', volumeSnapshots),
  endpoint('volumeSnapshots.get', `GET ${volumePath}/snapshots/:snapshot`, 'sync', 'One snapshot.', {
    ...volumeSnapshots,
    result: VolumeSnapshot,
    etag: true,
  }),
  endpoint('volumeSnapshots.post', `POST ${volumePath}/snapshots/:snapshot`, 'async', 'Rename it.', {
    ...volumeSnapshots,
    body: RenamePost,
  }),
  endpoint('volumeSnapshots.put', `PUT ${volumePath}/snapshots/:snapshot`, 'async', 'Change it.', volumeSnapshots),
  endpoint(
    'volumeSnapshots.delete',
    `DELETE ${volumePath}/snapshots/:snapshot`,
    'async',
    'Delete it.',
    volumeSnapshots,
  ),
];

const clustering = { ...unbuilt, extension: 'clustering' } as const;

const clusterEndpoints = [
  endpoint('cluster.get', 'GET /1.0/cluster', 'sync', 'Cluster membership of this server.', {
    ...clustering,
    auth: ['untrusted', 'trusted'],
    result: Cluster,
    etag: true,
  }),
  endpoint('cluster.put', 'PUT /1.0/cluster', 'async', 'Bootstrap, join or leave.', {
    ...clustering,
    body: ClusterPut,
    etag: true,
  }),
  endpoint('members.list', 'GET /1.0/cluster/members', 'sync', 'Members.', { ...clustering, ...recursion }),
  endpoint('members.get', 'GET /1.0/cluster/members/:name', 'sync', 'One member.', {
    ...clustering,
    result: ClusterMember,
    etag: true,
  }),
  endpoint('members.post', 'POST /1.0/cluster/members/:name', 'sync', 'Rename it.', {
    ...clustering,
    body: ClusterMemberPost,
  }),
  endpoint('members.delete', 'DELETE /1.0/cluster/members/:name', 'async', 'Remove it.', {
    ...clustering,
    query: ['force'],
  }),
];

const projects = { ...unbuilt, extension: 'projects' } as const;

const projectEndpoints = [
  endpoint('projects.list', 'GET /1.0/projects', 'sync', 'Projects.', { ...projects, ...recursion }),
  endpoint('projects.create', 'POST /1.0/projects', 'sync', 'Create one.', {
    ...projects,
    body: ProjectCreate,
  }),
  endpoint('projects.get', 'GET /1.0/projects/:name', 'sync', 'One project.', {
    ...projects,
    result: Project,
    etag: true,
  }),
  endpoint('projects.put', 'PUT /1.0/projects/:name', 'sync', 'Replace it.', {
    ...projects,
    body: ProjectPut,
    etag: true,
  }),
  endpoint('projects.patch', 'PATCH /1.0/projects/:name', 'sync', 'Change it.', {
    ...projects,
    body: ProjectPut,
    etag: true,
  }),
  endpoint('projects.post', 'POST /1.0/projects/:name', 'async', 'Rename it.', { ...projects, body: RenamePost }),
  endpoint('projects.delete', 'DELETE /1.0/projects/:name', 'sync', 'Delete it.', { ...projects, status: 202 }),
];

export const endpoints = [
  ...serverEndpoints,
  ...certificateEndpoints,
  ...containerEndpoints,
  ...snapshotEndpoints,
  ...imageEndpoints,
  ...networkEndpoints,
  ...operationEndpoints,
  ...profileEndpoints,
  ...storageEndpoints,
  ...clusterEndpoints,
  ...projectEndpoints,
] as const satisfies readonly Endpoint[];

export type EndpointId = (typeof endpoints)[number]['id'];
