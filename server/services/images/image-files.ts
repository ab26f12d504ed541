// The files of images as the daemon keeps them: put in place durably, removed, swept and looked through at start.
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DamageCheck, StoredImage } from '../../drivers/image/damage.ts';
import { moveDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { isThere } from '../../lib/shared/missing-files.ts';

/** Where they are and how large they must be. */
export function storedImage(
  dir: string,
  fingerprint: string,
  { sizeBytes, split }: Pick<ImageDocument, 'sizeBytes' | 'split'>,
): StoredImage {
  const metadataPath = join(dir, fingerprint);
  return { fingerprint, metadataPath, sizeBytes, ...(split ? { rootfsPath: `${metadataPath}.rootfs` } : {}) };
}

/** Moves finished upload files to their final names; they are on the disk afterwards. Idempotent. */
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
    // Moved by an earlier run of the same step.
    if (!hasCode(error, 'ENOENT') || !(await isThere(to))) throw error;
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** Idempotent. */
export async function removeImageFiles(dir: string, fingerprint: string): Promise<void> {
  await rm(join(dir, fingerprint), { force: true });
  await rm(join(dir, `${fingerprint}.rootfs`), { force: true });
}

/** At daemon start, after recovery: uploads of an earlier daemon and files that no record knows. */
export async function sweepImageDir(deps: { readonly records: Records; readonly dir: string }): Promise<void> {
  await rm(join(deps.dir, '.uploads'), { recursive: true, force: true });
  const known = new Set(deps.records.images.list().map(({ name }) => plainName(name)));
  for (const file of await readdir(deps.dir).catch(() => [])) {
    if (!known.has(file.replace(/\.rootfs$/, ''))) await rm(join(deps.dir, file), { recursive: true, force: true });
  }
}

/** At daemon start: a warning for each image, once for all projects, whose files do not have the size of its record. */
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
