// The pools in which projects have unpacked their images: the copy is shared, and each project sees only its own use of it. Reads records.
import { plainName } from '../../api/project/project-names.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';

/** As far as known: older releases did not record it. */
export const isUnpackedIn = ({ unpackedIn }: ImageDocument, pool: string): boolean =>
  unpackedIn === undefined || unpackedIn.includes(pool);

export function unpackedImages(
  records: Pick<Records, 'images'>,
  pool: string,
  fingerprints: readonly string[],
): readonly Entry<ImageDocument>[] {
  const there = new Set(fingerprints);
  return records.images
    .list()
    .filter(({ name, document }) => there.has(plainName(name)) && isUnpackedIn(document, pool));
}
