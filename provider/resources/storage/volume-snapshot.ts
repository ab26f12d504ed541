// gantry_volume_snapshot: the content of a custom volume at one moment.
import { snapshotName } from '../../../server/api/names.ts';
import type { VolumeSnapshot } from '../../../server/api/storage/volume.ts';
import { isGantry, needCluster, needExtension, type Link } from '../../connection/link.ts';
import { text, type StateOf } from '../../framework/attribute.ts';
import type { Context } from '../../framework/object-type.ts';
import { at } from '../../framework/path.ts';
import { isUnknown } from '../../framework/value.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { deletePath, describePath, editPath, readPath, segment, type Where } from '../shared/read-by-path.ts';
import { parseImportId } from '../shared/import-ids.ts';
import { descriptionAttribute, gantryResource, nameAttribute } from '../shared/common-attributes.ts';
import { isOtherOwner, otherOwner, renamePath } from '../shared/rename.ts';
import { expiryAttribute, never, shownExpiry } from '../shared/snapshot-expiry.ts';
import { checkImported, volumePath } from './storage-volume.ts';
import { differing, keepEtag, performCreate } from '../shared/write.ts';

const attributes = {
  pool: text({ doc: 'Name of the storage pool.', required: true, replace: true }),
  volume: text({ doc: 'Name of the custom volume. A renamed volume keeps the snapshot.', required: true }),
  name: nameAttribute('Name of the snapshot.', snapshotName),
  target: text({
    doc: 'Cluster member of the volume (its `location`), for a name that volumes of several members have. Another one replaces the snapshot.',
    check: (target) => (target.startsWith('@') ? 'must be a member, such as the location of the volume' : undefined),
    replace: (before, after) =>
      nonEmpty(before) !== null && (isUnknown(after) || (nonEmpty(after) !== null && before !== after)),
  }),
  description: descriptionAttribute,
  expires_at: expiryAttribute('volume'),
};
type State = StateOf<typeof attributes>;
const listPath = ({ pool, volume }: State): string => `${volumePath({ pool, name: volume })}/snapshots`;
const shown = (live: VolumeSnapshot, state: State): Pick<State, 'description' | 'expires_at'> => {
  // Servers without expiry of volume snapshots leave it out.
  const expires: string | undefined = live.expires_at;
  return { description: live.description, expires_at: shownExpiry(expires ?? '', state.expires_at) };
};
const needExpiry = ({ client }: Context<Link>): void =>
  needExtension(client, 'custom_volume_snapshot_expiry', 'delete snapshots of volumes at a time');
const whatOf = ({ name }: State): string => `volume snapshot ${JSON.stringify(name)}`;
const pathOf = (state: State): string => `${listPath(state)}/${segment(state.name)}`;
/** Without a target, the only member with the volume is meant. */
function whereOf({ target }: Pick<State, 'target'>): Where {
  const member = nonEmpty(target);
  return member === null ? {} : { target: member };
}

export const volumeSnapshot = gantryResource({
  typeName: 'gantry_volume_snapshot',
  doc: 'A snapshot of a custom volume: its content at one moment.',
  attributes,
  identity: ['pool', 'volume', 'name'],
  importing: {
    doc: '`[project/]pool/volume/name`; `,target=<member>` says whose volume it is when several members of a cluster have one of that name',
    example: 'default/data/before-upgrade',
    parse(id) {
      const shape = '[project/]pool/volume/name[,target=<member>]';
      const { parts, options, scope } = parseImportId(id, 3, shape, ['target']);
      const [pool = '', volume = '', name = ''] = parts;
      return { pool, volume, name, target: options['target'] ?? null, ...scope };
    },
  },
  async read(state, context) {
    checkImported(state, context.client);
    const found = await readPath<VolumeSnapshot>(context, pathOf(state), whereOf(state));
    if (found === undefined) return null;
    keepEtag(context.privateData, found);
    return shown(found.metadata, state);
  },
  async create({ planned }, context) {
    needExtension(context.client, 'storage_api_volume_snapshots', 'take snapshots of volumes');
    const { http } = context.client.client;
    const { name, description, expires_at: expires } = planned;
    if (expires !== null) needExpiry(context);
    const query = { ...whereOf(planned) };
    if (query.target !== undefined) needCluster(context.client, 'name the member of a volume (target)');
    const json = { name, description: description ?? '', ...(expires === null ? {} : { expires_at: expires }) };
    await performCreate(context, () =>
      http.send({ method: 'POST', path: listPath(planned), query, json }, context.signal),
    );
    if (isGantry(context.client)) return;
    const wanted = {
      description: json.description,
      rest: (live: VolumeSnapshot) => ({ expires_at: live.expires_at }),
    };
    await describePath(context, whatOf(planned), pathOf(planned), wanted, query);
  },
  async plan({ prior, planned, client, replace }) {
    if (prior === null || planned.pool !== prior.pool) return;
    const { pool } = prior;
    const path = (volume: string): string => volumePath({ pool, name: volume });
    const where = whereOf(prior);
    const owner = { attribute: 'volume', before: prior.volume, after: planned.volume, path, where };
    if (await isOtherOwner(client, owner)) replace(at('volume'));
  },
  async update({ planned }, prior, context) {
    const here = { ...prior, volume: planned.volume };
    const where = whereOf(planned);
    if (planned.expires_at !== null && planned.expires_at !== prior.expires_at) needExpiry(context);
    if (planned.volume !== prior.volume && (await readPath(context, pathOf(here), where)) === undefined)
      throw otherOwner(`snapshot ${prior.name}`, 'volume', planned.volume);
    const change = {
      changedSince: (live: VolumeSnapshot) => differing(prior, shown(live, prior), ['description', 'expires_at']),
      body: () => ({ description: planned.description ?? '', expires_at: planned.expires_at ?? never }),
    };
    await editPath<VolumeSnapshot, object>(context, whatOf(prior), pathOf(here), change, where);
    await renamePath(context, pathOf(here), prior, planned, where);
  },
  delete: (prior, context) => deletePath(context, pathOf(prior), whereOf(prior)),
});
