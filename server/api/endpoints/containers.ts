// Endpoints of containers and their sub-resources (spec 4.2 to 4.6, 4.14).
import { Backup, BackupCreate } from '../container/backup.ts';
import { UrlList } from '../schema/common-schemas.ts';
import {
  Container,
  ContainerCreate,
  ContainerMetadata,
  ContainerMetadataPatch,
  ContainerMetadataPut,
  ContainerPost,
  ContainerPut,
  ContainerState,
  ContainerStatePut,
} from '../container/container.ts';
import { ConsolePost, ExecPost } from '../container/container-exec.ts';
import { endpointsOf } from './endpoint.ts';
import { RenamePost } from '../container/profile.ts';
import { Snapshot, SnapshotCreate, SnapshotPut } from '../container/snapshot.ts';
import { list, recursion, recursionInProjects } from './shared.ts';

const endpoint = endpointsOf({ scope: 'project' });
const consoles = endpointsOf({ scope: 'project', extension: 'console' });
const metadata = endpointsOf({ scope: 'project', extension: 'container_edit_metadata' });
const backups = endpointsOf({ scope: 'project', extension: 'container_backup' });

export const containerEndpoints = [
  endpoint(
    'containers.list',
    'GET /1.0/containers',
    'sync',
    'Containers; recursion=2 adds state, snapshots and backups.',
    recursionInProjects,
  ),
  endpoint(
    'containers.create',
    'POST /1.0/containers',
    'async',
    'Create a container from an image, a copy, a migration or empty; with a body of type application/octet-stream from that backup.',
    { query: ['target'], target: 'destination', body: ContainerCreate, placedBy: 'body', ownBody: 'octets' },
  ),
  endpoint('containers.get', 'GET /1.0/containers/:name', 'sync', 'One container.', {
    query: list,
    placedBy: 'anyone',
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
    target: 'destination',
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
    { body: ContainerStatePut, needsStore: false },
  ),
  endpoint('containers.exec', 'POST /1.0/containers/:name/exec', 'async', 'Run a command.', {
    body: ExecPost,
    needsStore: false,
  }),
  consoles('containers.console.get', 'GET /1.0/containers/:name/console', 'raw', 'Console log.'),
  consoles('containers.console.post', 'POST /1.0/containers/:name/console', 'async', 'Attach to the console.', {
    body: ConsolePost,
    needsStore: false,
  }),
  consoles('containers.console.delete', 'DELETE /1.0/containers/:name/console', 'sync', 'Clear the console log.', {
    needsStore: false,
  }),
  endpoint('containers.files.get', 'GET /1.0/containers/:name/files', 'raw', 'Read a file, directory or symlink.', {
    query: ['path'],
  }),
  endpoint('containers.files.post', 'POST /1.0/containers/:name/files', 'sync', 'Write a file, directory or symlink.', {
    query: ['path'],
    needsStore: false,
  }),
  endpoint('containers.files.delete', 'DELETE /1.0/containers/:name/files', 'sync', 'Remove a file.', {
    query: ['path'],
    extension: 'file_delete',
    needsStore: false,
  }),
  endpoint('containers.logs.list', 'GET /1.0/containers/:name/logs', 'sync', 'Log files.', { result: UrlList }),
  endpoint('containers.logs.get', 'GET /1.0/containers/:name/logs/:file', 'raw', 'One log file.'),
  endpoint('containers.logs.delete', 'DELETE /1.0/containers/:name/logs/:file', 'sync', 'Remove a log file.', {
    needsStore: false,
  }),
  metadata(
    'containers.metadata.get',
    'GET /1.0/containers/:name/metadata',
    'sync',
    'Image metadata of the container.',
    { result: ContainerMetadata, etag: true },
  ),
  metadata('containers.metadata.put', 'PUT /1.0/containers/:name/metadata', 'sync', 'Replace the metadata.', {
    body: ContainerMetadataPut,
    etag: true,
  }),
  metadata('containers.metadata.patch', 'PATCH /1.0/containers/:name/metadata', 'sync', 'Change the given members.', {
    body: ContainerMetadataPatch,
    etag: true,
  }),
  metadata(
    'containers.templates.get',
    'GET /1.0/containers/:name/metadata/templates',
    'raw',
    'Template names, or one template.',
    { query: ['path'] },
  ),
  metadata('containers.templates.post', 'POST /1.0/containers/:name/metadata/templates', 'sync', 'Add a template.', {
    query: ['path'],
  }),
  metadata('containers.templates.put', 'PUT /1.0/containers/:name/metadata/templates', 'sync', 'Replace a template.', {
    query: ['path'],
  }),
  metadata(
    'containers.templates.delete',
    'DELETE /1.0/containers/:name/metadata/templates',
    'sync',
    'Remove a template.',
    { query: ['path'] },
  ),
];

export const snapshotEndpoints = [
  endpoint('snapshots.list', 'GET /1.0/containers/:name/snapshots', 'sync', 'Snapshots.', recursion),
  endpoint('snapshots.create', 'POST /1.0/containers/:name/snapshots', 'async', 'Take a snapshot.', {
    body: SnapshotCreate,
  }),
  endpoint('snapshots.get', 'GET /1.0/containers/:name/snapshots/:snapshot', 'sync', 'One snapshot.', {
    result: Snapshot,
    etag: true,
  }),
  endpoint('snapshots.post', 'POST /1.0/containers/:name/snapshots/:snapshot', 'async', 'Rename or migrate.', {
    body: ContainerPost,
  }),
  endpoint('snapshots.put', 'PUT /1.0/containers/:name/snapshots/:snapshot', 'async', 'Change the expiry.', {
    body: SnapshotPut,
    etag: true,
    extension: 'snapshot_expiry',
  }),
  endpoint('snapshots.patch', 'PATCH /1.0/containers/:name/snapshots/:snapshot', 'async', 'The same as PUT.', {
    body: SnapshotPut,
    etag: true,
    extension: 'snapshot_expiry',
  }),
  endpoint('snapshots.delete', 'DELETE /1.0/containers/:name/snapshots/:snapshot', 'async', 'Delete it.'),
  backups('backups.list', 'GET /1.0/containers/:name/backups', 'sync', 'Backups.', recursion),
  backups('backups.create', 'POST /1.0/containers/:name/backups', 'async', 'Make a backup.', { body: BackupCreate }),
  backups('backups.get', 'GET /1.0/containers/:name/backups/:backup', 'sync', 'One backup.', { result: Backup }),
  backups('backups.post', 'POST /1.0/containers/:name/backups/:backup', 'async', 'Rename it.', { body: RenamePost }),
  backups('backups.delete', 'DELETE /1.0/containers/:name/backups/:backup', 'async', 'Delete it.'),
  backups(
    'backups.export',
    'GET /1.0/containers/:name/backups/:backup/export',
    'raw',
    'The backup file; one range of it on demand.',
  ),
];
