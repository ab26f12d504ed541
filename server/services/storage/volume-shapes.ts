// Kinds and file systems of new volumes, for drivers whose volumes have their own. Other drivers ignore them.
import { isTrue } from '../../api/text/value-checks.ts';
import type { VolumeRef } from '../../drivers/storage/driver.ts';
import type { ContainerDocument, VolumeDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { expand } from '../shared/expand.ts';
import { profilesOf } from '../shared/project-scope.ts';
import { refOf, volumeSize } from './custom-volumes.ts';
import { rootSize } from './root-size.ts';

export function newCustomVolume(name: string, config: VolumeDocument['config']): VolumeRef {
  const fileSystem = config['block.filesystem'] ?? '';
  const isBlock = config['zfs.block_mode'] ?? '';
  const shape = {
    ...sized(volumeSize(config)),
    ...(fileSystem === '' ? {} : { fileSystem }),
    ...(isBlock === '' ? {} : { isBlock: isTrue(isBlock) }),
  };
  return { ...refOf(name), shape };
}

/** The pool decides which file system it gets. */
export function newContainerVolume(
  records: Records,
  name: string,
  document: Pick<ContainerDocument, 'config' | 'devices' | 'profiles'>,
): VolumeRef {
  return { type: 'container', name, shape: sized(rootSize(expand(document, profilesOf(records, name)).devices)) };
}

interface Snapshot<Document> {
  readonly name: string;
  readonly document: Document;
}

/** The volume as a snapshot of it needs it that is made of files from elsewhere, since it may be of a time when the volume was larger.
 *  Without a snapshot: the volume. */
export type OfSnapshot = (snapshot?: string) => VolumeRef;

export const ofContainerSnapshots = (
  records: Records,
  volume: VolumeRef,
  snapshots: readonly Snapshot<Parameters<typeof newContainerVolume>[2]>[],
): OfSnapshot => ofSnapshots(volume, snapshots, (document) => newContainerVolume(records, volume.name, document));

export const ofCustomSnapshots = (
  volume: VolumeRef,
  snapshots: readonly Snapshot<Pick<VolumeDocument, 'config'>>[],
): OfSnapshot => ofSnapshots(volume, snapshots, ({ config }) => newCustomVolume(volume.name, config));

const ofSnapshots =
  <Document>(
    volume: VolumeRef,
    snapshots: readonly Snapshot<Document>[],
    volumeThen: (document: Document) => VolumeRef,
  ): OfSnapshot =>
  (snapshot) => {
    const found = snapshots.find(({ name }) => name === snapshot);
    return found === undefined ? volume : atLeast(volume, volumeThen(found.document));
  };

const atLeast = (volume: VolumeRef, { shape: { bytes } = {} }: VolumeRef): VolumeRef =>
  bytes === undefined ? volume : { ...volume, shape: { ...volume.shape, minBytes: bytes } };

const sized = (bytes: number | undefined): { readonly bytes?: number } => (bytes === undefined ? {} : { bytes });
