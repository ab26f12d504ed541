// Whether two sources of containers are words for the same: by content where that can be known, else by where it comes from.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import { equalValues } from '../../framework/value.ts';
import type { Source } from './container-attributes.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { copiedFrom, copiedPath } from './copy-source.ts';
import { isSameBackup } from './backup-file.ts';

/**
 * How it is fetched (`protocol`, `mode`, `certificate`) and what comes along (`container_only`) make no other source. `base` tells
 * the fingerprint of the image that the container was made from.
 */
export async function isSameSource(
  before: Source,
  after: Source,
  link: Link,
  base: () => Promise<string | undefined>,
): Promise<boolean> {
  if (before.type !== after.type) return false;
  if (before.type === 'backup') return isSameBackup(before, after);
  if (before.type !== 'image') return copiedFrom(before) === copiedFrom(after);
  const [from, to] = [nonEmpty(before.server), nonEmpty(after.server)];
  if (from === to && nonEmpty(before.alias) !== null && before.alias === after.alias) return true;
  const b = await fingerprintOf(after, link);
  const a = (await fingerprintOf(before, link)) ?? (b === undefined || from !== null ? undefined : await base());
  if (a !== undefined && b !== undefined) return a.startsWith(b) || b.startsWith(a);
  // An import knows the image itself only; the server remembers where it fetched it.
  return from === null && a !== undefined && (await isFetchedFrom(a, after, link));
}

/** What asks the server, once it is needed. */
export const baseImageOf =
  (link: Link, container: string): (() => Promise<string | undefined>) =>
  async () =>
    (await found(link.client.get('container', container)))?.config['volatile.base_image'];

/** Whether this server has nothing of the name that the source gives. */
export async function isMissing(source: Source, link: Link): Promise<boolean> {
  if (source.type === 'copy') {
    const call = { method: 'GET', path: copiedPath(source) } as const;
    return (await found(link.client.http.send<unknown>(call))) === undefined;
  }
  if (nonEmpty(source.server) !== null || nonEmpty(source.alias) === null) return false;
  return (await found(link.client.get('image_alias', source.alias ?? ''))) === undefined;
}

/** At the apply of a plan that took another source for the same: throws DiagnosticError when it names something else. */
export async function checkSource(link: Link, before: Source | null, after: Source | null, name: string) {
  if (before === null || after === null || equalValues(before, after)) return;
  if (await isSameSource(before, after, link, baseImageOf(link, name))) return;
  const isRenamed =
    before.type === 'copy' &&
    after.type === 'copy' &&
    (await isMissing(before, link)) &&
    !(await isMissing(after, link));
  if (isRenamed) return;
  const copied = after.type === 'copy' ? copiedFrom(after) : null;
  const shown = copied ?? after.alias ?? '';
  if (await isMissing(after, link)) {
    const [what, detail] =
      after.type === 'copy'
        ? [shown.includes('/') ? 'snapshot' : 'container', 'Name in source what there is.']
        : ['image alias', 'Name in source.alias what there is, or make it with gantry_image_alias.'];
    throw new DiagnosticError([failure(`There is no ${what} ${shown}`, detail, at('source'))]);
  }
  const word = copied ?? after.alias ?? after.fingerprint ?? after.type;
  const detail = `When the plan was made nothing had the name ${word}; now it stands for something else than what the container was made from. Plan again: the plan then replaces the container. Or take the change of source back.`;
  throw new DiagnosticError([failure(`The container ${name} was not made from ${word}`, detail, at('source'))]);
}

async function fingerprintOf({ fingerprint, alias, server }: Source, link: Link) {
  if (nonEmpty(fingerprint) !== null) return fingerprint ?? undefined;
  if (nonEmpty(alias) === null || nonEmpty(server) !== null) return undefined;
  return (await found(link.client.get('image_alias', alias ?? '')))?.target;
}

async function isFetchedFrom(fingerprint: string, { server, alias }: Source, link: Link): Promise<boolean> {
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
