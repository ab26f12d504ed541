// Reads from a server for Terraform's data sources, and the forms that several of them share.
import type { Client } from '../client.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** The server and the limits of the reads. */
export interface Ask {
  readonly client: Client;
  readonly signal?: AbortSignal | undefined;
}

export type TextMap = Readonly<Record<string, string>>;
export type TextMaps = Readonly<Record<string, TextMap>>;

/** Arguments that match no object. */
export class FactsArgumentError extends Error {
  override readonly name = 'FactsArgumentError';
}

export const get = async <T>({ client, signal }: Ask, path: string, query?: Readonly<Record<string, number>>) =>
  (await client.http.send<T>({ method: 'GET', path, ...withoutUndefined({ query }) }, signal)).metadata;

export const at = (collection: string, name: string): string => `/1.0/${collection}/${encodeURIComponent(name)}`;

/** Empty values count as absent. */
export const present = (map: TextMap | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([, value]) => value !== ''));
export const presentMaps = (maps: TextMaps | undefined): TextMaps =>
  Object.fromEntries(Object.entries(maps ?? {}).map(([name, map]) => [name, present(map)]));
