// The directories of CRIU's images: their paths, the link to the previous pre-dump, their modes.
import { driverErrors } from '../../driver-error.ts';
import { basename, dirname, join, resolve } from 'node:path';
import { chmodSync, lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { attempt } from '../../../lib/shared/attempt.ts';

/** From one directory's files to the previous one's: relative, so that both can be moved. */
export function linkTo(dir: string, previous: string | undefined): string | undefined {
  if (previous === undefined) return undefined;
  if (dirname(previous) !== dirname(dir)) {
    throw driverErrors.invalid(`${previous} and ${dir} must lie in the same directory`);
  }
  return `../../${basename(previous)}/images`;
}

export const imagesOf = (dir: string): string => join(dir, 'images');

/** Restored processes read some of it themselves, as the container's root. Other users of the host cannot reach `dir`. */
export function makeImagesDir(dir: string): string {
  const images = imagesOf(dir);
  mkdirSync(images, { recursive: true });
  chmodSync(images, 0o755);
  chmodSync(dir, 0o711);
  return images;
}

/** Previous pre-dumps are beside it; restored processes read from them, too. Transferred directories may have other modes, or be links. */
export function makeRoundsPassable(dir: string): void {
  const seen = new Set<string>();
  for (let images = imagesOf(dir); !seen.has(images);) {
    seen.add(images);
    const link = linkIn(images);
    if (link === undefined) return;
    images = resolve(images, link);
    const round = dirname(images);
    const isBeside = dirname(round) === dirname(dir) && imagesOf(round) === images;
    if (!isBeside || lstatSync(round, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw driverErrors.invalid(
        `${seen.size === 1 ? dir : round} continues from ${images}, which does not lie beside it`,
      );
    }
    makeImagesDir(round);
  }
}

const linkIn = (images: string): string | undefined => attempt(() => readlinkSync(join(images, 'parent')));
