// Qualifies names in paths, once for all routes. Pure.
import type { ProjectNames } from '../services/shared/project-scope.ts';

type Params = Readonly<Record<string, string>>;
type Qualify = (params: Params, names: ProjectNames) => Params;

const byPath: readonly (readonly [path: string, qualify: Qualify])[] = [
  ['/1.0/containers/:name', (params, names) => changed(params, 'name', names.container)],
  ['/1.0/profiles/:name', (params, names) => changed(params, 'name', names.profile)],
  ['/1.0/images/aliases/', (params, names) => changed(params, '*', names.alias)],
  ['/1.0/images/:fingerprint', (params, names) => changed(params, 'fingerprint', names.image)],
  ['/1.0/storage-pools/:pool/volumes/:type/:name', (params, names) => changed(params, 'name', volumeOf(params, names))],
  ['/1.0/storage-pools/:pool/volumes/custom/:name', (params, names) => changed(params, 'name', names.volume)],
];

const changed = (params: Params, key: string, qualify: (name: string) => string): Params => ({
  ...params,
  [key]: qualify(params[key] ?? ''),
});

/** A container's volume is named after it, an image's after its fingerprint. */
function volumeOf({ type }: Params, names: ProjectNames): (name: string) => string {
  if (type === 'container') return names.container;
  return type === 'image' ? names.image : names.volume;
}

/** `path`: the endpoint's path. */
export function qualifiedParams(path: string, params: Params, names: ProjectNames): Params {
  const found = byPath.find(([prefix]) => path.startsWith(prefix));
  return found === undefined ? params : found[1](params, names);
}
