// Decides whether two sources of containers mean the same: by content where it is known, else by origin.
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
 * Ignores how the source is fetched (`protocol`, `mode`, `certificate`) and the extent of a copy (`container_only`). `base` returns
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
  // An import knows only the image; the server knows where it came from.
  return from === null && a !== undefined && (await isFetchedFrom(a, after, link));
}

/**
 * Whether a container whose state is of an import may be made from `after`. An import knows at most an image: of a copy or a backup that of
 * its origin. A name of an image may have got another image since then.
 */
export function mayBeOrigin(before: Source, { type, fingerprint }: Pick<Source, 'type' | 'fingerprint'>): boolean {
  if (before.type !== 'image') return false;
  if (type === 'backup') return true;
  const isGuess = nonEmpty(before.alias) === null && nonEmpty(before.server) === null;
  return isGuess && (type !== 'image' || nonEmpty(fingerprint) === null);
}

/** Asks the server on demand. */
export const baseImageOf =
  (link: Link, container: string): (() => Promise<string | undefined>) =>
  async () =>
    (await found(link.client.get('container', container)))?.config['volatile.base_image'];

/** Whether this server has no object of the name in the source. */
export async function isMissing(source: Source, link: Link): Promise<boolean> {
  if (source.type === 'copy') {
    const call = { method: 'GET', path: copiedPath(source) } as const;
    return (await found(link.client.http.send<unknown>(call))) === undefined;
  }
  if (nonEmpty(source.server) !== null || nonEmpty(source.alias) === null) return false;
  return (await found(link.client.get('image_alias', source.alias ?? ''))) === undefined;
}

/** Checks at apply the assumption of the plan that the new source names the same thing. Throws DiagnosticError when it does not. */
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
        ? [shown.includes('/') ? 'snapshot' : 'container', 'Name an existing one in source.']
        : ['image alias', 'Name an existing alias in source.alias, or create it with gantry_image_alias.'];
    throw new DiagnosticError([failure(`There is no ${what} ${shown}`, detail, at('source'))]);
  }
  const word = copied ?? after.alias ?? after.fingerprint ?? after.type;
  const detail = `At the plan nothing had the name ${word}; now it names something other than the original source of the container. Plan again to replace the container, or revert the change of source.`;
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
