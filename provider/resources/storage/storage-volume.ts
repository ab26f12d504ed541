// gantry_storage_volume: custom storage that outlives containers. Its snapshots are in volume-snapshot.ts.
import { listInside } from '../shared/listing.ts';
import { volumeName } from '../../../server/api/names.ts';
import type { StorageVolume } from '../../../server/api/storage/volume.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import { isClustered, isGantry, needCluster, needExtension, type Link } from '../../connection/link.ts';
import { object, text, type StateOf, serverDefault } from '../../framework/attribute.ts';
import { warning } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { PlanHook } from '../../framework/provider.ts';
import { poolDrivers } from '../../../server/api/storage/pool-drivers.ts';
import { validateVolumeConfig } from '../../../server/api/storage/validate-storage-config.ts';
import { equalValues, isMap, isUnknown, type Unknown, type Value, type ValueMap } from '../../framework/value.ts';
import type { Context } from '../../framework/object-type.ts';
import { isAt, membersFor, targetProblem } from '../shared/placement.ts';
import { deletePath, describePath, editPath, readPath, segment, type Where } from '../shared/read-by-path.ts';
import { completedConfigAttribute, describedChange } from '../shared/completed-config.ts';
import { parseImportId } from '../shared/import-ids.ts';
import { present, readMap, nonEmpty, type MapRules } from '../shared/config-maps.ts';
import {
  descriptionAttribute,
  effectiveConfigAttribute,
  gantryResource,
  nameAttribute,
  problemsInConfig,
  shownMap,
} from '../shared/common-attributes.ts';
import { isOtherOwner, renamePath } from '../shared/rename.ts';
import { keepEtag, performCreate } from '../shared/write.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const filledIn = new Set([
  'block.filesystem',
  'block.mount_options',
  // A stock LXD copies these, too.
  'security.shifted',
  'security.unmapped',
  'size',
  'snapshots.expiry',
  'snapshots.pattern',
  'snapshots.schedule',
  'zfs.block_mode',
  'zfs.remove_snapshots',
  'zfs.use_refquota',
]);
/** A new volume gets copies of the `volume.*` keys of its pool. */
const isNote = (key: string): boolean => key.startsWith('volatile.');
const rules: MapRules = { isComputed: (key) => filledIn.has(key) || isNote(key) };

interface Origin {
  readonly pool: string | null;
  readonly name: string;
  readonly project: string | null;
}

/** A missing pool means the current one, so that the volume and its data stay. The plan decides about another name. */
function isOther(before: Origin | null, after: Origin | null | Unknown): boolean {
  if (before === null) return false;
  if (isUnknown(after)) return true;
  const [from, to] = [nonEmpty(before.pool), nonEmpty(after?.pool ?? null)];
  const [was, is] = [nonEmpty(before.project), nonEmpty(after?.project ?? null)];
  return after === null || (from !== null && to !== null && from !== to) || (was !== null && is !== null && was !== is);
}

const attributes = {
  pool: text({ doc: 'Name of the storage pool.', required: true, replace: true }),
  name: nameAttribute('Name, at most 63 characters.', volumeName),
  description: descriptionAttribute,
  config: completedConfigAttribute('Config keys. Values from the pool are in `effective_config`.', rules),
  source: object(
    {
      pool: text({ doc: 'Its pool. Default: the pool of this volume.' }),
      name: text({ doc: 'Name of the volume to copy.', required: true }),
      project: text({ doc: 'Its project, on servers with projects. Default: the project of this volume.' }),
    },
    { doc: 'The volume to copy, without its snapshots.', replace: isOther },
  ),
  target: text({
    doc: 'Cluster member for the volume, or `@group` for any member of a group. Another one replaces the volume. Default: the server chooses.',
    ...serverDefault,
  }),
  effective_config: effectiveConfigAttribute,
  location: text({ doc: 'Cluster member of the volume.', computed: true, keep: true }),
};
type State = StateOf<typeof attributes>;

export const volumePath = ({ pool, name }: { readonly pool: string; readonly name: string }): string =>
  `/1.0/storage-pools/${segment(pool)}/volumes/custom/${segment(name)}`;

const readVolume = (live: StorageVolume, state: State) => ({
  description: live.description,
  config: readMap(live.config, state.config, rules),
  // LXD notes the id maps of the containers that use it, which would be a change outside of Terraform.
  effective_config: shownMap(Object.fromEntries(Object.entries(live.config).filter(([key]) => !isNote(key)))),
  location: live.location,
});

/** The import of an object, of which only the id is known, on a member that no server without a cluster has. */
export function checkImported({ description, target }: Pick<State, 'description' | 'target'>, link: Link): void {
  if (description === null && nonEmpty(target) !== null) needCluster(link, 'find volumes by their member (target)');
}

/** Several members of a cluster may have a volume of that name. */
function whereOf({ location, target }: Pick<State, 'location' | 'target'>, link: Link): Where {
  const member = nonEmpty(location) ?? nonEmpty(target) ?? link.target ?? null;
  return !isClustered(link) || member === null || member.startsWith('@') ? {} : { target: member };
}

/** Finds the volume on its former member, otherwise on the only one that has it now. */
async function findVolume(context: Context<Link>, state: State): Promise<Reply<StorageVolume> | undefined> {
  const where = whereOf(state, context.client);
  const found = await readPath<StorageVolume>(context, volumePath(state), where);
  if (found !== undefined || where.target === undefined || where.target === state.target) return found;
  return readPath<StorageVolume>(context, volumePath(state));
}

/** A volume cannot move: another target replaces it. */
async function planPlace({ config, prior, planned, client, replace, add }: PlanHook<typeof attributes, Link>) {
  if (config.target === null) planned.target = prior?.target ?? null;
  const { target } = planned;
  if (client === undefined || typeof target !== 'string' || target === '' || target === prior?.target) return;
  if (client.activity.hasWritten && prior === null) return;
  const members = await membersFor(client, 'volumes');
  const before = nonEmpty(prior?.target ?? null);
  if (prior !== null && isAt(target, prior.location ?? '', members)) {
    if (before === null) return;
    // The target in the state is equivalent, so nothing changes.
    planned.target = before;
    const isSame = (['name', 'description', 'config', 'source'] as const).every((name) =>
      equalValues(prior[name] as Value, planned[name] as Value),
    );
    if (isSame) planned.effective_config = prior.effective_config;
    return;
  }
  const problem = targetProblem(target, members);
  if (problem !== undefined) add(problem);
  if (prior !== null) replace(at('target'));
}

/** Problems with the pool of the volume, if it exists already; other servers have unknown keys. */
async function planConfig({ planned, client, differs, add }: PlanHook<typeof attributes, Link>): Promise<void> {
  const { pool, config } = planned;
  if (client === undefined || !isGantry(client) || !differs || typeof pool !== 'string') return;
  const seen = await client.reader.read('storage_pool', pool, AbortSignal.timeout(30_000));
  const driver = poolDrivers.find((name) => name === seen?.object.driver);
  if (driver === undefined || !isMap(config)) return;
  const known = Object.entries(config as ValueMap).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const problems = validateVolumeConfig(driver, Object.fromEntries(known));
  for (const problem of problemsInConfig(problems)) add(problem);
}

const inProject = (link: Link, project: string): Link => ({ ...link, client: link.client.inProject(project) });

export const storageVolume = gantryResource({
  typeName: 'gantry_storage_volume',
  doc: 'A custom volume: storage that containers mount and that survives them.',
  attributes,
  identity: ['pool', 'name'],
  listing: listInside({
    label: 'custom volume',
    holder: 'storage_pool',
    attribute: 'pool',
    path: (pool) => `/1.0/storage-pools/${segment(pool)}/volumes/custom`,
  }),
  timeoutsMs: { create: 30 * 60_000 },
  importing: {
    doc: '`[project/]pool/name`; `,copy=[pool/]volume` sets its source, `,target=<member>` says which one when several members of a cluster have one of that name',
    example: 'default/data',
    parse(id) {
      const shape = '[project/]pool/name[,copy=[pool/]volume][,target=<member>]';
      const { parts, options, scope } = parseImportId(id, 2, shape, ['copy', 'target']);
      const [pool = '', name = ''] = parts;
      const [volume = '', from = null] = options['copy']?.split('/').toReversed() ?? [];
      return {
        pool,
        name,
        ...scope,
        ...withoutUndefined({ target: options['target'] }),
        ...(volume === '' ? {} : { source: { pool: from, name: volume, project: null } }),
      };
    },
  },
  async plan(hook) {
    const { prior, planned, client, replace, add } = hook;
    await planConfig(hook);
    await planPlace(hook);
    const [before, after] = [prior?.source ?? null, planned.source];
    if (prior === null || before === null || after === null || isUnknown(after)) return;
    const path = (name: string): string => volumePath({ pool: nonEmpty(before.pool) ?? prior.pool, name });
    const owner = { attribute: 'source', before: before.name, after: after.name, path };
    if (after.name === before.name) return;
    const project = nonEmpty(before.project);
    const there = project === null || client === undefined ? client : inProject(client, project);
    if (await isOtherOwner(there, owner)) replace(at('source'));
    else {
      const detail = `The volume in source does not exist yet, so it may be the new name of ${before.name}: the state takes the new source, and nothing else changes. To create the volume again, use terraform apply -replace.`;
      add(warning(`The volume ${prior.name} stays as it is`, detail));
    }
  },
  async read(state, context) {
    checkImported(state, context.client);
    const found = await findVolume(context, state);
    if (found === undefined) return null;
    keepEtag(context.privateData, found);
    const { location } = found.metadata;
    // An imported volume has its member as target, so that configuring it plans no change.
    const isPlaced = state.effective_config !== null || state.target !== null || !isClustered(context.client);
    return { ...readVolume(found.metadata, state), ...(isPlaced ? {} : { target: location }) };
  },
  async create({ planned }, context) {
    const member = nonEmpty(planned.target);
    if (member !== null) needCluster(context.client, 'place volumes on members (target)');
    const { name, description, config, source } = planned;
    // Copies without snapshots: nothing here declares them, and they would block the deletion.
    const copy = { type: 'copy', volume_only: true };
    const other = nonEmpty(source?.project ?? null);
    if (other !== null) needExtension(context.client, 'storage_api_project', 'copy volumes from other projects');
    const within = other === null ? {} : { project: other };
    const from =
      source === null
        ? {}
        : { source: { ...copy, ...within, name: source.name, pool: nonEmpty(source.pool) ?? planned.pool } };
    const json = { name, type: 'custom', description: description ?? '', config: present(config ?? {}), ...from };
    const path = `/1.0/storage-pools/${segment(planned.pool)}/volumes/custom`;
    const target = member ?? context.client.target;
    const query = target === undefined ? {} : { query: { target } };
    const { http } = context.client.client;
    await performCreate(context, () => http.send({ method: 'POST', path, json, ...query }, context.signal));
    if (source === null || isGantry(context.client)) return;
    const wanted = { description: json.description, rest: (live: StorageVolume) => ({ config: live.config }) };
    await describePath(context, `volume ${JSON.stringify(name)}`, volumePath(planned), wanted, query.query);
  },
  async update({ planned }, prior, context) {
    const change = describedChange({ prior, planned }, rules, readVolume);
    const where = whereOf(prior, context.client);
    await editPath(context, `volume ${JSON.stringify(prior.name)}`, volumePath(prior), change, where);
    await renamePath(context, volumePath(prior), prior, planned, where);
  },
  delete: (prior, context) => deletePath(context, volumePath(prior), whereOf(prior, context.client)),
});
