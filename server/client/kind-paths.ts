// The API paths of the objects of each kind.
import { kinds, type KindName } from '../api/kinds.ts';

/** Names may contain slashes (aliases): each is one path segment. */
export const pathOf = (kind: KindName, name: string): string => {
  if (kind === 'server_config') return kinds.server_config.collection;
  if (kind !== 'storage_volume') return `${kinds[kind].collection}/${encodeURIComponent(name)}`;
  const { pool, volume } = partsOfVolume(name);
  return `${volumesOf(pool)}/${encodeURIComponent(volume)}`;
};

export const volumesOf = (pool: string): string =>
  kinds.storage_volume.collection.replace('{pool}', encodeURIComponent(pool));

/** `POOL/VOLUME`. */
export function partsOfVolume(name: string): { readonly pool: string; readonly volume: string } {
  const slash = name.indexOf('/');
  return { pool: name.slice(0, Math.max(0, slash)), volume: name.slice(slash + 1) };
}
