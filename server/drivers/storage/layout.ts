// The layout of a directory pool, and the volume names that are safe as file names; touches no file.
import { isAbsolute, join, normalize, sep } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import type { PoolSpec, SnapshotRef, TreeRef, VolumeRef } from './driver.ts';

const folders = { container: 'containers', image: 'images', custom: 'custom' } as const satisfies Record<
  VolumeRef['type'],
  string
>;

/** Half-made and half-deleted volumes live here, apart from the volumes: `.tmp-x` is a legal container name. */
export const temporaryFolder = 'tmp';

/** Volumes taken out of their place while their restored content moves in; mountPool puts back what has no successor. */
export const replacedFolder = 'replaced';

/** Copies of the records about the pool, by which a host that has lost its own finds what it had. */
export const recordsFolder = 'records';

export const volumeTypes = ['container', 'image', 'custom'] as const satisfies readonly VolumeRef['type'][];

const snapshotFolders = { container: 'containers-snapshots', custom: 'custom-snapshots' } as const;

export const poolFolders: readonly string[] = [
  ...Object.values(folders),
  ...Object.values(snapshotFolders),
  recordsFolder,
  replacedFolder,
  temporaryFolder,
];

export function volumeFolder(type: VolumeRef['type']): string {
  return folders[type];
}

/** Path of a volume below a pool's source. Throws Invalid on a name that could leave its folder. */
export function volumePathIn(source: string, volume: VolumeRef): string {
  checkVolumeName(volume);
  return join(source, folders[volume.type], volume.name);
}

/** Directory with the snapshots of a volume; it is there only while there are some. */
export function snapshotsPathIn(source: string, volume: VolumeRef): string {
  if (volume.type === 'image') throw driverErrors.invalid('the volume of an image has no snapshots');
  checkVolumeName(volume);
  return join(source, snapshotFolders[volume.type], volume.name);
}

export function snapshotPathIn(source: string, { volume, snapshot }: SnapshotRef): string {
  if (!/^[!-~]{1,64}$/.test(snapshot) || snapshot.includes('/') || snapshot === '.' || snapshot === '..')
    throw driverErrors.invalid(`${JSON.stringify(snapshot)} cannot be the name of a snapshot`);
  return join(snapshotsPathIn(source, volume), snapshot);
}

export const treePathIn = (source: string, { volume, snapshot }: TreeRef): string =>
  snapshot === undefined ? volumePathIn(source, volume) : snapshotPathIn(source, { volume, snapshot });

/** Where a volume waits while its restored content takes its place. `tag`: of the member of a cluster that restores it. */
export function replacedPathIn(source: string, volume: VolumeRef, tag = ''): string {
  checkVolumeName(volume);
  return join(source, replacedFolder, `${tag}${volume.type}@${volume.name}`);
}

/** The volume that an entry of the replaced folder was; undefined for anything else. */
export function replacedVolume(entry: string): VolumeRef | undefined {
  const [, type, name = ''] = /^(?:m[0-9]+-)?(container|custom)@(.+)$/s.exec(entry) ?? [];
  return type === 'container' || type === 'custom' ? { type, name } : undefined;
}

/** A name, or `PROJECT%NAME`. */
const volumeName = /^(?:[!-$&-~]{1,64}%)?[!-~]{1,64}$/;

export function checkVolumeName(volume: VolumeRef): void {
  const { type, name } = volume;
  const isSafe =
    type === 'image'
      ? /^[0-9a-f]{64}$/.test(name)
      : volumeName.test(name) && !/[/:,]/.test(name) && name !== '.' && name !== '..';
  if (!isSafe) throw driverErrors.invalid(`${JSON.stringify(name)} cannot be the name of a ${type} volume`);
}

/**
 * Where the pool is: its `source`, or a folder of its own below `root`. Throws Invalid (naming `config.source`) on a place that
 * cannot be a pool: not absolute, the root of the host, or another part of the daemon's own state.
 */
export function poolSource(root: string, stateDir: string, pool: PoolSpec): string {
  if (!/^[!-~]{1,64}$/.test(pool.name) || /[/:,]/.test(pool.name) || pool.name === '.' || pool.name === '..')
    throw driverErrors.invalid(`${JSON.stringify(pool.name)} cannot be the name of a pool`);
  const own = join(root, pool.name);
  const configured = pool.config['source'] ?? '';
  if (configured === '') return own;
  if (!isAbsolute(configured) || configured.includes('\0'))
    throw driverErrors.invalid(`config.source: ${configured} of pool ${pool.name} is not an absolute path`);
  const source = withoutTrailingSlash(normalize(configured));
  if (source === sep) throw driverErrors.invalid(`config.source: the root of the host cannot be pool ${pool.name}`);
  if (source !== own && (isInside(stateDir, source) || isInside(source, stateDir)))
    throw driverErrors.invalid(
      `config.source: ${source} is part of the state of the daemon; pool ${pool.name} may only use ${own} there`,
    );
  return source;
}

/** True for the directory itself and everything below it. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === sep ? sep : directory + sep);
}

function withoutTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path;
}
