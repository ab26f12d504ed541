// Lists the images of all members of a cluster, each once: which record describes it, and which members have its files. Reads records only.
import type { Entry } from '../records/collection.ts';
import type { ImageDocument } from '../records/documents.ts';
import type { OtherEntry } from '../records/other-members.ts';
import type { Records } from '../records/records.ts';

type Reading = Pick<Records, 'images' | 'others' | 'member'>;

const isReady = ({ document }: Pick<Entry<ImageDocument>, 'document'>): boolean => document.lifecycle === 'ready';

/** The other members that have it, lowest number first. */
export const otherHolders = (records: Reading, image: string): readonly OtherEntry<ImageDocument>[] =>
  records.others.having('images', image).filter(isReady);

/** Numbers of all members that have the image, lowest first. */
export function holdersOf(records: Reading, image: string): readonly number[] {
  const own = records.images.get(image)?.document.lifecycle === 'ready' ? [records.member ?? 0] : [];
  return [...own, ...otherHolders(records, image).map(({ member }) => member)].toSorted((a, b) => a - b);
}

/** Ready images of the cluster, and own images in any state. The record of the member with the lowest number describes the image, so that
 *  all members answer alike. */
export function imagesOfCluster(records: Reading): readonly Entry<ImageDocument>[] {
  const own = records.images.list();
  if (records.others.generation('images') === 0) return own;
  const found = new Map<string, { readonly entry: Entry<ImageDocument>; readonly member: number }>();
  const lastUse = new Map<string, string>();
  const take = (entry: Entry<ImageDocument>, member: number): void => {
    const known = found.get(entry.name);
    if (known === undefined || !isReady(known.entry) || (isReady(entry) && member < known.member))
      found.set(entry.name, { entry, member });
    lastUse.set(entry.name, later(lastUse.get(entry.name), entry.document.lastUsedAt));
  };
  for (const entry of own) take(entry, records.member ?? 0);
  for (const entry of records.others.list('images')) if (isReady(entry)) take(entry, entry.member);
  return [...found.values()]
    .map(({ entry }) => usedAt(entry, lastUse.get(entry.name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The record that describes the image, as in the list. */
export function imageOfCluster(records: Reading, image: string): Entry<ImageDocument> | undefined {
  const own = records.images.get(image);
  const others = otherHolders(records, image);
  const [other] = others;
  if (other === undefined) return own;
  const lastUse = others.reduce<string | undefined>(
    (last, { document }) => later(last, document.lastUsedAt),
    own?.document.lastUsedAt,
  );
  const isOwn = own !== undefined && isReady(own) && (records.member ?? 0) < other.member;
  return usedAt(isOwn ? own : other, lastUse);
}

const later = (a: string | undefined, b: string): string => (a !== undefined && Date.parse(a) > Date.parse(b) ? a : b);

/** Each member records the use of its own copy: the image was last used when any member used it. */
const usedAt = (entry: Entry<ImageDocument>, lastUsedAt = entry.document.lastUsedAt): Entry<ImageDocument> =>
  lastUsedAt === entry.document.lastUsedAt ? entry : { ...entry, document: { ...entry.document, lastUsedAt } };
