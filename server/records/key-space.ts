// Where each record is stored. In a cluster the members share some kinds; of the others each member has its own, under its number. Pure.
import { kindNames, recordKinds, type Kind } from './documents.ts';

export const memberKinds: ReadonlySet<Kind> = new Set(kindNames.filter((kind) => recordKinds[kind].isOfMember));

/** Names of these kinds are unique in the whole cluster. */
const clusterWideNames: ReadonlySet<Kind> = new Set<Kind>(['containers']);

/** The meaning of a key of the store; `member`: absent for records that all members share. */
export type KeyMeaning =
  | { readonly is: 'record'; readonly kind: Kind; readonly name: string; readonly member?: number }
  | { readonly is: 'use'; readonly of: string }
  | { readonly is: 'signal'; readonly key: string };

const kinds: ReadonlySet<string> = new Set(kindNames);
const isKind = (text: string): text is Kind => kinds.has(text);

/** Undefined for a key of another release, or a reserved name, which only transactions compare. */
export function meaningOf(key: string): KeyMeaning | undefined {
  const [, first = '', second = ''] = key.split('/', 3);
  if (isKind(first)) return { is: 'record', kind: first, name: key.slice(first.length + 2) };
  if (first === 'member') {
    const rest = key.slice(`/member/${second}/`.length);
    const slash = rest.indexOf('/');
    const kind = rest.slice(0, slash);
    return isKind(kind)
      ? { is: 'record', kind, name: rest.slice(slash + 1), member: Number(second) }
      : { is: 'signal', key };
  }
  if (first === 'uses') return { is: 'use', of: key.slice('/uses'.length) };
  return first === 'signals' ? { is: 'signal', key } : undefined;
}

export class KeySpace {
  /** The number of this member; undefined: the host is in no cluster. */
  readonly member: number | undefined;

  constructor(member: number | undefined) {
    this.member = member;
  }

  keyOf(kind: Kind, name: string): string {
    return this.member !== undefined && memberKinds.has(kind)
      ? `/member/${this.member}/${kind}/${name}`
      : `/${kind}/${name}`;
  }

  /** Exists while any member has a record of that name. */
  nameKeyOf(kind: Kind, name: string): string | undefined {
    return this.member !== undefined && clusterWideNames.has(kind) ? nameKey(kind, name) : undefined;
  }

  /** Written by each transaction, of any member, that requires the record. */
  useKeyOf(kind: Kind, name: string): string | undefined {
    return this.member !== undefined && !memberKinds.has(kind) ? `/uses/${kind}/${name}` : undefined;
  }
}

export const nameKey = (kind: Kind, name: string): string => `/names/${kind}/${name}`;
