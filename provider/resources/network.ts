// gantry_network: a managed bridge. Values that the server picks are shown, and never count as a difference.
import { listByKind } from './shared/listing.ts';
import { addressIn } from '../../server/client/facts/objects.ts';
import type { Network } from '../../server/api/network/network.ts';
import { networkName } from '../../server/api/names.ts';
import { withoutKeysOfLxd } from '../../server/api/server/lxd-keys.ts';
import { validateNetworkConfig } from '../../server/api/network/validate-network-config.ts';
import type { Link } from '../connection/link.ts';
import { text, texts, type StateOf, type TextMap } from '../framework/attribute.ts';
import { isImported } from '../framework/import-mark.ts';
import { unknownValue, type Value, type ValueMap } from '../framework/value.ts';
import { overlapWarnings } from './network-overlaps.ts';
import { deleteKind, readKind } from './shared/read-by-kind.ts';
import { completedConfigAttribute, describedChange } from './shared/completed-config.ts';
import { importByParts } from './shared/import-ids.ts';
import { readMap, type MapRules } from './shared/config-maps.ts';
import { changeOnMembers, describeInCluster, keysOfMembers, rulesFor } from './shared/member-keys.ts';
import { createOnMembers, memberOverridesAttribute, notedOverrides } from './shared/member-overrides.ts';
import {
  descriptionAttribute,
  effectiveConfigAttribute,
  gantryResource,
  nameAttribute,
  notEmpty,
  problemsInConfig,
  shownMap,
} from './shared/common-attributes.ts';
import { renameKind } from './shared/rename.ts';
import { notePlannedNetwork } from './shared/static-addresses.ts';
import { edit, editOf } from './shared/write.ts';

const picked = new Set(['ipv4.address', 'ipv6.address', 'fan.underlay_subnet']);
const computed = new Set(['bridge.mtu', 'ipv4.address', 'ipv4.nat', 'ipv6.address', 'ipv6.nat']);
const rules: MapRules = {
  isComputed: (key) => computed.has(key) || key.startsWith('volatile.'),
  fulfils: (key, live, written) => written === 'auto' && picked.has(key) && live !== '' && live !== 'none',
};

const attributes = {
  name: nameAttribute('Name of the network and of its interface: 2 to 15 characters.', networkName),
  description: descriptionAttribute,
  type: text({
    doc: 'Type of the network.',
    default: 'bridge',
    replace: true,
    check: notEmpty,
  }),
  config: completedConfigAttribute(
    'Config keys. Values that the server fills in (addresses, NAT) are in `effective_config`.',
    rules,
  ),
  member_overrides: memberOverridesAttribute,
  effective_config: effectiveConfigAttribute,
  ipv4_address: text({ doc: 'IPv4 address of the server in it.', computed: true }),
  ipv6_address: text({ doc: 'IPv6 address of the server in it.', computed: true }),
  locations: texts({ doc: 'Cluster members that have it.', computed: true, keep: true }),
};
type State = StateOf<typeof attributes>;

const ownConfig = ({ config }: Network): TextMap =>
  Object.fromEntries(Object.entries(config).filter(([key, value]) => value !== '' && !key.startsWith('volatile.')));

const readNetwork = (live: Network, state: State, link: Link) => ({
  description: live.description,
  type: live.type,
  // After an import, all keys: a configuration generated from them must create the same network.
  config:
    state.config === null ? ownConfig(live) : readMap(live.config, state.config, rulesFor(link, 'network', rules)),
  effective_config: shownMap(live.config),
  ipv4_address: addressIn(live, 'ipv4'),
  ipv6_address: addressIn(live, 'ipv6'),
  locations: live.locations ?? [],
});

export const network = gantryResource({
  typeName: 'gantry_network',
  doc: 'A managed bridge with addresses, DHCP, DNS and NAT.',
  attributes,
  identity: ['name'],
  listing: listByKind('network', { isListed: ({ managed }) => managed }),
  importing: importByParts(['name'], 'lan0'),
  validate(config) {
    const { name, config: keys } = config;
    if (typeof name !== 'string' || keys === null || typeof keys !== 'object') return [];
    const known = Object.entries(keys).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    if (known.length !== Object.keys(keys).length) return [];
    const found = validateNetworkConfig(name, Object.fromEntries(known)).filter(({ path }) => path !== 'name');
    const problems = withoutKeysOfLxd('network', found);
    return problemsInConfig(problems);
  },
  async plan({ prior, planned, differs, client, add }) {
    for (const found of notedOverrides('network', prior, planned)) add(found);
    if (prior !== null && planned.config !== unknownValue && !differs)
      planned.effective_config = prior.effective_config;
    if (client !== undefined)
      notePlannedNetwork(client, planned.name, planned.config as Value, prior?.effective_config ?? null);
    if (differs && client !== undefined && !client.activity.hasWritten)
      for (const found of await overlapWarnings(client, planned as ValueMap, prior)) add(found);
  },
  async read(state, context) {
    const live = await readKind(context, 'network', state.name);
    if (live?.managed !== true) return null;
    return readNetwork(live, state, context.client);
  },
  async create({ planned }, context) {
    const { name, description, type } = planned;
    const body = { name, description: description ?? '', type: type ?? 'bridge' };
    await createOnMembers(context, planned, keysOfMembers(context.client, 'network'), (config, write) =>
      context.client.client.create('network', { ...body, config }, write, context.signal),
    );
    await describeInCluster(context, 'network', body);
  },
  async update({ planned }, prior, context) {
    // After an import the configured keys are unknown.
    const { client, privateData } = context;
    const keeps = isImported(privateData);
    const read = (live: Network, state: State) => readNetwork(live, state, client);
    const change = describedChange({ prior, planned }, rules, read, {
      keeps,
      isApart: keysOfMembers(client, 'network'),
    });
    await edit(context, editOf(context, 'network', prior.name, change));
    await changeOnMembers(context, 'network', prior.name, { prior, planned });
    await renameKind(context, 'network', prior, planned);
  },
  delete: (prior, context) => deleteKind(context, 'network', prior.name),
});
