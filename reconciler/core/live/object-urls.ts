// Finds the object that an API URL names, as in events and `used_by`. Pure.
import { isInProject, kindNames, kindRow, type KindName } from '../../../server/api/kinds.ts';
import type { Address } from '../documents/document.ts';
import { scopedName } from '../text/scoped-name.ts';

/** Newer names of the same collection. */
const containerWords: ReadonlySet<string> = new Set(['instances', 'virtual-machines']);

/** Longer ones first: images/aliases before images. */
const collections = kindNames
  .filter((kind) => kind !== 'server_config')
  .map((kind) => ({ kind, parts: kindRow(kind).collection.split('/').slice(2) }))
  .toSorted((a, b) => b.parts.length - a.parts.length);

/**
 * `/1.0/instances/web1?project=team`: `container/web1@team`. A part of an object, such as a snapshot, counts as the object.
 * `base`: the project of the connection; `assumed`: the project of a URL that names none. Undefined when it names no object of a known kind.
 */
export function addressOfUrl(url: string, base: string, assumed: string): Address | undefined {
  const [path = '', query = ''] = url.split('?', 2);
  const [version, ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decode);
  if (version !== '1.0') return undefined;
  if (rest[0] === undefined || rest[0] === 'config') return 'server_config/server';
  const parts = containerWords.has(rest[0]) ? ['containers', ...rest.slice(1)] : rest;
  const found = collections.find(({ parts: own }) => own.every((part, at) => matches(part, parts[at])));
  if (found === undefined) return undefined;
  const name = nameIn(found.kind, found.parts, parts);
  if (name === undefined) return undefined;
  const project = decode(/(?:^|&)project=([^&]*)/.exec(query)?.[1] ?? assumed);
  return `${found.kind}/${isInProject(found.kind) ? scopedName(name, project === base ? undefined : project) : name}`;
}

const isVariable = (part: string): boolean => part.startsWith('{');
const matches = (part: string, is: string | undefined): boolean =>
  is !== undefined && (isVariable(part) || part === is);

/** Undefined for a URL of the collection itself, or of another resource below it. */
function nameIn(kind: KindName, collection: readonly string[], parts: readonly string[]): string | undefined {
  const rest = parts.slice(collection.length);
  const [first] = rest;
  // Volumes of other types than `custom` belong to their containers and images.
  if (first === undefined || (kind === 'storage_pool' && rest[1] === 'volumes')) return undefined;
  const { namedBy, nameRule } = kindRow(kind);
  const whole = rest.join('/');
  // Names of aliases may hold slashes.
  const own = namedBy === undefined && nameRule(whole) === undefined ? whole : first;
  return [...parts.slice(0, collection.length).filter((_, at) => isVariable(collection[at] ?? '')), own].join('/');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
