// gantry_storage_pool: storage for root file systems and volumes. Its source is set at creation and rewritten by the server.
import { listByKind } from '../shared/listing.ts';
import type { StoragePool } from '../../../server/api/storage/pool.ts';
import { poolDrivers } from '../../../server/api/storage/pool-drivers.ts';
import { poolName } from '../../../server/api/names.ts';
import { lxdKey, lxdKeyNames } from '../../../server/api/server/lxd-keys.ts';
import { isMadeFrom } from '../../../server/api/storage/pool-source.ts';
import { filledPoolKeys, poolConfigKeys, type StorageConfigKey } from '../../../server/api/storage/storage-config.ts';
import { validatePoolConfig } from '../../../server/api/storage/validate-storage-config.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import type { Link } from '../../connection/link.ts';
import { text, texts, type StateOf, type TextMap } from '../../framework/attribute.ts';
import { hint, nearestName } from '../../../server/api/text/nearest-word.ts';
import { failure } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import { isMap, isUnknown, type Unknown } from '../../framework/value.ts';
import { deleteKind, readKind } from '../shared/read-by-kind.ts';
import { completedConfigAttribute, describedChange } from '../shared/completed-config.ts';
import { importByParts } from '../shared/import-ids.ts';
import { fits, readMap, type MapRules } from '../shared/config-maps.ts';
import { changeOnMembers, describeInCluster, keysOfMembers, rulesFor } from '../shared/member-keys.ts';
import { createOnMembers, memberOverridesAttribute, notedOverrides } from '../shared/member-overrides.ts';
import {
  descriptionAttribute,
  effectiveConfigAttribute,
  serverResource,
  fixedNameAttribute,
  problemsInConfig,
  shownMap,
} from '../shared/common-attributes.ts';
import { edit, editOf } from '../shared/write.ts';

/** The last one matters at the creation only. */
const computed = new Set([...filledPoolKeys, 'lvm.vg.force_reuse']);
const rules: MapRules = {
  isComputed: (key) => computed.has(key) || key.startsWith('volatile.') || /^cephfs?\./.test(key),
  isProvenance: (key) => key === 'source',
  // Some servers do not store the device of which a group or dataset was made.
  mayComeFrom: (key, live, source) =>
    key !== 'source' ||
    isMadeFrom(live, source) ||
    (source.startsWith('/dev/') && live['volatile.initial_source'] === undefined),
};

const attributes = {
  name: fixedNameAttribute('Name, at most 63 characters.', poolName),
  description: descriptionAttribute,
  driver: text({ doc: `One of ${poolDrivers.join(', ')}.`, required: true, replace: true }),
  config: completedConfigAttribute(
    'Config keys. Values that the server fills in (`source`, `size`) are in `effective_config`.',
    rules,
  ),
  member_overrides: memberOverridesAttribute,
  effective_config: effectiveConfigAttribute,
  locations: texts({ doc: 'Cluster members that have it.', computed: true, keep: true }),
};
type State = StateOf<typeof attributes>;

const factOf = (key: string): StorageConfigKey | undefined =>
  Object.hasOwn(poolConfigKeys, key) ? poolConfigKeys[key as keyof typeof poolConfigKeys] : undefined;
const isDefault = (key: string, value: string): boolean => sameText(key, value, factOf(key)?.default ?? '');

const keyNames = [...Object.keys(poolConfigKeys), ...lxdKeyNames('storage_pool')].filter((name) => !name.includes('*'));
/** Whether only a stock LXD has the key, which then judges it. A name close to a known one is a mistake. */
const isKeyOfLxd = (key: string): boolean =>
  factOf(key) === undefined &&
  lxdKey('storage_pool', key) !== undefined &&
  (keyNames.includes(key) || nearestName(key, keyNames) === undefined);

/** A change that an existing pool does not support replaces the pool. */
function isFixed(driver: string, key: string): boolean {
  const row = factOf(key);
  return row !== undefined && !row.changeable.some((name) => name === driver);
}

/** Keeps the present values of fixed keys that the configuration leaves out: servers refuse to remove them. */
const rulesOfUpdate = (driver: string): MapRules => ({
  ...rules,
  isComputed: (key) => rules.isComputed(key) || isFixed(driver, key),
});

/** Leaves out fixed keys with their default value that the configuration leaves out: an update cannot remove them. */
const shownConfig = ({ driver, config }: StoragePool, written: TextMap | null): TextMap =>
  Object.fromEntries(
    Object.entries(config).filter(
      ([key, value]) => written?.[key] !== undefined || !isFixed(driver, key) || !isDefault(key, value),
    ),
  );

const readPool = (live: StoragePool, state: State, link: Link) => ({
  description: live.description,
  driver: live.driver,
  config: readMap(shownConfig(live, state.config), state.config, rulesFor(link, 'storage_pool', rules)),
  effective_config: shownMap(live.config),
  locations: live.locations ?? [],
});

/**
 * Whether the key gets another value, or may get one that is known only after apply. The state lacks keys that the server fills in, as after
 * an import: the pool may have the value.
 */
function isOther(key: string, prior: State, after: Readonly<Record<string, string | Unknown>>): boolean {
  const [before, next] = [prior.config?.[key] ?? '', after[key] ?? ''];
  if (isUnknown(next)) return true;
  // A key that the configuration leaves out leaves the choice to the server, which made it at creation.
  if (next === '') return before !== '' && !rules.isComputed(key) && !isDefault(key, before);
  if (before !== '') return !sameText(key, before, next);
  const live = prior.effective_config?.[key] ?? '';
  // A cluster does not show keys of single members.
  if (live === '') return !rules.isComputed(key);
  return !fits(key, live, next, rules) || rules.mayComeFrom?.(key, prior.effective_config ?? {}, next) === false;
}

export const storagePool = serverResource({
  typeName: 'gantry_storage_pool',
  doc: 'Storage for root file systems and volumes.',
  attributes,
  identity: ['name'],
  listing: listByKind('storage_pool'),
  importing: { ...importByParts(['name'], 'fast'), doc: '`name`' },
  validate({ driver, config }) {
    if (typeof driver !== 'string') return [];
    if (!poolDrivers.some((name) => name === driver)) {
      const detail = `There is no storage driver ${driver}${hint(driver, poolDrivers)}. There are ${poolDrivers.join(', ')}.`;
      return [failure('Invalid value of driver', detail, at('driver'))];
    }
    if (!isMap(config)) return [];
    const known = Object.entries(config).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const problems = validatePoolConfig(driver, Object.fromEntries(known));
    const left = problems.filter(({ path }) => !isKeyOfLxd(path.slice('config.'.length)));
    return problemsInConfig(left);
  },
  plan({ prior, planned, differs, replace, client, add }) {
    const supported = client?.server.environment.storage_supported_drivers?.map(({ Name }) => Name);
    const { driver } = planned;
    if (
      supported !== undefined &&
      typeof driver === 'string' &&
      prior?.driver !== driver &&
      !supported.includes(driver)
    ) {
      const detail = `It has ${supported.join(', ')}. Use one of them, or install what ${driver} needs on the server.`;
      add(failure(`This server has no storage driver ${driver}`, detail, at('driver')));
    }
    for (const found of notedOverrides('storage pool', prior, planned)) add(found);
    if (prior === null || !differs) return;
    if (isUnknown(planned.config)) return;
    const after = planned.config ?? {};
    const keys = new Set([...Object.keys(prior.config ?? {}), ...Object.keys(after)]);
    const fixed = [...keys].filter((key) => isFixed(prior.driver, key) && isOther(key, prior, after));
    for (const key of fixed) replace(at('config', { key }));
  },
  async read(state, context) {
    const live = await readKind(context, 'storage_pool', state.name);
    return live === undefined ? null : readPool(live, state, context.client);
  },
  async create({ planned }, context) {
    const { name, description, driver } = planned;
    const body = { name, description: description ?? '', driver };
    await createOnMembers(context, planned, keysOfMembers(context.client, 'storage_pool'), (config, write) =>
      context.client.client.create('storage_pool', { ...body, config }, write, context.signal),
    );
    await describeInCluster(context, 'storage_pool', body);
  },
  async update({ planned }, prior, context) {
    const { client } = context;
    const { driver, name } = planned;
    const read = (live: StoragePool, state: State) => readPool(live, state, client);
    const options = { keeps: true, isApart: keysOfMembers(client, 'storage_pool') };
    const change = describedChange({ prior, planned }, rulesOfUpdate(driver), read, options);
    await edit(context, editOf(context, 'storage_pool', name, change));
    // A key that is left out stays as it is, and one that is fixed is only noted: the plan replaces a pool that would need another value.
    const stays = (key: string, wanted: string): boolean => wanted === '' || isFixed(driver, key);
    await changeOnMembers(context, 'storage_pool', name, { prior, planned }, stays);
  },
  delete: (prior, context) => deleteKind(context, 'storage_pool', prior.name),
});
