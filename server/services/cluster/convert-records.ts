// Converts the records of a single host into a member's: objects of its host under its number, shared ones once. Pure but for reading the
// store.
import { decodeDocument, encodeDocument } from '../../records/codec.ts';
import { networkKeys, poolKeys } from '../shared/member-keys.ts';
import type { Kind, ServerDocument } from '../../records/documents.ts';
import type { ClusterKeysDocument, DefinitionDocument, MemberDocument } from '../../records/cluster-documents.ts';
import { KeySpace, memberKinds, meaningOf, nameKey } from '../../records/key-space.ts';
import { readAll } from '../../store/load.ts';
import type { Store } from '../../store/store.ts';
import { splitConfig } from '../shared/settings.ts';

export interface Pair {
  readonly key: string;
  readonly value: Uint8Array;
}

/** `hasShared`: includes shared records; a host that joins takes the cluster's instead. */
export async function* asMember(from: Store, number: number, hasShared: boolean): AsyncGenerator<Pair> {
  const space = new KeySpace(number);
  for await (const { key, value } of readAll(from)) {
    const meaning = meaningOf(key);
    if (meaning?.is !== 'record' || meaning.member !== undefined) continue;
    const { kind, name } = meaning;
    if (leftBehind.has(kind)) continue;
    if (kind === 'server') {
      const { shared, own } = splitConfig(decodeDocument('server', name, value));
      yield { key: space.keyOf('memberConfig', name), value: encodeDocument<'memberConfig'>(own) };
      if (hasShared) yield { key, value: encodeDocument<'server'>(shared) };
    } else if (memberKinds.has(kind)) {
      yield { key: space.keyOf(kind, name), value };
      if (hasShared && (kind === 'pools' || kind === 'networks')) yield definitionOf(kind, name, value, number);
      if (space.nameKeyOf(kind, name) !== undefined)
        yield { key: nameKey(kind, name), value: Buffer.from(String(number)) };
    } else if (hasShared) yield { key, value };
  }
}

/** The reverse: the records of the last member. */
export async function* asSingle(from: Store, number: number): AsyncGenerator<Pair> {
  let shared: ServerDocument | undefined;
  let own: ServerDocument | undefined;
  for await (const { key, value } of readAll(from)) {
    const meaning = meaningOf(key);
    if (meaning?.is !== 'record' || (meaning.member !== undefined && meaning.member !== number)) continue;
    const { kind, name } = meaning;
    if (leftBehind.has(kind)) continue;
    if (kind === 'server') shared = decodeDocument('server', name, value);
    else if (kind === 'memberConfig') own = decodeDocument('memberConfig', name, value);
    else yield { key: new KeySpace(undefined).keyOf(kind, name), value };
  }
  if (shared === undefined && own === undefined) return;
  const config = { ...shared?.config, ...own?.config };
  const whole: ServerDocument = {
    v: 1,
    config,
    ...(own?.httpsDialect === undefined ? {} : { httpsDialect: own.httpsDialect }),
  };
  yield { key: '/server/config', value: encodeDocument<'server'>(whole) };
}

/** Kinds that a single host does not have, and tokens, which end with the change. */
const leftBehind: ReadonlySet<Kind> = new Set<Kind>([
  'trustTokens',
  'members',
  'cluster',
  'clusterKeys',
  'joinTokens',
  'memberGroups',
  'poolDefinitions',
  'networkDefinitions',
]);

/** The records that make a new cluster of one member. */
export function* foundingRecords(
  uuid: string,
  version: string,
  member: { readonly name: string; readonly document: MemberDocument },
  keys: ClusterKeysDocument,
): Generator<Pair> {
  yield { key: '/clusterKeys/current', value: encodeDocument<'clusterKeys'>(keys) };
  yield {
    key: '/cluster/config',
    value: encodeDocument<'cluster'>({ v: 1, uuid, nextNumber: member.document.number + 1, minVersion: version }),
  };
  yield { key: `/members/${member.name}`, value: encodeDocument<'members'>(member.document) };
}

/** The first host's objects become the cluster's definitions. */
function definitionOf(kind: 'pools' | 'networks', name: string, value: Uint8Array, number: number): Pair {
  const of = kind === 'pools' ? poolKeys : networkKeys;
  const document = decodeDocument(kind, name, value);
  const { shared, own } = of.split(document.config);
  const type = 'driver' in document ? document.driver : document.type;
  const definition: DefinitionDocument = {
    v: 1,
    type,
    description: document.description,
    config: shared,
    overrides: { [number]: own },
    state: 'created',
  };
  return {
    key: `/${kind === 'pools' ? 'poolDefinitions' : 'networkDefinitions'}/${name}`,
    value: encodeDocument<'poolDefinitions'>(definition),
  };
}
