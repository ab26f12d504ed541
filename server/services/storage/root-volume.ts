// Values that clients set on the root volume of a container, which a copy of the container keeps. Pure.
import type { RootVolumeDocument } from '../../records/documents.ts';

type Written = { readonly [K in keyof RootVolumeDocument]?: RootVolumeDocument[K] | undefined };

/** Description and user.* keys: other keys belong to the former pool. A member of records; empty: nothing was set. */
export function volumeCopy(from: Written | undefined): { readonly volume?: RootVolumeDocument } {
  const { description = '', config = {} } = from ?? {};
  const own = Object.entries(config).filter(([key]) => key.startsWith('user.'));
  if (description === '' && own.length === 0) return {};
  return { volume: { description, config: Object.fromEntries(own) } };
}
