// Adds an image from uploaded files: checks them, places them, records them, as one saga.
import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { architectureName } from '../../api/image/architectures.ts';
import { never } from '../../api/schema/common-schemas.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { inspectImage } from '../../drivers/image/archive.ts';
import { fingerprintImage } from '../../drivers/image/files.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Caller } from '../shared/caller.ts';
import { imageUrl, plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { imageIn } from '../shared/project-scope.ts';
import { otherHolders } from '../../membership/cluster-images.ts';
import { imageFilesLock, imageLock } from './image-deps.ts';
import { addImageSaga, refuseOtherParts, type AddParams } from './sagas/image-add.ts';
import type { AddImageDeps, NewImage, Upload } from './new-image.ts';
import { placeImageFiles, storedImage } from './image-files.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export { type AddImageDeps, type NewImage, type Upload } from './new-image.ts';

/** A path for a request body before it is known to be an image; emptied at daemon start. */
export async function uploadPath(dir: string): Promise<string> {
  const uploads = join(dir, '.uploads');
  await mkdir(uploads, { recursive: true, mode: 0o700 });
  return join(uploads, randomUUID());
}

/** Takes over the uploaded files: afterwards they are an image, or deleted. */
export function addImage(deps: AddImageDeps, caller: Caller, upload: Upload): Operation {
  return deps.operations.start({
    description: 'Importing image',
    resources: {},
    project: caller.project,
    mayCancel: true,
    run: async (handle, signal) => {
      try {
        const files = {
          metadataPath: upload.metadataPath,
          ...withoutUndefined({ rootfsPath: upload.rootfsPath }),
        };
        const fingerprint = await fingerprintImage(files, signal);
        handle.update({ fingerprint });
        if (upload.fingerprint !== undefined && upload.fingerprint !== fingerprint) {
          throw errors.badRequest(
            `The upload has fingerprint ${fingerprint}, announced was ${upload.fingerprint}: it was damaged on the way`,
          );
        }
        const image = imageIn(deps.records, caller.project, fingerprint);
        return await deps.locks.run(imageLock(image), () => storeImage(deps, caller, upload, image, signal));
      } finally {
        await rm(upload.metadataPath, { force: true });
        if (upload.rootfsPath !== undefined) await rm(upload.rootfsPath, { force: true });
      }
    },
  });
}

/** Inspects the files and makes them the image of that qualified name, or replaces damaged ones; the caller holds the lock of the image.
 *  Moves the files; on a throw they stay. Resolves to the operation's metadata. The same checks apply if another project has the image. */
export async function storeImage(
  deps: AddImageDeps,
  caller: Caller,
  upload: NewImage,
  image: string,
  signal: AbortSignal,
): Promise<{ readonly fingerprint: string; readonly size: string }> {
  const fingerprint = plainName(image);
  const known = await afterUndo(deps, image);
  if (known !== undefined && (await storedDamage(deps, image, known, signal)) === undefined)
    throw errors.exists('image', fingerprint);
  const { metadataPath, rootfsPath, copyOf } = upload;
  const isCopy = copyOf !== undefined;
  if (known === undefined && !isCopy && otherHolders(deps.records, image).length > 0)
    throw errors.exists('image', fingerprint);
  const inspected = await inspectImage(
    { metadataPath, ...withoutUndefined({ rootfsPath }) },
    { targetDir: deps.dir },
    signal,
  );
  const { metadata } = inspected;
  const architecture = architectureName(metadata.architecture);
  if (architecture === undefined)
    throw errors.badRequest(`metadata.yaml: architecture ${metadata.architecture} is not known`);
  const sizeBytes = (await stat(metadataPath)).size + (rootfsPath === undefined ? 0 : (await stat(rootfsPath)).size);
  if (known !== undefined) {
    const split = rootfsPath !== undefined;
    await deps.locks.run(imageFilesLock(image), () => repairImage(deps, image, upload, { sizeBytes, split }));
    deps.events.lifecycle('image-updated', imageUrl(image), caller);
    return { fingerprint, size: String(sizeBytes) };
  }
  const document: ImageDocument = {
    v: 1,
    architecture,
    filename: upload.filename,
    properties: { ...metadata.properties, ...upload.properties },
    public: upload.public,
    autoUpdate: upload.autoUpdate ?? false,
    cached: upload.cached ?? false,
    sizeBytes,
    createdAt: timestampOf(metadata.creation_date),
    expiresAt: upload.expiresAt ?? timestampOf(metadata.expiry_date),
    lastUsedAt: never.expires,
    uploadedAt: deps.clock.timestamp(),
    split: rootfsPath !== undefined,
    ...(inspected.kernelAcls ? { kernelAcls: true } : {}),
    ...withoutUndefined({ source: upload.source }),
    unpackedIn: [],
    lifecycle: 'ready',
  };
  const params: AddParams = {
    fingerprint: image,
    document,
    metadataPath,
    rootfsPath: rootfsPath ?? null,
    aliases: upload.aliases,
    ...withoutUndefined({ copyOf }),
  };
  await deps.locks.run(imageFilesLock(image), () => deps.sagas.run(addImageSaga(deps), params, { signal }));
  if (!isCopy) deps.events.lifecycle('image-created', imageUrl(image), caller);
  return { fingerprint, size: String(sizeBytes) };
}

/** The record, once a failed change of it is undone. */
async function afterUndo({ locks, sagas, records }: AddImageDeps, image: string): Promise<ImageDocument | undefined> {
  await locks.run(imageFilesLock(image), () => sagas.finishUndoHeld('images', image));
  return records.images.get(image)?.document;
}

const lastYear = 253_402_300_799;

/** From Unix time; a time outside 1970 to 9999 means never. */
const timestampOf = (seconds: number): string =>
  seconds > 0 && seconds <= lastYear ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : never.started;

/** Also undefined for an image in creation or deletion: its files must not be touched. */
async function storedDamage(
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
async function repairImage(
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
    const document = mustFind(records.images.get(image)?.document, 'image', fingerprint);
    changes.put('images', image, { ...document, ...found });
    for (const { name, description } of aliases)
      if (!records.aliases.has(aliasOf(name)))
        changes.put('aliases', aliasOf(name), { v: 1, description, target: fingerprint });
  });
}
