// The files of images: placed durably, removed, swept and checked at start.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import type { DamageCheck, StoredImage } from '../../drivers/image/damage.ts';
import { moveDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { isThere } from '../../lib/shared/missing-files.ts';

/** Where the files are and their required sizes. */
export function storedImage(
  dir: string,
  fingerprint: string,
  { sizeBytes, split, kernelAcls }: Pick<ImageDocument, 'sizeBytes' | 'split' | 'kernelAcls'>,
): StoredImage {
  const metadataPath = join(dir, fingerprint);
  return {
    fingerprint,
    metadataPath,
    sizeBytes,
    ...(split ? { rootfsPath: `${metadataPath}.rootfs` } : {}),
    ...(kernelAcls === true ? { kernelAcls } : {}),
  };
}

/** Moves finished uploads to their final names, synced to the disk. Idempotent. */
export async function placeImageFiles(
  dir: string,
  fingerprint: string,
  metadataPath: string,
  rootfsPath?: string,
): Promise<void> {
  if (rootfsPath !== undefined) await moveFile(rootfsPath, join(dir, `${fingerprint}.rootfs`));
  await moveFile(metadataPath, join(dir, fingerprint));
}

async function moveFile(from: string, to: string): Promise<void> {
  try {
    await moveDurably(from, to);
  } catch (error) {
    // An earlier run of the step moved it.
    if (!hasCode(error, 'ENOENT') || !(await isThere(to))) throw error;
  }
}

/** Idempotent. */
export async function removeImageFiles(dir: string, fingerprint: string): Promise<void> {
  await rm(join(dir, fingerprint), { force: true });
  await rm(join(dir, `${fingerprint}.rootfs`), { force: true });
}

/** Call at daemon start, after recovery: deletes earlier uploads and files without a record. */
export async function sweepImageDir(deps: { readonly records: Records; readonly dir: string }): Promise<void> {
  await rm(join(deps.dir, '.uploads'), { recursive: true, force: true });
  const known = new Set(deps.records.images.list().map(({ name }) => plainName(name)));
  for (const file of await readdir(deps.dir).catch(() => [])) {
    if (!known.has(file.replace(/\.rootfs$/, ''))) await rm(join(deps.dir, file), { recursive: true, force: true });
  }
}

/** Call at daemon start: warns once per image, for all projects, if its files differ in size from the record. */
export async function reportDamagedImages(deps: {
  readonly records: Records;
  readonly dir: string;
  readonly damage: DamageCheck;
  readonly log: Pick<Log, 'warn'>;
}): Promise<void> {
  const seen = new Set<string>();
  for (const { name, document } of deps.records.images.list()) {
    const fingerprint = plainName(name);
    if (document.lifecycle !== 'ready' || seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    const damage = await deps.damage.bySize(storedImage(deps.dir, fingerprint, document));
    if (damage !== undefined) deps.log.warn(damage);
  }
}
