// The contents of a project: the objects stored under its name. Pure.
import {
  aliasUrl,
  containerUrl,
  imageUrl,
  plainName,
  profileUrl,
  projectOf,
  urlInProject,
} from '../../api/project/project-names.ts';
import type { Records } from '../../records/records.ts';
import { volumeIdOf } from '../../records/record-names.ts';

export interface ProjectObject {
  readonly label: 'container' | 'image' | 'image alias' | 'profile' | 'volume';
  /** The name that users see. */
  readonly name: string;
  readonly url: string;
}

type Reader = (records: Records) => readonly (ProjectObject & { readonly project: string })[];

const readers: readonly Reader[] = [
  ({ containers, others }) =>
    [...containers.list(), ...others.list('containers')].map(({ name }) =>
      objectOf('container', name, containerUrl(name)),
    ),
  ({ images, others }) =>
    unique([...images.list(), ...others.list('images')]).map(({ name }) => objectOf('image', name, imageUrl(name))),
  ({ aliases }) => aliases.list().map(({ name }) => objectOf('image alias', name, aliasUrl(name))),
  ({ profiles }) => profiles.list().map(({ name }) => objectOf('profile', name, profileUrl(name))),
  ({ volumes, others }) =>
    [...volumes.list(), ...others.list('volumes')].map(({ name: key }) => {
      const { pool, name } = volumeIdOf(key);
      return objectOf('volume', name, urlInProject(`/1.0/storage-pools/${pool}/volumes/custom`, name));
    }),
];

/** Several members of a cluster may have a copy. */
const unique = <T extends { readonly name: string }>(entries: readonly T[]): readonly T[] => [
  ...new Map(entries.map((entry) => [entry.name, entry])).values(),
];

const objectOf = (
  label: ProjectObject['label'],
  qualified: string,
  url: string,
): ProjectObject & { readonly project: string } => ({
  label,
  name: plainName(qualified),
  url,
  project: projectOf(qualified),
});

/** The objects of every project that has any, in one pass. */
export function contentsOfAll(records: Records): ReadonlyMap<string, readonly ProjectObject[]> {
  const found = new Map<string, ProjectObject[]>();
  for (const read of readers)
    for (const object of read(records)) {
      const objects = found.get(object.project);
      if (objects === undefined) found.set(object.project, [object]);
      else objects.push(object);
    }
  return found;
}

export const contentsOf = (records: Records, project: string): readonly ProjectObject[] =>
  readers.flatMap((read) => read(records).filter((object) => object.project === project));

/** URLs that LXD lists as users of a project: aliases are implied by their images. */
export const usedByOf = (objects: readonly ProjectObject[]): string[] =>
  objects.filter(({ label }) => label !== 'image alias').map(({ url }) => url);

/** Objects that prevent a project's deletion, and changes of its features: all but its own default profile. */
export const blockers = (records: Records, project: string): readonly string[] =>
  contentsOf(records, project)
    .filter(({ label, name }) => label !== 'profile' || name !== 'default')
    .map(({ label, name }) => `the ${label} ${name}`);
