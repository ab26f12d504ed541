// Whether two sources of containers are words for the same: by content where that can be known, else by where it comes from.
import { isNotFound } from '../../server/client/client-error.ts';
import type { Reply } from '../../server/client/reply.ts';
import type { Link } from '../connection/link.ts';
import type { Source } from './container-attributes.ts';
import { said } from './maps.ts';

/** How it is fetched (`protocol`, `mode`) and what comes along (`container_only`) make no other source. */
export async function isSameSource(before: Source, after: Source, link: Link | undefined): Promise<boolean> {
  if (before.type !== after.type) return false;
  if (before.type !== 'image') return before.source === after.source;
  const [from, to] = [said(before.server), said(after.server)];
  if (from === to && said(before.alias) !== null && before.alias === after.alias) return true;
  const [a, b] = [await fingerprintOf(before, link), await fingerprintOf(after, link)];
  if (a !== undefined && b !== undefined) return a.startsWith(b) || b.startsWith(a);
  // An import knows the image itself only; the server remembers where it fetched it.
  return from === null && a !== undefined && (await isFetchedFrom(a, after, link));
}

async function fingerprintOf({ fingerprint, alias, server }: Source, link: Link | undefined) {
  if (said(fingerprint) !== null) return fingerprint ?? undefined;
  if (said(alias) === null || said(server) !== null || link === undefined) return undefined;
  return (await found(link.client.get('image_alias', alias ?? '')))?.target;
}

async function isFetchedFrom(fingerprint: string, { server, alias }: Source, link: Link | undefined): Promise<boolean> {
  if (link === undefined) return false;
  const origin = (await found(link.client.get('image', fingerprint)))?.update_source;
  return origin !== undefined && origin.server === server && origin.alias === alias;
}

async function found<T>(reply: Promise<Reply<T>>): Promise<T | undefined> {
  try {
    return (await reply).metadata;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
