// gantry_profile: config and devices that containers share. The profile `default` is adopted and emptied, never created or deleted.
import { listByKind } from './shared/listing.ts';
import type { Profile } from '../../server/api/container/profile.ts';
import { profileName } from '../../server/api/names.ts';
import type { Link } from '../connection/link.ts';
import type { StateOf } from '../framework/attribute.ts';
import { failure, DiagnosticError } from '../framework/diagnostic.ts';
import type { Context } from '../framework/object-type.ts';
import type { Value } from '../framework/value.ts';
import { deleteKind, readKind } from './shared/read-by-kind.ts';
import { at } from '../framework/path.ts';
import { importByParts } from './shared/import-ids.ts';
import { rawLxcFailures } from './shared/raw-lxc.ts';
import { renameKind } from './shared/rename.ts';
import { inDevices, strayAddresses } from './shared/static-addresses.ts';
import { present, readMap, readMaps, writtenMap, writtenMaps } from './shared/config-maps.ts';
import {
  containerConfigAttribute,
  descriptionAttribute,
  devicesAttribute,
  gantryResource,
  nameAttribute,
} from './shared/common-attributes.ts';
import { conflicting, edit, editOf, perform, performCreate } from './shared/write.ts';

const attributes = {
  name: nameAttribute('Name, at most 64 characters.', profileName),
  description: descriptionAttribute,
  config: containerConfigAttribute(true),
  devices: devicesAttribute,
};
type State = StateOf<typeof attributes>;

const readProfile = (live: Profile, state: State) => ({
  description: live.description,
  config: readMap(live.config, state.config),
  devices: readMaps(live.devices, state.devices),
});

const put = (state: State, live: Profile, before: State | null) => ({
  description: state.description ?? '',
  config: writtenMap(live.config, state.config, before?.config ?? null),
  devices: writtenMaps(state.devices),
});

const permanent = 'default';
const isPermanent = (name: string): boolean => name === permanent;
const isEmpty = (live: Profile): boolean => Object.keys({ ...live.config, ...live.devices }).length === 0;

/** Throws DiagnosticError when `default` has content of others: adopting it takes an explicit import. */
async function adopt(state: State, context: Context<Link>): Promise<void> {
  await edit(
    context,
    editOf(context, 'profile', state.name, {
      changedSince: (live) => {
        if (isEmpty(live)) return [];
        const detail = 'Import it to manage its contents: terraform import <address> default.';
        throw new DiagnosticError([failure('The profile default is not empty', detail)]);
      },
      body: (live) => put(state, live, null),
    }),
  );
}

export const profile = gantryResource({
  typeName: 'gantry_profile',
  doc: 'Config and devices that containers share. The profile `default` exists on every server: this resource adopts it if it is empty, and empties it on destroy.',
  attributes,
  identity: ['name'],
  listing: listByKind('profile'),
  importing: importByParts(['name'], 'web'),
  async read(state, context) {
    const live = await readKind(context, 'profile', state.name);
    return live === undefined ? null : readProfile(live, state);
  },
  async create({ planned }, context) {
    if (isPermanent(planned.name)) {
      await adopt(planned, context);
      context.mayExist();
      return;
    }
    const { name, description, config, devices } = planned;
    const body = { name, description: description ?? '', config: present(config ?? {}), devices: writtenMaps(devices) };
    await performCreate(context, () => context.client.client.create('profile', body, {}, context.signal));
  },
  async plan({ prior, planned, replace, client, add }) {
    for (const found of rawLxcFailures(planned.config, prior?.config ?? null, client)) add(found);
    const nics = { devices: planned.devices as Value, prior: prior?.devices ?? null, pathOf: inDevices };
    for (const found of await strayAddresses(client, nics)) add(found);
    // `default` is never created, deleted or renamed.
    if (prior !== null && planned.name !== prior.name && [prior.name, planned.name].some((name) => name === permanent))
      replace(at('name'));
  },
  async update({ planned }, prior, context) {
    await edit(
      context,
      editOf(context, 'profile', prior.name, {
        changedSince: (live) =>
          conflicting({ prior, planned }, (state) => readProfile(live, state), ['description', 'config', 'devices']),
        body: (live) => put(planned, live, prior),
      }),
    );
    await renameKind(context, 'profile', prior, planned);
  },
  async delete(prior, context) {
    const { client } = context.client;
    if (isPermanent(prior.name)) {
      const nothing = { description: '', config: {}, devices: {} };
      await perform(context, () => client.put('profile', prior.name, nothing, {}, context.signal));
    } else await deleteKind(context, 'profile', prior.name);
  },
});
