// Which records are copied into which pools, and the names and content of the copies. Pure.
import { createHash } from 'node:crypto';
import { isTrue } from '../../api/text/value-checks.ts';
import { decodeDocument } from '../../records/codec.ts';
import type { Documents } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { ownedName, volumeIdOf } from '../../records/record-names.ts';

/** In the order of recovery: each kind needs only earlier ones. */
export const copiedKinds = [
  'server',
  'projects',
  'pools',
  'networkAcls',
  'networks',
  'profiles',
  'images',
  'aliases',
  'volumes',
  'volumeSnapshots',
  'containers',
  'snapshots',
  'backups',
] as const;
export type CopiedKind = (typeof copiedKinds)[number];

export interface RecordName {
  readonly kind: CopiedKind;
  readonly name: string;
}

export type CopiedRecord<K extends CopiedKind = CopiedKind> = {
  readonly [Each in K]: { readonly kind: Each; readonly name: string; readonly document: Documents[Each] };
}[K];

/** Pools whose directory belongs to this host alone. */
export const poolsWithCopies = (records: Pick<Records, 'pools'>): readonly string[] =>
  records.pools
    .list()
    .filter(({ document }) => document.lifecycle === 'ready' && !isTrue(document.config['source.shared'] ?? ''))
    .map(({ name }) => name);

/** The pool that has a copy of the record; `every`: each has one; undefined: none. */
export function placeOf(records: Records, { kind, name }: RecordName): string | undefined {
  if (kind === 'volumes') return records.volumes.has(name) ? volumeIdOf(name).pool : undefined;
  if (kind === 'containers') return records.containers.get(name)?.document.pool;
  if (kind === 'volumeSnapshots')
    return records[kind].has(name) ? owners(records).get(ownedName(name).uuid) : undefined;
  if (kind === 'snapshots' || kind === 'backups')
    return records[kind].has(name) ? owners(records).get(ownedName(name).uuid) : undefined;
  return records[kind].has(name) ? 'every' : undefined;
}

const known = new WeakMap<Records, { readonly at: string; readonly poolOf: ReadonlyMap<string, string> }>();

/** The pools of containers and volumes by uuid. Cached until one of them changes. */
function owners(records: Records): ReadonlyMap<string, string> {
  const at = `${records.containers.generation}/${records.volumes.generation}`;
  const kept = known.get(records);
  if (kept?.at === at) return kept.poolOf;
  const poolOf = new Map([
    ...records.containers.list().map(({ document }) => [document.uuid, document.pool] as const),
    ...records.volumes.list().map(({ name, document }) => [document.uuid, volumeIdOf(name).pool] as const),
  ]);
  known.set(records, { at, poolOf });
  return poolOf;
}

/** Server settings that a copy may contain: no addresses, no secrets. */
const plainSettings = /^(?:user|images|backups)\./;

/** The text of the copy; undefined: a saga owns the object, so its copy stays unchanged. */
export function copyOf(records: Records, { kind, name }: RecordName): string | undefined {
  const document = records[kind].get(name)?.document;
  if (document === undefined) return undefined;
  if ('lifecycle' in document && document.lifecycle !== 'ready') return undefined;
  const shown =
    kind === 'server' ? { ...document, config: plain('config' in document ? document.config : {}) } : document;
  return `${JSON.stringify({ name, document: shown })}\n`;
}

type Texts = Readonly<Record<string, string>>;
const plain = (config: Texts): Texts =>
  Object.fromEntries(Object.entries(config).filter(([key]) => plainSettings.test(key)));

/** Throws StoreError Corrupt for a document that this release cannot read, an Error for a damaged file. */
export function readCopy(kind: CopiedKind, text: string): CopiedRecord {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null || !('name' in parsed) || !('document' in parsed))
    throw new Error('it is not the copy of a record');
  const name = String(parsed.name);
  const document = decodeDocument(kind, name, Buffer.from(JSON.stringify(parsed.document)));
  return { kind, name, document } as CopiedRecord;
}

const longestName = 200;

/** Names contain slashes, and aliases may exceed the length of file names. */
export function fileOf(name: string): string {
  const encoded = encodeURIComponent(name).replace(/^\./, '%2E');
  const short = encoded.length <= longestName ? encoded : createHash('sha256').update(name).digest('hex');
  return `${short}.json`;
}
