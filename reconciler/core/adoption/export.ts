// Live objects as the documents that would declare them: only what somebody chose, never what the server made. Pure; how it is
// spelled as YAML is the manifest room's work.
import { sameText } from '../../../server/api/text/equality.ts';
import type { Image } from '../../../server/api/image/image.ts';
import { kindNames, type KindName } from '../../../server/api/kinds.ts';
import { findProjectConfigKey } from '../../../server/api/cluster/project-config.ts';
import { findNetworkConfigKey } from '../../../server/api/network/network-config.ts';
import { bareDocument } from '../documents/bare-document.ts';
import { recordsOf } from '../diff/decide-ownership.ts';
import { addressOf, type Address, type Json, type JsonObject } from '../documents/document.ts';
import { exportFiles } from './export-files.ts';
import { isAside } from '../live/image-updates.ts';
import { updatedFrom, updateSource } from '../live/image-sources.ts';
import { coreKind } from '../kinds/index.ts';
import { labelPrefix, labelsOf } from '../documents/labels.ts';
import { poolOfVolume, volumeWithin } from '../kinds/storage-volume.ts';
import { asText, isMap, mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { projectOfLive, scopesOf } from '../live/project-scope.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { compareText } from '../text/listing-order.ts';
import { defaultSet, isNote, ownedAt, type OwnerRecord, type Path } from '../ownership/owner-records.ts';
import { isRunning } from '../live/usage.ts';

export interface Exported {
  readonly address: Address;
  readonly kind: KindName;
  readonly name: string;
  /** The flat document with `kind` and `name` first; absent when no document can say it, which the comments then explain. */
  readonly values?: JsonObject;
  /** Lines to stand before it. */
  readonly comments: readonly string[];
  /** Nothing makes it again: it is to be named to whoever exports. */
  readonly isLeftOut?: boolean;
  /** Remarks beside single keys. */
  readonly remarks: readonly { readonly path: Path; readonly text: string }[];
}

export interface ExportOptions {
  /** Whose `manage:` is written, and whose keys are written although they say nothing; default `default`. */
  readonly set?: string;
}

/** In the order in which objects are made, then by name. */
export function exportWorld(world: Observed, options: ExportOptions = {}): readonly Exported[] {
  // What is saved is exported, also where nothing listens on it.
  const { isDeaf: _isDeaf, ...server } = world.server;
  const observed = { ...world, server };
  return kindNames.flatMap((kind) =>
    [...coreKind(kind).liveNames(observed)]
      .sort(compareText)
      .flatMap((name) => exportObject(kind, name, observed, options.set ?? defaultSet) ?? []),
  );
}

/** `name` in the API. undefined: nothing that anybody would declare. */
export function exportObject(kind: KindName, name: string, observed: Observed, set: string): Exported | undefined {
  const live = coreKind(kind).live(observed, name)?.object as JsonObject | undefined;
  if (live === undefined) return undefined;
  const records = recordsOf(bareDocument(kind, name), live, observed);
  const project = projectOfLive(observed, live);
  const own: Own = { kind, live, records: [...records.values()], mine: records.get(set), set, project };
  if (kind === 'image') return exportImage(own, name, observed);
  if (kind === 'storage_volume' && volumeLoss(name, live) !== undefined)
    return leftOut(own, name, [volumeLoss(name, live) ?? '']);
  if (isAside(live)) return remark(own, name, [`stands aside for its successor until a rebuild ends`]);
  if (kind === 'profile' && plainName(name, project) === 'default' && isUntouched(own)) return undefined;
  if (kind === 'certificate' && live['type'] !== 'client')
    return remark(own, name, [`is trusted as ${asText(live['type'])}: the server sees to it itself`]);
  // It is as it is on every server.
  if (kind === 'project' && name === 'default' && records.size === 0) return undefined;
  const target = kind === 'image_alias' ? textOf(live['target']) : undefined;
  if (target !== undefined && !observed.images.has(scopesOf(observed).keyOf('image', target, project)))
    return remark(own, name, [`points at the image ${target}, which the server does not have`]);
  const document = documentOf(own, name, observed);
  // In whose name it would be said is nothing said.
  const nothing = ['kind', 'name', 'project', ...(own.mine === undefined ? ['manage'] : [])];
  const isSilent = Object.keys(document.values ?? {}).every((key) => nothing.includes(key));
  return isSilent && coreKind(kind).isPermanent?.(name) === true ? undefined : document;
}

interface Own {
  readonly kind: KindName;
  readonly live: JsonObject;
  readonly records: readonly OwnerRecord[];
  readonly mine: OwnerRecord | undefined;
  readonly set: string;
  readonly project: string | undefined;
}

const isUntouched = ({ live, records }: Own): boolean =>
  records.length === 0 && Object.keys(mapOf(live['config'])).length + Object.keys(mapOf(live['devices'])).length === 0;

function documentOf(own: Own, name: string, observed: Observed): Exported {
  const { kind } = own;
  const values: Record<string, Json> = { kind, ...namePart(own, name) };
  for (const [field, shape] of Object.entries(coreKind(kind).fields)) {
    if (field === 'name' || shape === 'files') continue;
    const value =
      shape === 'map'
        ? exportMap(own, [field], mapOf(own.live[field]))
        : shape === 'members'
          ? exportMembers(own, field)
          : shape === 'devices'
            ? exportDevices(own, field)
            : exportField(own, field);
    if (value !== undefined) values[field] = value;
  }
  const made = kind === 'container' ? containerPart(own, observed) : { values: {}, comments: [] };
  Object.assign(values, made.values);
  const inside = kind === 'container' ? exportFiles(own.live, own.mine) : { comments: [] };
  if (inside.files !== undefined) values['files'] = inside.files;
  const labels = labelsOf(own.live);
  if (Object.keys(labels).length > 0) values['labels'] = labels;
  const manage = manageOf(own);
  if (Object.keys(manage).length > 0) values['manage'] = manage;
  const shown = scopedName(textOf(values['name']) ?? name, own.project);
  const address = addressOf(kind, kind === 'storage_volume' ? name : shown);
  return {
    address,
    kind,
    name: kind === 'storage_volume' ? name : shown,
    values,
    comments: [...made.comments, ...inside.comments, ...creationComments(own)],
    remarks: remarksOf(own, values),
  };
}

function namePart({ kind, live, project }: Own, key: string): JsonObject {
  const name = plainName(key, project);
  const scope: JsonObject = project === undefined ? {} : { project };
  if (kind === 'storage_volume') return { name: volumeWithin(name), ...scope, pool: poolOfVolume(name) };
  if (kind !== 'certificate') return { name, ...scope };
  return { name: textOf(live['name']) ?? '', certificate: pemOf(textOf(live['certificate']) ?? '') };
}

/** Servers answer with PEM, or with base64 of DER. */
const pemOf = (text: string): string =>
  text.includes('-----BEGIN')
    ? `${text.trim()}\n`
    : `-----BEGIN CERTIFICATE-----\n${(text.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

const isOwned = ({ records }: Own, path: Path): boolean =>
  records.some(({ keys }) => ownedAt(keys, path) !== undefined);

/** What holds for a field that is not written. */
const unwritten: Readonly<Record<string, Json>> = { description: '', ephemeral: false, type: 'client' };

function exportField(own: Own, field: string): Json | undefined {
  const value = own.live[field];
  if (value === undefined || value === null) return undefined;
  if (isOwned(own, [field])) return value;
  if (field === 'architecture') return undefined;
  if (field === 'profiles') return isDefaultOnly(value) ? undefined : value;
  const isBlank = field === 'type' && own.kind !== 'certificate' ? false : value === unwritten[field];
  return isBlank ? undefined : value;
}

const isDefaultOnly = (value: Json): boolean => Array.isArray(value) && value.length === 1 && value[0] === 'default';

function exportMap(own: Own, above: Path, live: JsonObject): JsonObject | undefined {
  const out: Record<string, Json> = {};
  const absent = ownedBelow(own.mine, above).filter((key) => asText(live[key]) === '');
  for (const key of [...new Set([...Object.keys(live), ...absent])].sort(compareText)) {
    // What is no text is hidden by the server.
    const value = typeof live[key] === 'string' ? live[key] : '';
    if (value === '') {
      if (absent.includes(key)) out[key] = null;
    } else if (isChosen(own, [...above, key], value)) out[key] = plain(value);
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

/** Keys whose absence or value the set's record holds. */
function ownedBelow(record: OwnerRecord | undefined, above: Path): readonly string[] {
  const tree = ownedAt(record?.keys, above);
  if (tree === undefined || typeof tree === 'string') return [];
  return Object.keys(tree).filter((key) => typeof tree[key] === 'string');
}

/** Networks: the server may have picked an address itself, but leases, routes and static addresses live by it. */
const kept: Readonly<Partial<Record<KindName, RegExp>>> = {
  network: /^(?!volatile\.)/,
  project: /^/,
  storage_volume: /^size$/,
};

function isChosen(own: Own, path: Path, value: string): boolean {
  const key = path.at(-1) ?? '';
  const kind = coreKind(own.kind);
  // Labels stand under a key of their own.
  if (isNote(key) || key.startsWith(labelPrefix) || kind.isProvenance?.(path) === true) return false;
  // manage.protect says it.
  if (key === 'security.protection.delete' && own.mine?.policy.protect === true) return false;
  if (isOwned(own, path)) return true;
  if (kind.isComputed(path, own.live) && kept[own.kind]?.test(key) !== true) return false;
  const usual =
    own.kind === 'network'
      ? findNetworkConfigKey(key)?.default
      : own.kind === 'project'
        ? findProjectConfigKey(key)?.default
        : undefined;
  return usual === undefined || !sameText(key, value, usual);
}

/** Numbers and booleans without quotes, where reading them gives the same text again. */
function plain(text: string): Json {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^(0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text;
}

function exportDevices(own: Own, field: string): JsonObject | undefined {
  const live = mapOf(own.live[field]);
  const out: Record<string, Json> = {};
  const absent = ownedBelow(own.mine, [field]).filter((name) => live[name] === undefined);
  for (const name of [...new Set([...Object.keys(live), ...absent])].sort(compareText)) {
    const device = live[name];
    if (device === undefined) out[name] = null;
    else {
      const { type, ...others } = mapOf(exportMap(own, [field, name], mapOf(device)));
      out[name] = { ...(type === undefined ? {} : { type }), ...others };
    }
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

/** Of each member what somebody wrote. */
function exportMembers(own: Own, field: string): JsonObject | undefined {
  const parts = Object.entries(mapOf(own.live[field])).flatMap(([name, config]) => {
    const shown = exportMap(own, [field, name], mapOf(config));
    return shown === undefined ? [] : [[name, { config: shown }] as const];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

function containerPart(own: Own, observed: Observed): { readonly values: JsonObject; readonly comments: string[] } {
  const base = textOf(mapOf(own.live['config'])['volatile.base_image']);
  const state: JsonObject = isRunning(own.live as unknown as Parameters<typeof isRunning>[0])
    ? {}
    : { state: 'stopped' };
  if (base === undefined || base === '') return { values: { source: { type: 'none' }, ...state }, comments: [] };
  const { keyOf } = scopesOf(observed);
  const aliases = [...observed.aliases]
    .filter(([, { object }]) => object.target === base)
    .flatMap(([key, { object }]) => {
      const plain = plainName(key, projectOfLive(observed, object));
      return keyOf('image_alias', plain, own.project) === key ? [plain] : [];
    });
  const alias = aliases.sort(compareText)[0];
  if (alias !== undefined) return { values: { source: { type: 'image', alias }, ...state }, comments: [] };
  if (observed.images.has(keyOf('image', base, own.project)))
    return { values: { source: { type: 'image', fingerprint: base }, ...state }, comments: [] };
  const comments = [`made from the image ${base}, which the server no longer has: to make it anew it needs a source`];
  return { values: state, comments };
}

/** Protection and the like outlive the manifest that asked for them. */
function manageOf({ mine, set, live }: Own): JsonObject {
  const { protect = false, onDelete = 'delete', prune } = mine?.policy ?? {};
  return {
    ...(set === defaultSet ? {} : { set }),
    // A document cannot say frozen; without this, an apply would thaw it.
    ...(live['status_code'] === statusCodes.frozen ? { power: 'ignore' } : {}),
    ...(protect ? { protect } : {}),
    ...(onDelete === 'delete' ? {} : { on_delete: onDelete }),
    ...(prune === undefined ? {} : { prune }),
  };
}

/** Where a pool lies counts only when it is made. */
function creationComments({ kind, live }: Own): readonly string[] {
  if (kind !== 'storage_pool') return [];
  const config = mapOf(live['config']);
  const told = ['source', 'size', 'zfs.pool_name', 'lvm.vg_name', 'lvm.thinpool_name'].filter(
    (key) => asText(config[key]) !== '',
  );
  return told.length === 0
    ? []
    : [`on this server, chosen when it was made: ${told.map((key) => `${key}: ${asText(config[key])}`).join(', ')}`];
}

function remarksOf({ kind }: Own, values: JsonObject): Exported['remarks'] {
  if (kind !== 'network') return [];
  const config = mapOf(values['config']);
  return ['ipv4.address', 'ipv6.address']
    .filter((key) => key in config && config[key] !== 'none')
    .map((key) => ({ path: ['config', key], text: 'or auto: any free subnet' }));
}

const remark = ({ kind }: Pick<Own, 'kind'>, name: string, comments: readonly string[]): Exported => ({
  address: addressOf(kind, name),
  kind,
  name,
  comments: comments.map((line) => `${kind}/${name} ${line}`),
  remarks: [],
});

const leftOut = (own: Pick<Own, 'kind'>, name: string, comments: readonly string[]): Exported => ({
  ...remark(own, name, comments),
  isLeftOut: true,
});

/** Why no document makes the volume again; undefined: one does. LXD lists snapshots among the volumes. */
function volumeLoss(name: string, live: JsonObject): string | undefined {
  if (volumeWithin(name).includes('/')) return 'is a snapshot of a volume, which no document makes again';
  const content = textOf(live['content_type']) ?? '';
  return content === '' || content === 'filesystem'
    ? undefined
    : `has the content type ${content}: a document would make a file system of it`;
}

/** Network ACLs, which no kind of document has. */
export const exportAcls = (names: readonly string[]): readonly Exported[] =>
  names.map((name) => ({
    address: addressOf('network', name),
    kind: 'network',
    name,
    comments: [`the network ACL ${name} is left out: no document has ACLs`],
    isLeftOut: true,
    remarks: [],
  }));

/** Where the server fetched it from is a document; files it does not list. */
function exportImage(own: Own, key: string, observed: Observed): Exported {
  const { live, project } = own;
  const image = live as unknown as Image;
  const source = image.cached ? undefined : updateSource({ object: image });
  const scope = project === undefined ? {} : { project };
  if (source === undefined || updatedFrom(scope, source, observed) !== image.fingerprint)
    return imageRemark(key, image.fingerprint, live);
  const fields = ['public', 'auto_update'].flatMap((field) => (live[field] === true ? [[field, true] as const] : []));
  const name = textOf(source['alias']) ?? image.fingerprint.slice(0, 12);
  const manage = manageOf(own);
  return {
    address: addressOf('image', scopedName(name, project)),
    kind: 'image',
    name: scopedName(name, project),
    values: {
      kind: 'image',
      name,
      ...scope,
      source,
      ...Object.fromEntries(fields),
      ...(Object.keys(manage).length === 0 ? {} : { manage }),
    },
    comments: [],
    remarks: [],
  };
}

/** An image document is its file, which the server's list does not hold. */
function imageRemark(key: string, fingerprint: string, live: JsonObject): Exported {
  const properties = mapOf(live['properties']);
  const what = asText(properties['description']) || asText(properties['os']);
  const aliases = (Array.isArray(live['aliases']) ? (live['aliases'] as readonly Json[]) : [])
    .flatMap((alias) => (isMap(alias) ? asText(alias['name']) : []))
    .sort(compareText);
  const of = aliases.length === 0 ? '' : `, known as ${aliases.join(', ')}`;
  const file = aliases[0]?.replaceAll('/', '-') ?? fingerprint.slice(0, 12);
  return remark({ kind: 'image' }, key, [
    `is on the server${what === '' ? '' : ` (${what})`}${of}; an image document is its file: gantry image export ${fingerprint.slice(0, 12)} ${file}`,
  ]);
}
