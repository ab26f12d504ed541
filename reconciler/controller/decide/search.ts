// Finds sets, hosts, sources and objects by words. Pure.
import type { ObjectSummary, Overview, SearchHit, SearchResult } from '../contract/index.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Searched {
  readonly overview: Overview;
  readonly objects: (set: string) => Iterable<ObjectSummary>;
}

/** Every word must occur. */
export function search({ overview, objects }: Searched, words: string, limit: number): SearchResult {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return { hits: [], total: 0 };
  const fits = (...texts: readonly (string | undefined)[]): boolean => {
    const text = texts.join(' ').toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const places = placesOf(overview).filter(({ name, text }) => fits(name, text));
  let total = places.length;
  const apart: SearchHit[] = [];
  const synced: SearchHit[] = [];
  for (const { name: set } of overview.sets)
    for (const { host, address, status, message } of objects(set)) {
      if (!fits(address, host, message)) continue;
      total += 1;
      const list = status === 'synced' ? synced : apart;
      if (list.length < limit)
        list.push({
          type: 'object',
          name: address,
          set,
          host,
          status,
          ...withoutUndefined({ text: message }),
        });
    }
  return { hits: [...places, ...apart, ...synced].slice(0, limit), total };
}

function placesOf({ sets, hosts, sources }: Overview): readonly SearchHit[] {
  return [
    ...sets.map(({ name, status, message }): SearchHit => ({
      type: 'set',
      name,
      status,
      ...withoutUndefined({ text: message }),
    })),
    ...hosts.map(({ name, labels }): SearchHit => ({
      type: 'host',
      name,
      text: Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    })),
    ...sources.map(({ name, url }): SearchHit => ({ type: 'source', name, text: url })),
  ];
}
