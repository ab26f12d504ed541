// Finds images by fingerprint, prefix, alias or properties. Reads records only; every lookup stays in the project of the given name.
import type { ContainerSource } from '../../api/container/container.ts';
import { errors, mustFind } from '../../api/errors.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { imageOfCluster, imagesOfCluster } from '../../membership/cluster-images.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import { aliasIn, imageIn, ofProject, projectWith } from '../shared/project-scope.ts';

type Found = Entry<ImageDocument>;

/** What of a container's source says which image it means. */
export type NamedImage = Pick<ContainerSource, 'alias' | 'fingerprint' | 'properties'>;

/** The image of that fingerprint, or those whose fingerprint begins with it. */
export function imagesLike(records: Records, prefix: string): readonly Found[] {
  const exact = imageOfCluster(records, prefix);
  if (exact !== undefined && exact.document.lifecycle === 'ready') return [exact];
  if (!/^[0-9a-f]{1,64}$/.test(plainName(prefix))) return [];
  return ofProject(imagesOfCluster(records), projectOf(prefix)).filter(
    (entry) => entry.name.startsWith(prefix) && entry.document.lifecycle === 'ready',
  );
}

/** The same in the other project whose images the name's project uses. */
export function inheritedLike(records: Records, prefix: string): readonly Found[] {
  const image = imageIn(records, projectOf(prefix), plainName(prefix));
  return image === prefix ? [] : imagesLike(records, image);
}

/** Throws AppError for none or several. */
export function onlyImage(prefix: string, found: readonly Found[]): Found {
  const [entry] = found;
  if (entry === undefined) throw errors.notFound('image', plainName(prefix));
  if (found.length === 1) return entry;
  throw errors.badRequest(`The fingerprint prefix ${plainName(prefix)} fits ${found.length} images; give more of it`);
}

/** By alias, fingerprint (prefix) or newest with all the properties. */
export function imageOfSource(records: Records, project: string, source: NamedImage): Found {
  const like = (prefix: string): Found => {
    const image = imageIn(records, project, prefix);
    return onlyImage(image, imagesLike(records, image));
  };
  if (source.alias !== undefined && source.alias !== '') {
    const alias = mustFind(records.aliases.get(aliasIn(records, project, source.alias)), 'image alias', source.alias);
    return like(alias.document.target);
  }
  if (source.fingerprint !== undefined && source.fingerprint !== '') return like(source.fingerprint);
  const wanted = Object.entries(source.properties ?? {});
  if (wanted.length === 0) {
    const message = 'needs alias, fingerprint or properties to name an image';
    throw errors.invalid('container', [{ path: 'source', message }]);
  }
  const [newest] = ofProject(imagesOfCluster(records), projectWith(records, project, 'features.images'))
    .filter(({ document }) => document.lifecycle === 'ready')
    .filter(({ document }) => wanted.every(([key, value]) => document.properties[key] === value))
    .toSorted((a, b) => (a.document.createdAt < b.document.createdAt ? 1 : -1));
  if (newest === undefined) throw errors.badRequest(`No image has the properties ${JSON.stringify(source.properties)}`);
  return newest;
}
