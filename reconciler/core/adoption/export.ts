// Exports live objects as documents: only values that a user chose, never those that the server set. Pure; the manifest room
// writes them as YAML.
import { kindNames, type KindName } from '../../../server/api/kinds.ts';
import { recordsOf } from '../diff/decide-ownership.ts';
import { bareDocument } from '../documents/bare-document.ts';
import { addressOf, type Json, type JsonObject } from '../documents/document.ts';
import { asText, mapOf, textOf } from '../documents/json-values.ts';
import { labelsOf } from '../documents/labels.ts';
import type { Observed } from '../documents/observed.ts';
import { coreKind } from '../kinds/index.ts';
import { poolOfVolume, volumeWithin } from '../kinds/storage-volume.ts';
import { isUnreadObject, unreadText } from '../live/away-members.ts';
import { isAside } from '../live/image-updates.ts';
import { projectOfLive, scopesOf } from '../live/project-scope.ts';
import { chooseVolumes, membersWith } from '../live/volumes-of-one-name.ts';
import { defaultSet } from '../ownership/owner-records.ts';
import { compareText } from '../text/listing-order.ts';
import { isPlaced } from '../settings/cluster-members.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';
import { exportedField } from './export-fields.ts';
import { exportFiles } from './export-files.ts';
import { exportImage } from './export-image.ts';
import { manageOf, remark, type ExportedObject, type Own } from './exported.ts';
import { isRunning } from '../live/usage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ExportOptions {
  /** The set whose `manage:` is written, and whose keys are written even if they have default values; default `default`. */
  readonly set?: string;
}

/** In the order of creation, then by name. */
export function exportWorld(world: Observed, options: ExportOptions = {}): readonly ExportedObject[] {
  // The configured address is exported even if nothing listens on it.
  const { isDeaf: _isDeaf, ...server } = world.server;
  const { observed } = chooseVolumes({ ...world, server }, [], options.set ?? defaultSet);
  return kindNames.flatMap((kind) =>
    [...coreKind(kind).liveNames(observed)]
      .sort(compareText)
      .flatMap((name) => exportObject(kind, name, observed, options.set ?? defaultSet) ?? []),
  );
}

/** `name` in the API. Undefined for an object that needs no declaration. */
export function exportObject(
  kind: KindName,
  name: string,
  observed: Observed,
  set: string,
): ExportedObject | undefined {
  const live = coreKind(kind).live(observed, name)?.object as JsonObject | undefined;
  if (live === undefined) return undefined;
  if (isUnreadObject(kind, live)) return leftOut({ kind }, name, [`cannot be exported: ${unreadText(live)}`]);
  const records = recordsOf(bareDocument(kind, name), live, observed);
  const project = projectOfLive(observed, live);
  const own: Own = { kind, live, records: [...records.values()], mine: records.get(set), set, project };
  if (kind === 'image') return exportImage(own, name, observed);
  if (kind === 'storage_volume' && volumeLoss(name, live) !== undefined)
    return leftOut(own, name, [volumeLoss(name, live) ?? '']);
  if (isAside(live)) return remark(own, name, [`is kept under this name until the rebuild of its successor ends`]);
  if (kind === 'profile' && plainName(name, project) === 'default' && isUntouched(own)) return undefined;
  if (kind === 'certificate' && live['type'] !== 'client')
    return remark(own, name, [`is trusted as ${asText(live['type'])}: the server manages it itself`]);
  // It is the same on every server.
  if (kind === 'project' && name === 'default' && records.size === 0) return undefined;
  const missing = missingImage(own, observed);
  if (missing !== undefined)
    return remark(own, name, [`points at the image ${missing}, which the server does not have`]);
  const document = documentOf(own, name, observed);
  // These members identify the document and declare nothing.
  const nothing = ['kind', 'name', 'project', ...(own.mine === undefined ? ['manage'] : [])];
  const isSilent = Object.keys(document.values ?? {}).every((key) => nothing.includes(key));
  return isSilent && coreKind(kind).isPermanent?.(name) === true ? undefined : document;
}

/** An image that the object names but the server lacks. */
const missingImage = ({ kind, live, project }: Own, observed: Observed): string | undefined =>
  (coreKind(kind).liveReferences?.(live) ?? []).find(
    (used) => used.kind === 'image' && !observed.images.has(scopesOf(observed).keyOf('image', used.name, project)),
  )?.name;

const isUntouched = ({ live, records }: Own): boolean =>
  records.length === 0 && Object.keys(mapOf(live['config'])).length + Object.keys(mapOf(live['devices'])).length === 0;

function documentOf(own: Own, name: string, observed: Observed): ExportedObject {
  const { kind } = own;
  const several = kind === 'storage_volume' ? membersWith(observed, name) : [];
  const target = several.length === 0 ? undefined : textOf(own.live['location']);
  const values: Record<string, Json> = { kind, ...namePart(own, name), ...withoutUndefined({ target }) };
  for (const [field, shape] of Object.entries(coreKind(kind).fields)) {
    if (field === 'name' || shape === 'files') continue;
    const value = exportedField(own, field, shape);
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
    comments: [...made.comments, ...inside.comments, ...placeComments(own, several, observed)],
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

/** Accepts both server formats: PEM, and base64 of DER. */
const pemOf = (text: string): string =>
  text.includes('-----BEGIN')
    ? `${text.trim()}\n`
    : `-----BEGIN CERTIFICATE-----\n${(text.match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

const placeComments = (own: Own, several: readonly string[], observed: Observed): readonly string[] =>
  several.length === 0
    ? creationComments(own, observed)
    : [
        `${several.join(', ')} have a volume of this name each: this is the one of ${asText(own.live['location'])}, another set can declare another one`,
      ];

/** Comments on a pool's source, which only applies at creation, and on the cluster member, which the author must choose. */
function creationComments({ kind, live }: Own, observed: Observed): readonly string[] {
  if (isPlaced({ kind }) && observed.members !== undefined)
    return [
      `on the member ${asText(live['location'])}: with target: ${asText(live['location'])} it would have to be there`,
    ];
  if (kind !== 'storage_pool') return [];
  const config = mapOf(live['config']);
  const origin = [
    'source',
    'size',
    'zfs.pool_name',
    'ceph.osd.pool_name',
    'cephfs.path',
    'lvm.vg_name',
    'lvm.thinpool_name',
  ].filter((key) => asText(config[key]) !== '');
  return origin.length === 0
    ? []
    : [`on this server, chosen at its creation: ${origin.map((key) => `${key}: ${asText(config[key])}`).join(', ')}`];
}

function remarksOf({ kind }: Own, values: JsonObject): ExportedObject['remarks'] {
  if (kind !== 'network') return [];
  const config = mapOf(values['config']);
  return ['ipv4.address', 'ipv6.address']
    .filter((key) => key in config && config[key] !== 'none')
    .map((key) => ({ path: ['config', key], text: 'or auto: any free subnet' }));
}

const leftOut = (own: Pick<Own, 'kind'>, name: string, comments: readonly string[]): ExportedObject => ({
  ...remark(own, name, comments),
  isLeftOut: true,
});

/** Why no document can recreate the volume; undefined when one can. LXD lists snapshots among the volumes. */
function volumeLoss(name: string, live: JsonObject): string | undefined {
  if (volumeWithin(name).includes('/')) return 'is a snapshot of a volume, which no document can recreate';
  const content = textOf(live['content_type']) ?? '';
  return content === '' || content === 'filesystem'
    ? undefined
    : `has the content type ${content}: a document would create a file system`;
}

/** Exports the source and the power state of a container, which are not among its fields. */
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
  const comments = [
    `made from the image ${base}, which the server no longer has: a new container needs another source`,
  ];
  return { values: state, comments };
}
