// Members and keys that servers compute and print (`lxc ... show`, `lxd init --dump`): they are left out of a document, with a note.
import { kindSchemas } from '../../../server/api/kind-schemas.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { documentSchema } from '../../../server/api/documents/document-schema.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { wrong, type Finding } from '../text/finding.ts';

/** Members that LXD prints and the contract lacks. */
const ofLxd = [
  'created_at',
  'last_used_at',
  'locations',
  'location',
  'stateful',
  'managed',
  'used_by',
  'status',
  'status_code',
];

/** The only valid values of these members, which therefore declare nothing. */
const plain: Readonly<Partial<Record<KindName, Readonly<Record<string, string>>>>> = {
  container: { type: 'container' },
  storage_volume: { type: 'custom', content_type: 'filesystem' },
};

const computed = new Map<KindName, ReadonlySet<string>>();

function computedOf(kind: KindName): ReadonlySet<string> {
  let names = computed.get(kind);
  if (names === undefined) {
    const written = documentSchema(kind)['properties'] as object;
    const object = Object.keys((kindSchemas[kind].object as { readonly properties?: object }).properties ?? {});
    names = new Set([...object, ...ofLxd].filter((name) => !Object.hasOwn(written, name)));
    computed.set(kind, names);
  }
  return names;
}

/** `volatile.*` of a container may be written, since it holds the addresses of network cards. */
const isVolatileKey = (kind: KindName, key: string): boolean =>
  (kind === 'network' || kind === 'storage_pool' || kind === 'storage_volume') && key.startsWith('volatile.');

export interface WithoutComputed {
  readonly value: JsonObject;
  readonly findings: readonly Finding[];
}

/** Removes members that the server computes; the finding names them. */
export function withoutComputed(kind: KindName, flat: JsonObject): WithoutComputed {
  const dropped: string[] = [];
  const findings: Finding[] = [];
  const value: Record<string, Json> = {};
  for (const [key, item] of Object.entries(flat)) {
    const fixed = plain[kind]?.[key];
    if (fixed !== undefined && (item === fixed || item === '')) continue;
    if (fixed !== undefined && key === 'content_type') findings.push(otherContent(item));
    else if (fixed === undefined && computedOf(kind).has(key)) dropped.push(key);
    else value[key] = key === 'config' && isMap(item) ? withoutVolatile(kind, item, dropped) : item;
  }
  const [first] = dropped;
  if (first !== undefined) findings.push(note(kind, dropped, first));
  return {
    value:
      first === undefined && findings.length === 0 && Object.keys(value).length === Object.keys(flat).length
        ? flat
        : value,
    findings,
  };
}

const withoutVolatile = (kind: KindName, config: JsonObject, dropped: string[]): JsonObject => {
  const keys = Object.keys(config).filter((key) => isVolatileKey(kind, key));
  dropped.push(...keys.map((key) => `config.${key}`));
  return keys.length === 0 ? config : Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
};

const otherContent = (item: Json): Finding =>
  wrong(
    'bad-value',
    'content_type',
    `content_type cannot be ${JSON.stringify(item)}: volumes are file systems here`,
    'take content_type out for a file system; block volumes are for virtual machines',
  );

function note(kind: KindName, dropped: readonly string[], first: string): Finding {
  const isOne = dropped.length === 1;
  const power =
    kind === 'container' && dropped.includes('status') ? '; `state` says whether a container is to run' : '';
  return {
    severity: 'warning',
    code: 'computed-member',
    path: first,
    message: `${dropped.join(', ')}: the server computes ${isOne ? 'it' : 'them'}, so ${isOne ? 'it is' : 'they are'} left out`,
    remedy: `take ${isOne ? 'it' : 'them'} out${power}`,
  };
}
