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

const query = ['target'] as const;
const pools = endpointsOf({ scope: 'server', query, extension: 'storage' });
const volumes = endpointsOf({ scope: 'project', query, extension: 'storage' });
const snapshots = endpointsOf({ scope: 'project', query, extension: 'storage_api_volume_snapshots' });
const backups = endpointsOf({ scope: 'project', query, extension: 'custom_volume_backup' });
const volumePath = '/1.0/storage-pools/:pool/volumes/:type/:name';

export const storageEndpoints = [
  pools('pools.list', 'GET /1.0/storage-pools', 'sync', 'Storage pools.', { scope: 'shared', ...recursion }),
  pools('pools.create', 'POST /1.0/storage-pools', 'sync', 'Create a pool.', {
    target: 'part',
    body: StoragePoolCreate,
  }),
  pools('pools.get', 'GET /1.0/storage-pools/:pool', 'sync', 'One pool.', {
    scope: 'shared',
    result: StoragePool,
    etag: true,
  }),
  pools('pools.put', 'PUT /1.0/storage-pools/:pool', 'sync', 'Replace the config.', {
    body: StoragePoolPut,
    etag: true,
  }),
  pools('pools.patch', 'PATCH /1.0/storage-pools/:pool', 'sync', 'Change the given config keys.', {
    body: StoragePoolPut,
    etag: true,
  }),
  pools('pools.delete', 'DELETE /1.0/storage-pools/:pool', 'sync', 'Delete an unused pool.'),
  pools('pools.resources', 'GET /1.0/storage-pools/:pool/resources', 'sync', 'Space and inodes.', {
    result: PoolResources,
    extension: 'resources',
  }),
  volumes('volumes.list', 'GET /1.0/storage-pools/:pool/volumes', 'sync', 'Volumes of every type.', {
    query: ['recursion', 'target', 'all-projects'],
    result: UrlList,
  }),
  volumes('volumes.create', 'POST /1.0/storage-pools/:pool/volumes', 'sync', 'Create a custom volume.', {
    target: 'group',
    body: StorageVolumeCreate,
  }),
  volumes('volumes.listType', 'GET /1.0/storage-pools/:pool/volumes/:type', 'sync', 'Volumes of one type.', {
    query: ['recursion', 'target', 'all-projects'],
    result: UrlList,
  }),
  volumes(
    'volumes.createType',
    'POST /1.0/storage-pools/:pool/volumes/:type',
    'sync',
    'Create a volume of this type; with a body of type application/octet-stream from that backup.',
    { target: 'group', body: StorageVolumeCreate, ownBody: 'octets' },
  ),
  volumes('volumes.get', `GET ${volumePath}`, 'sync', 'One volume.', { result: StorageVolume, etag: true }),
  volumes('volumes.post', `POST ${volumePath}`, 'sync', 'Rename, move or migrate.', {
    target: 'destination',
    body: StorageVolumePost,
  }),
  volumes('volumes.put', `PUT ${volumePath}`, 'sync', 'Replace the config.', { body: StorageVolumePut, etag: true }),
  volumes('volumes.patch', `PATCH ${volumePath}`, 'sync', 'Change the given keys.', {
    body: StorageVolumePut,
    etag: true,
  }),
  volumes('volumes.delete', `DELETE ${volumePath}`, 'sync', 'Delete it.'),
  volumes('volumes.getSnapshot', `GET ${volumePath}/:snapshot`, 'sync', 'The volume of a snapshot.', {
    result: StorageVolume,
    etag: true,
  }),
  volumes('volumes.putSnapshot', `PUT ${volumePath}/:snapshot`, 'sync', 'Replace description and config.', {
    body: StorageVolumePut,
    etag: true,
  }),
  volumes('volumes.patchSnapshot', `PATCH ${volumePath}/:snapshot`, 'sync', 'Change the given keys.', {
    body: StorageVolumePut,
    etag: true,
  }),
  volumes('volumes.postSnapshot', `POST ${volumePath}/:snapshot`, 'async', 'Migrate a snapshot as a volume.', {
    body: StorageVolumePost,
  }),
  snapshots('volumeSnapshots.list', `GET ${volumePath}/snapshots`, 'sync', 'Snapshots of a volume.', {
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  snapshots('volumeSnapshots.create', `POST ${volumePath}/snapshots`, 'async', 'Take a snapshot.', {
    body: VolumeSnapshotCreate,
  }),
  snapshots('volumeSnapshots.get', `GET ${volumePath}/snapshots/:snapshot`, 'sync', 'One snapshot.', {
    result: VolumeSnapshot,
    etag: true,
  }),
  snapshots('volumeSnapshots.post', `POST ${volumePath}/snapshots/:snapshot`, 'async', 'Rename it.', {
    body: RenamePost,
  }),
  snapshots('volumeSnapshots.put', `PUT ${volumePath}/snapshots/:snapshot`, 'sync', 'Change it.', {
    body: VolumeSnapshotPut,
    etag: true,
  }),
  snapshots('volumeSnapshots.patch', `PATCH ${volumePath}/snapshots/:snapshot`, 'sync', 'Change the given members.', {
    body: VolumeSnapshotPut,
    etag: true,
  }),
  snapshots('volumeSnapshots.delete', `DELETE ${volumePath}/snapshots/:snapshot`, 'async', 'Delete it.'),
  backups('volumeBackups.list', `GET ${volumePath}/backups`, 'sync', 'Backups of a custom volume.', {
    query: ['recursion', 'target'],
    result: UrlList,
  }),
  backups('volumeBackups.create', `POST ${volumePath}/backups`, 'async', 'Make a backup.', {
    body: VolumeBackupCreate,
  }),
  backups('volumeBackups.get', `GET ${volumePath}/backups/:backup`, 'sync', 'One backup.', { result: VolumeBackup }),
  backups('volumeBackups.post', `POST ${volumePath}/backups/:backup`, 'async', 'Rename it.', { body: RenamePost }),
  backups('volumeBackups.delete', `DELETE ${volumePath}/backups/:backup`, 'async', 'Delete it.'),
  backups(
    'volumeBackups.export',
    `GET ${volumePath}/backups/:backup/export`,
    'raw',
    'The backup file; one range of it on demand.',
  ),
];
