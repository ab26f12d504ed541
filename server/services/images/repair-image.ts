// A damaged image whose files come once more: they take the place of the damaged ones, the image stays what it is.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errors } from '../../api/errors.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { AddImageDeps, NewImage } from './new-image.ts';
import { placeImageFiles, storedImage } from './image-files.ts';

/** Undefined also for an image that is being made or deleted: its files are not to be touched. */
export async function storedDamage(
  { dir, damage }: Pick<AddImageDeps, 'dir' | 'damage'>,
  fingerprint: string,
  document: ImageDocument,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (document.lifecycle !== 'ready') return undefined;
  return damage.byContent(storedImage(dir, fingerprint, document), signal);
}

/** The caller holds the lock of the image, and the files have its fingerprint. They are moved. Aliases of the upload are added. */
export async function repairImage(
  deps: Pick<AddImageDeps, 'records' | 'dir'>,
  fingerprint: string,
  { metadataPath, rootfsPath, aliases }: Pick<NewImage, 'metadataPath' | 'rootfsPath' | 'aliases'>,
  found: Pick<ImageDocument, 'sizeBytes' | 'split'>,
): Promise<void> {
  const { records, dir } = deps;
  const taken = aliases.find(({ name }) => (records.aliases.get(name)?.document.target ?? fingerprint) !== fingerprint);
  if (taken !== undefined) throw errors.exists('image alias', taken.name);
  await placeImageFiles(dir, fingerprint, metadataPath, rootfsPath);
  if (!found.split) await rm(join(dir, `${fingerprint}.rootfs`), { force: true });
  await records.retry((changes) => {
    const document = records.images.get(fingerprint)?.document;
    if (document === undefined) throw errors.notFound('image', fingerprint);
    changes.put('images', fingerprint, { ...document, ...found });
    for (const { name, description } of aliases)
      if (!records.aliases.has(name)) changes.put('aliases', name, { v: 1, description, target: fingerprint });
  });
}
