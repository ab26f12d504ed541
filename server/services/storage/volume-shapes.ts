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

const sized = (bytes: number | undefined): { readonly bytes?: number } => (bytes === undefined ? {} : { bytes });
