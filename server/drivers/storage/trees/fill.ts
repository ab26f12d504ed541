// What fills the volumes of trees: an unpacked image, a copy, the files of a folder, or nothing.
import { chmod, lstat, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { inSpan } from '../../../lib/shared/spans.ts';
import { driverErrors } from '../../driver-error.ts';
import { syncTree } from '../copy-tree.ts';
import type { ImageFiles, PoolSpec, UnpackImage, VolumeRef, VolumeSource } from '../driver.ts';
import { createImageCache, type ImageCache } from '../image-cache.ts';
import { treePathIn, volumePathIn } from '../layout.ts';
import type { TreeKind } from './kind.ts';
import type { TreeNames } from './names.ts';
import type { TreeStaging } from './staging.ts';
import { labelOf } from './deps.ts';

type Progress = (text: string) => void;
const never = new AbortController().signal;

export interface TreeFillDeps {
  readonly kind: TreeKind;
  readonly names: TreeNames;
  readonly staging: TreeStaging;
  readonly unpackImage: UnpackImage;
  readonly asRoot: boolean;
  readonly log: Log;
}

export interface TreeFill {
  readonly fill: (
    pool: PoolSpec,
    volume: VolumeRef,
    source: VolumeSource,
    progress: Progress,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly images: ImageCache;
}

export function treeFill({ kind, names, staging, unpackImage, asRoot, log }: TreeFillDeps): TreeFill {
  const images = createImageCache();

  async function unpack(
    root: string,
    image: ImageFiles,
    progress: Progress,
    signal: AbortSignal,
    use: (path: string) => Promise<void>,
  ): Promise<void> {
    const path = volumePathIn(root, { type: 'image', name: image.fingerprint });
    const fill = async (temporary: string): Promise<void> => {
      await kind.makeTree(temporary);
      await inSpan('unpack image', { attributes: { 'gantry.image': image.fingerprint } }, () =>
        unpackImage(image, temporary, { asRoot, progress }, signal),
      );
    };
    const keep = async (temporary: string): Promise<void> => {
      // Later volumes trust that an image which is there is whole, also after a power failure; the first one does not wait for that.
      const used = use(temporary);
      const done = Promise.all([syncTree(temporary, never), used])
        .then(() => names.move(temporary, path))
        .catch((error: unknown) => {
          // In a shared pool another member was faster.
          if (!isTaken(error)) log.warn(`the unpacked image ${path} is not kept: ${errorText(error)}`);
          throw error;
        });
      staging.behind(root, done);
      await done;
    };
    await staging.make(root, fill, keep);
  }

  async function fillFromImage(
    root: string,
    volume: VolumeRef,
    image: ImageFiles,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    const imagePath = volumePathIn(root, { type: 'image', name: image.fingerprint });
    const path = volumePathIn(root, volume);
    await images.withImage(
      imagePath,
      {
        has: () => names.isTree(imagePath),
        unpack: (use) => unpack(root, image, progress, signal, use),
        use: async (from) => {
          if (volume.type === 'image') return;
          const check = await watchIfShared(kind, from);
          await staging.build(root, path, async (temporary) => {
            await kind.copyTree(from, temporary, 'settled', signal, volume.shape);
            await check();
          });
        },
      },
      signal,
    );
    if (volume.type !== 'image') return;
    await images.whenUnused(imagePath, async () => {
      if (!(await names.isTree(imagePath))) throw driverErrors.failed(`the unpacked image ${imagePath} is not kept`);
    });
  }

  async function fillFromCopy(
    pool: PoolSpec,
    volume: VolumeRef,
    source: Extract<VolumeSource, { kind: 'copy' }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { from, snapshot } = source;
    const root = kind.root(pool);
    const tree = snapshot === undefined ? { volume: from } : { volume: from, snapshot };
    const fromPath = treePathIn(root, tree);
    if (!(await names.isTree(fromPath)))
      throw driverErrors.notFound(`there is no ${labelOf(tree)} in pool ${pool.name}`);
    const by = snapshot === undefined ? 'guest' : 'settled';
    await staging.build(root, volumePathIn(root, volume), (temporary) =>
      kind.copyTree(fromPath, temporary, by, signal, volume.shape),
    );
  }

  async function fill(
    pool: PoolSpec,
    volume: VolumeRef,
    source: VolumeSource,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<void> {
    const root = kind.root(pool);
    if (source.kind === 'image') return fillFromImage(root, volume, source.image, progress, signal);
    if (source.kind === 'copy') return fillFromCopy(pool, volume, source, signal);
    await staging.build(root, volumePathIn(root, volume), async (temporary) => {
      if (source.kind === 'tree') return kind.importTree(source.path, temporary, signal, volume.shape);
      // 0700: with idmapped mounts the files of a container are real setuid-root files on the host.
      await kind.makeTree(temporary, volume.shape);
      if (volume.type === 'custom') await chmod(temporary, 0o711);
      if (volume.type === 'container') await mkdir(join(temporary, 'rootfs'), { mode: 0o755 });
    });
  }

  return { fill, images };
}

export const isTaken = (error: unknown): boolean => hasCode(error, 'ENOTEMPTY', 'EEXIST');

/** Another member, which knows nothing of this copy, may delete the image in a shared pool meanwhile: the copy may lack files. */
async function watchIfShared({ tag }: TreeKind, path: string): Promise<() => Promise<void>> {
  if (tag === undefined) return () => Promise.resolve();
  const { ino } = await lstat(path);
  return async () => {
    const found = await lstat(path).catch(() => undefined);
    if (found?.ino !== ino) throw driverErrors.failed(`the unpacked image ${path} was deleted while it was copied`);
  };
}
