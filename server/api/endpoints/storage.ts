// Endpoints of storage pools and volumes (spec 4.12).
import { UrlList } from '../schema/common-schemas.ts';
import { endpointsOf } from './endpoint.ts';
import { PoolResources, StoragePool, StoragePoolCreate, StoragePoolPut } from '../storage/pool.ts';
import { RenamePost } from '../container/profile.ts';
import {
  StorageVolume,
  StorageVolumeCreate,
  StorageVolumePost,
  StorageVolumePut,
  VolumeSnapshot,
  VolumeSnapshotCreate,
  VolumeSnapshotPut,
} from '../storage/volume.ts';
import { VolumeBackup, VolumeBackupCreate } from '../storage/volume-backup.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf('server');
const inProject = { scope: 'project' } as const;

const target = ['target'] as const;
const storage = { extension: 'storage', query: target } as const;
const volumes = { ...storage, ...inProject } as const;
const volumeSnapshots = { ...inProject, query: target, extension: 'storage_api_volume_snapshots' } as const;
const volumeBackups = { ...inProject, query: target, extension: 'custom_volume_backup' } as const;
const volumePath = '/1.0/storage-pools/:pool/volumes/:type/:name';

export const storageEndpoints = [
  endpoint('pools.list', 'GET /1.0/storage-pools', 'sync', 'Storage pools.', {
    scope: 'shared',
    extension: 'storage',
    ...recursion,
  }),
  endpoint('pools.create', 'POST /1.0/storage-pools', 'sync', 'Create a pool.', {
    ...storage,
    target: 'part',
    body: StoragePoolCreate,
  }),
  endpoint('pools.get', 'GET /1.0/storage-pools/:pool', 'sync', 'One pool.', {
    ...storage,
    scope: 'shared',
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
    query: ['recursion', 'target', 'all-projects'],
    result: UrlList,
  }),
  endpoint('volumes.create', 'POST /1.0/storage-pools/:pool/volumes', 'sync', 'Create a custom volume.', {
    ...volumes,
    target: 'group',
    body: StorageVolumeCreate,
  }),
  endpoint('volumes.listType', 'GET /1.0/storage-pools/:pool/volumes/:type', 'sync', 'Volumes of one type.', {
    ...volumes,
    query: ['recursion', 'target', 'all-projects'],
    result: UrlList,
  }),
  endpoint(
    'volumes.createType',
    'POST /1.0/storage-pools/:pool/volumes/:type',
    'sync',
    'Create a volume of this type; with a body of type application/octet-stream from that backup.',
    { ...volumes, target: 'group', body: StorageVolumeCreate, ownBody: 'octets' },
  ),
  endpoint('volumes.get', `GET ${volumePath}`, 'sync', 'One volume.', {
    ...volumes,
    result: StorageVolume,
    etag: true,
  }),
  endpoint('volumes.post', `POST ${volumePath}`, 'sync', 'Rename, move or migrate.', {
    ...volumes,
    target: 'destination',
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
  endpoint('volumes.getSnapshot', `GET ${volumePath}/:snapshot`, 'sync', 'The volume of a snapshot.', {
    ...volumes,
    result: StorageVolume,
    etag: true,
  }),
  endpoint('volumes.putSnapshot', `PUT ${volumePath}/:snapshot`, 'sync', 'Replace description and config.', {
    ...volumes,
    body: StorageVolumePut,
    etag: true,
  }),
  endpoint('volumes.patchSnapshot', `PATCH ${volumePath}/:snapshot`, 'sync', 'Change the given keys.', {
    ...volumes,
    body: StorageVolumePut,
    etag: true,
  }),
  endpoint('volumes.postSnapshot', `POST ${volumePath}/:snapshot`, 'async', 'Migrate a snapshot as a volume.', {
    ...volumes,
    body: StorageVolumePost,
  }),
  endpoint('volumeSnapshots.list', `GET ${volumePath}/snapshots`, 'sync', 'Snapshots of a volume.', {
    ...volumeSnapshots,
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  endpoint('volumeSnapshots.create', `POST ${volumePath}/snapshots`, 'async', 'Take a snapshot.', {
    ...volumeSnapshots,
    body: VolumeSnapshotCreate,
  }),
  endpoint('volumeSnapshots.get', `GET ${volumePath}/snapshots/:snapshot`, 'sync', 'One snapshot.', {
    ...volumeSnapshots,
    result: VolumeSnapshot,
    etag: true,
  }),
  endpoint('volumeSnapshots.post', `POST ${volumePath}/snapshots/:snapshot`, 'async', 'Rename it.', {
    ...volumeSnapshots,
    body: RenamePost,
  }),
  endpoint('volumeSnapshots.put', `PUT ${volumePath}/snapshots/:snapshot`, 'async', 'Change it.', {
    ...volumeSnapshots,
    body: VolumeSnapshotPut,
    etag: true,
  }),
  endpoint(
    'volumeSnapshots.delete',
    `DELETE ${volumePath}/snapshots/:snapshot`,
    'async',
    'Delete it.',
    volumeSnapshots,
  ),
  endpoint('volumeBackups.list', `GET ${volumePath}/backups`, 'sync', 'Backups of a custom volume.', {
    ...volumeBackups,
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  endpoint('volumeBackups.create', `POST ${volumePath}/backups`, 'async', 'Make a backup.', {
    ...volumeBackups,
    body: VolumeBackupCreate,
  }),
  endpoint('volumeBackups.get', `GET ${volumePath}/backups/:backup`, 'sync', 'One backup.', {
    ...volumeBackups,
    result: VolumeBackup,
  }),
  endpoint('volumeBackups.post', `POST ${volumePath}/backups/:backup`, 'async', 'Rename it.', {
    ...volumeBackups,
    body: RenamePost,
  }),
  endpoint('volumeBackups.delete', `DELETE ${volumePath}/backups/:backup`, 'async', 'Delete it.', volumeBackups),
  endpoint(
    'volumeBackups.export',
    `GET ${volumePath}/backups/:backup/export`,
    'raw',
    'The backup file; one range of it on demand.',
    volumeBackups,
  ),
];
