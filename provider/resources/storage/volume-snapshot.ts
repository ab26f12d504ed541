// gantry_volume_snapshot: the content of a custom volume at one moment.
import { snapshotName } from '../../../server/api/names.ts';
import type { VolumeSnapshot } from '../../../server/api/storage/volume.ts';
import { needExtension, type Link } from '../../connection/link.ts';
import { text, type StateOf } from '../../framework/attribute.ts';
import type { Context } from '../../framework/object-type.ts';
import { at } from '../../framework/path.ts';
import { timeoutsAttribute } from '../../framework/timeouts.ts';
import { deletePath, editPath, readPath, segment } from '../shared/read-by-path.ts';
import { importByParts } from '../shared/import-ids.ts';
import { descriptionAttribute, gantryResource, nameAttribute } from '../shared/common-attributes.ts';
import { isOtherOwner, otherOwner, renamePath } from '../shared/rename.ts';
import { expiryAttribute, never, shownExpiry } from '../shared/snapshot-expiry.ts';
import { volumePath } from './storage-volume.ts';
import { differing, keepEtag, performCreate } from '../shared/write.ts';

const attributes = {
  pool: text({ doc: 'Name of the storage pool.', required: true, replace: true }),
  volume: text({
    doc: 'Name of the custom volume. A renamed volume keeps the snapshot.',
    required: true,
  }),
  name: nameAttribute('Name of the snapshot.', snapshotName),
  description: descriptionAttribute,
  expires_at: expiryAttribute('volume'),
  timeouts: timeoutsAttribute,
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
const pathOf = (state: State): string => `${listPath(state)}/${segment(state.name)}`;

export const volumeSnapshot = gantryResource({
  typeName: 'gantry_volume_snapshot',
  doc: 'A snapshot of a custom volume: its content at one moment.',
  example: `resource "gantry_volume_snapshot" "before" {
  pool   = "default"
  volume = "data"
  name   = "before-upgrade"

  expires_at = "2030-01-31T12:00:00Z"
}
`,
  attributes,
  identity: ['pool', 'volume', 'name'],
  importing: importByParts(['pool', 'volume', 'name'], 'default/data/before-upgrade'),
  async read(state, context) {
    const found = await readPath<VolumeSnapshot>(context, pathOf(state));
    if (found === undefined) return null;
    keepEtag(context.privateData, found);
    return shown(found.metadata, state);
  },
  async create({ planned }, context) {
    needExtension(context.client, 'storage_api_volume_snapshots', 'take snapshots of volumes');
    const { http } = context.client.client;
    const { name, description, expires_at: expires } = planned;
    if (expires !== null) needExpiry(context);
    const json = { name, description: description ?? '', ...(expires === null ? {} : { expires_at: expires }) };
    await performCreate(context, () => http.send({ method: 'POST', path: listPath(planned), json }, context.signal));
  },
  async plan({ prior, planned, client, replace }) {
    if (prior === null || planned.pool !== prior.pool) return;
    const { pool } = prior;
    const path = (volume: string): string => volumePath({ pool, name: volume });
    const owner = { attribute: 'volume', before: prior.volume, after: planned.volume, path };
    if (await isOtherOwner(client, owner)) replace(at('volume'));
  },
  async update({ planned }, prior, context) {
    const here = { ...prior, volume: planned.volume };
    if (planned.expires_at !== null && planned.expires_at !== prior.expires_at) needExpiry(context);
    if (planned.volume !== prior.volume && (await readPath(context, pathOf(here))) === undefined)
      throw otherOwner(`snapshot ${prior.name}`, 'volume', planned.volume);
    await editPath<VolumeSnapshot, object>(context, `volume snapshot ${JSON.stringify(prior.name)}`, pathOf(here), {
      changedSince: (live) => differing(prior, shown(live, prior), ['description', 'expires_at']),
      body: () => ({ description: planned.description ?? '', expires_at: planned.expires_at ?? never }),
    });
    await renamePath(context, pathOf(here), prior, planned);
  },
  delete: (prior, context) => deletePath(context, pathOf(prior)),
});
