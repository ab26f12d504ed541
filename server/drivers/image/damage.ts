// Detects damage of an image's stored files, for example by a failing disk or a power cut.
import { stat } from 'node:fs/promises';
import { driverErrors } from '../driver-error.ts';
import { fingerprintImage, type ImagePaths } from './files.ts';
import { ifMissing } from '../../lib/shared/missing-files.ts';

export interface StoredImage extends ImagePaths {
  readonly fingerprint: string;
  /** The size of all files together; absent: unknown. */
  readonly sizeBytes?: number;
}

const remedy = 'Upload or pull the same image again, which replaces its file, or delete the image';

const describe = ({ fingerprint }: StoredImage, why: string): string =>
  `The image ${fingerprint} is damaged on this server: ${why}. ${remedy}`;

/** The damage and its remedy; undefined if the sizes match. Reads no content. */
async function sizeDamage(image: StoredImage): Promise<string | undefined> {
  const paths = [image.metadataPath, ...(image.rootfsPath === undefined ? [] : [image.rootfsPath])];
  const sizes = await Promise.all(paths.map(sizeOf));
  const missing = paths[sizes.indexOf(undefined)];
  if (missing !== undefined) return describe(image, `its file ${missing} is missing`);
  const total = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  if (image.sizeBytes === undefined || total === image.sizeBytes) return undefined;
  return describe(image, `${paths.join(' and ')} has ${total} bytes instead of ${image.sizeBytes}`);
}

/** Checks size and content: reads every byte. */
async function contentDamage(image: StoredImage, signal: AbortSignal): Promise<string | undefined> {
  const damage = await sizeDamage(image);
  if (damage !== undefined) return damage;
  const found = await fingerprintImage(image, signal);
  return found === image.fingerprint
    ? undefined
    : describe(image, `the content of ${image.metadataPath} has the fingerprint ${found}`);
}

export interface DamageCheck {
  readonly bySize: (image: StoredImage) => Promise<string | undefined>;
  readonly byContent: (image: StoredImage, signal: AbortSignal) => Promise<string | undefined>;
}

export const damageCheck: DamageCheck = { bySize: sizeDamage, byContent: contentDamage };

/** For a daemon with records of images but no files. */
export const noDamageCheck: DamageCheck = {
  bySize: () => Promise.resolve(undefined),
  byContent: () => Promise.resolve(undefined),
};

/** Throws Failed with the remedy. */
export async function refuseDamaged(image: StoredImage, signal: AbortSignal): Promise<void> {
  const damage = await contentDamage(image, signal);
  if (damage !== undefined) throw driverErrors.failed(damage);
}

const sizeOf = async (path: string): Promise<number | undefined> => (await stat(path).catch(ifMissing))?.size;
