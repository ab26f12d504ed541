// Repairs a damaged image from a second upload: replaces its files, and keeps its record.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errors } from '../../api/errors.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { AddImageDeps, NewImage } from './new-image.ts';
import { plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { placeImageFiles, storedImage } from './image-files.ts';
import { refuseOtherParts } from './sagas/image-add.ts';

/** Also undefined for an image in creation or deletion: its files must not be touched. */
export async function storedDamage(
  { dir, damage }: Pick<AddImageDeps, 'dir' | 'damage'>,
  image: string,
  document: ImageDocument,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (document.lifecycle !== 'ready') return undefined;
  return damage.byContent(storedImage(dir, plainName(image), document), signal);
}

/** The caller holds the locks of the image and its files, and the new files have its fingerprint. Moves them, which repairs every project's
 *  image. Adds the upload's aliases. */
export async function repairImage(
  deps: Pick<AddImageDeps, 'records' | 'dir'>,
  image: string,
  { metadataPath, rootfsPath, aliases }: Pick<NewImage, 'metadataPath' | 'rootfsPath' | 'aliases'>,
  found: Pick<ImageDocument, 'sizeBytes' | 'split'>,
): Promise<void> {
  const { records, dir } = deps;
  const fingerprint = plainName(image);
  const aliasOf = (name: string): string => qualifiedName(projectOf(image), name);
  refuseOtherParts(records, image, found.split);
  const taken = aliases.find(
    ({ name }) => (records.aliases.get(aliasOf(name))?.document.target ?? fingerprint) !== fingerprint,
  );
  if (taken !== undefined) throw errors.exists('image alias', taken.name);
  await placeImageFiles(dir, fingerprint, metadataPath, rootfsPath);
  if (!found.split) await rm(join(dir, `${fingerprint}.rootfs`), { force: true });
  await records.retry((changes) => {
    const document = records.images.get(image)?.document;
    if (document === undefined) throw errors.notFound('image', fingerprint);
    changes.put('images', image, { ...document, ...found });
    for (const { name, description } of aliases)
      if (!records.aliases.has(aliasOf(name)))
        changes.put('aliases', aliasOf(name), { v: 1, description, target: fingerprint });
  });
}
