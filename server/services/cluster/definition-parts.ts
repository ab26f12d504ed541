// The parts of a definition: what each member gets of the shared config, and which requests are refused. Pure.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { errors } from '../../api/errors.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Member, Members } from '../../membership/members.ts';
import type { DefinitionDocument } from '../../records/cluster-documents.ts';
import type { MemberKeys } from '../shared/member-keys.ts';
import { replaceConfig } from '../shared/patch.ts';

/** One member's part, actual or wanted. */
export interface Part {
  readonly config: ConfigMap;
  readonly description: string;
}

/** Realises pools or networks on this member, or on another one. */
export interface Realisation {
  /** For messages: `storage pool`, `network`. */
  readonly what: string;
  readonly kind: 'poolDefinitions' | 'networkDefinitions';
  readonly keys: MemberKeys;
  readonly here: (name: string) => (Part & { readonly isReady: boolean }) | undefined;
  readonly of: (member: number, name: string) => Part | undefined;
  readonly create: (member: Member, name: string, type: string, part: Part) => Promise<void>;
  readonly change: (member: Member, name: string, part: Part) => Promise<void>;
  readonly remove: (member: Member, name: string) => Promise<void>;
  /** URLs of its users on any member. */
  readonly users: (name: string) => readonly string[];
}

export interface NewObject extends Part {
  readonly name: string;
  readonly type: string;
  /** By member name. */
  readonly overrides: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Throws AppError invalid if `config` of one member has a key that is the same on all members. */
export function noForeign(
  { what, keys }: Pick<Realisation, 'what' | 'keys'>,
  name: string,
  config: Readonly<Record<string, unknown>>,
  { at, remedy }: { readonly at: string; readonly remedy: string },
): void {
  const foreign = Object.keys(config).find((key) => !keys.isOwn(key));
  if (foreign !== undefined)
    throw errors.invalid(`${what} ${name}`, [{ path: `${at}.${foreign}`, message: `is for all members: ${remedy}` }]);
}

/** For a request without target. */
export const ofEachMember = (what: string, name: string, key: string): Error =>
  errors.invalid(`${what} ${name}`, [
    { path: `config.${key}`, message: 'is a value of each member: send it with target' },
  ]);

/** The config of single members, by number. Throws AppError invalid for unknown members and for keys of all members. */
export function overridesByNumber(
  on: Pick<Realisation, 'what' | 'keys'>,
  { name, overrides }: Pick<NewObject, 'name' | 'overrides'>,
  members: Members,
): ReadonlyMap<number, ConfigMap> {
  return new Map(
    Object.entries(overrides).map(([member, config]) => {
      const number = members.get(member)?.number;
      const path = `member_overrides.${member}`;
      if (number === undefined)
        throw errors.invalid(`${on.what} ${name}`, [{ path, message: `the cluster has no member ${member}` }]);
      noForeign(on, name, config, { at: path, remedy: 'set it in config' });
      return [number, replaceConfig(config as Record<string, never>)] as const;
    }),
  );
}

/** The definition at the begin of a creation. Throws AppError if the name is taken, or if it is defined on some members only. */
export function begunDefinition(
  { what, keys }: Pick<Realisation, 'what' | 'keys'>,
  { name, type, config, description }: NewObject,
  from: {
    readonly known: DefinitionDocument | undefined;
    readonly members: Members;
    readonly numbered: ReadonlyMap<number, ConfigMap>;
  },
): DefinitionDocument {
  const { known, members, numbered } = from;
  if (known !== undefined && known.state !== 'pending') throw errors.exists(what, name);
  if (known !== undefined && known.type !== type)
    throw errors.badRequest(`The ${what} ${name} is defined with ${known.type} on members, not with ${type}`);
  const missing = members.list().filter(({ number }) => !known?.overrides[number] && !numbered.has(number));
  if (known !== undefined && missing.length > 0)
    throw errors.badRequest(
      `The ${what} ${name} is defined on some members, and not on ${missing.map((each) => each.name).join(', ')}: define it there with target first`,
    );
  const { shared, own } = keys.split(config);
  const [key] = known === undefined ? [] : Object.keys(own);
  if (key !== undefined) throw ofEachMember(what, name, key);
  const parts = members.list().map(({ number }) => {
    const part = { ...own, ...known?.overrides[number], ...numbered.get(number) };
    return [number, part] as const;
  });
  return {
    v: 1,
    type,
    description,
    config: shared,
    overrides: Object.fromEntries(parts),
    state: 'creating',
    by: members.here,
    ...(known === undefined ? {} : { before: known.overrides }),
  };
}

/** Members are named, and the object is not created yet. */
export const pendingDefinition = (type: string, overrides: DefinitionDocument['overrides']): DefinitionDocument => ({
  v: 1,
  type,
  description: '',
  config: {},
  overrides,
  state: 'pending',
});

export const partOf = (definition: DefinitionDocument, number: number): Part => ({
  config: { ...definition.config, ...definition.overrides[number] },
  description: definition.description,
});

export const ofMember = (name: string, error: unknown): Error => {
  if (name === '') return error instanceof Error ? error : new Error(String(error));
  return errors.badRequest(`On the cluster member ${name}: ${errorText(error)}`);
};

export function isEqual(a: ConfigMap, b: ConfigMap): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
