// Exports the fields of a live object: only values that a user chose.
import { findProjectConfigKey } from '../../../server/api/project/project-config.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { findNetworkConfigKey } from '../../../server/api/network/network-config.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import type { Json, JsonObject } from '../documents/document.ts';
import { asText, mapOf, valueOf } from '../documents/json-values.ts';
import { labelPrefix } from '../documents/labels.ts';
import { coreKind } from '../kinds/index.ts';
import type { FieldShape } from '../kinds/kind.ts';
import { isNote, ownedAt, type OwnerRecord, type Path } from '../ownership/owner-records.ts';
import { compareText } from '../text/listing-order.ts';
import type { Own } from './exported.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Undefined when the document omits the field. */
export function exportedField(own: Own, field: string, shape: FieldShape): Json | undefined {
  if (shape === 'map') return exportMap(own, [field], mapOf(own.live[field]));
  if (shape === 'members') return exportMembers(own, field);
  return shape === 'devices' ? exportDevices(own, field) : exportField(own, field);
}

const isOwned = ({ records }: Own, path: Path): boolean =>
  records.some(({ keys }) => ownedAt(keys, path) !== undefined);

/** The defaults of omitted fields. */
const unwritten: Readonly<Record<string, Json>> = {
  description: '',
  ephemeral: false,
  type: 'client',
  restricted: false,
};

function exportField(own: Own, field: string): Json | undefined {
  const value = own.live[field];
  if (value === undefined || value === null) return undefined;
  if (isOwned(own, [field])) return value;
  if (field === 'architecture') return undefined;
  if (field === 'profiles') return isDefaultOnly(value) ? undefined : value;
  if (Array.isArray(value) && value.length === 0) return undefined;
  const isBlank = field === 'type' && own.kind !== 'certificate' ? false : value === unwritten[field];
  return isBlank ? undefined : value;
}

const isDefaultOnly = (value: Json): boolean => Array.isArray(value) && value.length === 1 && value[0] === 'default';

function exportMap(own: Own, above: Path, live: JsonObject): JsonObject | undefined {
  const out: Record<string, Json> = {};
  const absent = ownedBelow(own.mine, above).filter((key) => asText(live[key]) === '');
  for (const key of [...new Set([...Object.keys(live), ...absent])].sort(compareText)) {
    // The server hides a value that is not a text.
    const value = typeof live[key] === 'string' ? live[key] : '';
    if (value === '') {
      if (absent.includes(key)) out[key] = null;
    } else if (isChosen(own, [...above, key], value)) out[key] = plain(value);
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

/** Keys that the set's record lists, present or absent. */
function ownedBelow(record: OwnerRecord | undefined, above: Path): readonly string[] {
  const tree = ownedAt(record?.keys, above);
  if (tree === undefined || typeof tree === 'string') return [];
  return Object.keys(tree).filter((key) => typeof tree[key] === 'string');
}

/** Exports even addresses that the server picked, since leases, routes and static addresses depend on them. */
const kept: Readonly<Partial<Record<KindName, RegExp>>> = {
  network: /^(?!volatile\.)/,
  project: /^/,
  storage_volume: /^size$/,
};

function isChosen(own: Own, path: Path, value: string): boolean {
  const key = path.at(-1) ?? '';
  const kind = coreKind(own.kind);
  // Labels have their own key in a document.
  if (isNote(key) || key.startsWith(labelPrefix) || kind.isProvenance?.(path) === true) return false;
  // manage.protect declares it.
  if (key === 'security.protection.delete' && own.mine?.policy.protect === true) return false;
  if (isOwned(own, path)) return true;
  if (kind.isComputed(path, own.live) && kept[own.kind]?.test(key) !== true) return false;
  // The server's default depends on who picked the address, so only a written value is the same everywhere.
  if (own.kind === 'network' && /^ipv[46]\.nat$/.test(key)) return true;
  const usual =
    own.kind === 'network'
      ? findNetworkConfigKey(key)?.default
      : own.kind === 'project'
        ? findProjectConfigKey(key)?.default
        : undefined;
  return usual === undefined || !sameText(key, value, usual);
}

/** Writes numbers and booleans without quotes if reading them back gives the same text. */
function plain(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^(0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text;
}

function exportDevices(own: Own, field: string): JsonObject | undefined {
  const live = mapOf(own.live[field]);
  const out: Record<string, Json> = {};
  const absent = ownedBelow(own.mine, [field]).filter((name) => valueOf(live, name) === undefined);
  for (const name of [...new Set([...Object.keys(live), ...absent])].sort(compareText)) {
    const device = valueOf(live, name);
    if (device === undefined) out[name] = null;
    else {
      const { type, ...others } = mapOf(exportMap(own, [field, name], mapOf(device)));
      out[name] = { ...withoutUndefined({ type }), ...others };
    }
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

/** The values that a user wrote for each member. */
function exportMembers(own: Own, field: string): JsonObject | undefined {
  const parts = Object.entries(mapOf(own.live[field])).flatMap(([name, config]) => {
    const shown = exportMap(own, [field, name], mapOf(config));
    return shown === undefined ? [] : [[name, { config: shown }] as const];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}
