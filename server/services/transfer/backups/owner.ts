// The owner of a backup, a container or a custom volume: its names, its lock, and its record.
import { containerUrl, plainName, projectOf } from '../../../api/project/project-names.ts';
import { type VolumeId, volumeIdOf, volumeKey } from '../../../records/record-names.ts';
import type { Records } from '../../../records/records.ts';
import { anyContainer, lockOf, readyContainer } from '../../shared/find-container.ts';
import { customUrl } from '../../shared/volume-urls.ts';
import { readyVolume } from '../../storage/custom-volumes.ts';
import { findVolume, volumeLock, type VolumesDeps } from '../../storage/volume-checks.ts';

/** Also stored in intents. */
export type BackupOf = { readonly container: string } | { readonly volume: VolumeId };

export interface BackupOwner {
  readonly of: BackupOf;
  readonly kind: 'containers' | 'volumes';
  /** The key of its record. */
  readonly key: string;
  readonly label: string;
  readonly what: 'container' | 'storage volume';
  readonly project: string;
  readonly lock: string;
  /** `parts` are path segments below it. */
  readonly url: (...parts: readonly string[]) => string;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** The prefix of its events. */
  readonly event: 'container-backup' | 'storage-volume-backup';
  /** Without the project. */
  readonly plain: string;
}

export function ownerOf(of: BackupOf): BackupOwner {
  if ('container' in of) {
    const { container } = of;
    return {
      of,
      kind: 'containers',
      key: container,
      label: container,
      what: 'container',
      project: projectOf(container),
      lock: lockOf(container),
      url: (...parts) => containerUrl(container, ...parts),
      resources: { containers: [containerUrl(container)] },
      event: 'container-backup',
      plain: plainName(container),
    };
  }
  const { volume } = of;
  return {
    of,
    kind: 'volumes',
    key: volumeKey(volume),
    label: volumeKey(volume),
    what: 'storage volume',
    project: projectOf(volume.name),
    lock: volumeLock(volume),
    url: (...parts) => customUrl(volume, ...parts),
    resources: { storage_volumes: [customUrl(volume)] },
    event: 'storage-volume-backup',
    plain: plainName(volume.name),
  };
}

/** Throws AppError notFound. */
export const uuidOf = (deps: Pick<VolumesDeps, 'records' | 'pools'>, { of }: BackupOwner): string =>
  'container' in of ? anyContainer(deps.records, of.container).document.uuid : findVolume(deps, of.volume).uuid;

/** Throws AppError notFound, or badRequest while it is busy. */
export function readyOwner(records: Records, { of }: BackupOwner): { readonly uuid: string; readonly pool: string } {
  if ('container' in of) return readyContainer(records, of.container).document;
  return { uuid: readyVolume(records, of.volume).uuid, pool: of.volume.pool };
}

/** All ready owners, of all projects. */
export const readyOwners = (records: Records): readonly BackupOwner[] =>
  [
    ...records.containers.list().map(({ name, document }) => ({ of: { container: name }, document })),
    ...records.volumes.list().map(({ name, document }) => ({ of: { volume: volumeIdOf(name) }, document })),
  ].flatMap(({ of, document }) => (document.lifecycle === 'ready' ? [ownerOf(of)] : []));
