// gantry_network: a managed bridge. What the server picks by itself is shown, and never a difference.
import type { Network } from '../../server/api/network.ts';
import { networkName } from '../../server/api/names.ts';
import { validateNetworkConfig } from '../../server/api/network-validate.ts';
import { text, textMap, texts, type StateOf, type TextMap } from '../framework/attribute.ts';
import { timeoutsAttribute } from '../framework/timeouts.ts';
import { unknownValue, type ValueMap } from '../framework/value.ts';
import { parseImportId } from './ids.ts';
import { isFulfilled, present, readMap, sameMap, writtenMap, type MapRules } from './maps.ts';
import { createOnMembers, memberOverridesAttribute, memberProblems } from './members.ts';
import {
  descriptionAttribute,
  gantryResource,
  nameAttribute,
  problemsIn,
  shownMap,
  usedByAttribute,
} from './shared.ts';
import { differing, edit, editOf, keepEtag, performCreate, performDelete } from './write.ts';

const picked = new Set(['ipv4.address', 'ipv6.address', 'fan.underlay_subnet']);
const computed = new Set(['bridge.mtu', 'ipv4.address', 'ipv4.nat', 'ipv6.address', 'ipv6.nat']);
const rules: MapRules = {
  isComputed: (key) => computed.has(key) || key.startsWith('volatile.'),
  fulfils: (key, live, written) => written === 'auto' && picked.has(key) && live !== '' && live !== 'none',
};

const attributes = {
  name: nameAttribute('Name, which is that of the interface too: 2 to 15 characters.', networkName),
  description: descriptionAttribute,
  type: text({ doc: 'Kind of network; `bridge` is what servers make.', default: 'bridge', replace: true }),
  config: textMap({
    doc: 'Config keys. What the server fills in by itself (addresses, NAT) is in `effective_config`.',
    default: {},
    same: (before: TextMap, after: TextMap) => sameMap(before, after, rules),
    fulfilled: (after: TextMap, prior: ValueMap) => isFulfilled(after, prior, rules),
  }),
  member_overrides: memberOverridesAttribute,
  effective_config: textMap({ doc: 'The whole config as the server has it.', computed: true }),
  used_by: usedByAttribute,
  locations: texts({ doc: 'Cluster members that have it.', computed: true }),
  timeouts: timeoutsAttribute,
};
type State = StateOf<typeof attributes>;

const readNetwork = (live: Network, state: State) => ({
  description: live.description,
  type: live.type,
  config: readMap(live.config, state.config, rules),
  effective_config: shownMap(live.config),
  used_by: live.used_by ?? [],
  locations: live.locations ?? [],
});

export const network = gantryResource({
  typeName: 'gantry_network',
  doc: 'A managed bridge with addresses, DHCP, DNS and NAT.',
  example: `resource "gantry_network" "lan" {
  name = "lan0"
  config = {
    "ipv4.address" = "10.20.0.1/24"
    "ipv4.nat"     = "true"
    "ipv6.address" = "none"
  }
}
`,
  version: 0,
  attributes,
  identity: ['name'],
  importing: {
    doc: '`[project/]name`',
    example: 'lan0',
    parse: (id, link) => ({ name: parseImportId(id, 1, '[project/]name', link).parts[0] ?? '' }),
    id: ({ name = '' }) => name,
  },
  validate(config) {
    const { name, config: keys } = config;
    if (typeof name !== 'string' || keys === null || typeof keys !== 'object') return [];
    const known = Object.entries(keys).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    if (known.length !== Object.keys(keys).length) return [];
    const problems = validateNetworkConfig(name, Object.fromEntries(known)).filter(({ path }) => path !== 'name');
    return problemsIn(problems, 'config', ['config']);
  },
  plan({ prior, planned, differs }) {
    // Who uses it changes with its users, not with it.
    if (prior !== null && differs) planned.used_by = prior.used_by;
    if (prior !== null && planned.config !== unknownValue && !differs)
      planned.effective_config = prior.effective_config;
  },
  async read(state, { client, privateData, signal }) {
    const seen = await client.reader.read('network', state.name, signal);
    if (seen === undefined || !seen.object.managed) return null;
    keepEtag(privateData, seen);
    return readNetwork(seen.object, state);
  },
  async create({ planned }, context) {
    memberProblems(context.client, planned.member_overrides);
    const { name, description, type, config } = planned;
    const body = { name, description: description ?? '', type: type ?? 'bridge', config: present(config ?? {}) };
    const send = (part: Partial<typeof body>, target?: string) => {
      const write = target === undefined ? {} : { target };
      return performCreate(context, () =>
        context.client.client.create('network', { ...body, ...part }, write, context.signal),
      );
    };
    await createOnMembers(context, planned.member_overrides, body.config, networkMemberKeys, send);
  },
  async update({ planned }, prior, context) {
    await edit(
      context,
      editOf(context, 'network', planned.name, {
        changedSince: (live) => differing(prior, readNetwork(live, prior), ['description', 'config']),
        body: (live) => ({
          description: planned.description ?? '',
          config: writtenMap(live.config, planned.config, prior.config, rules),
        }),
      }),
    );
  },
  async delete(prior, context) {
    await performDelete(context, () => context.client.client.delete('network', prior.name, context.signal));
  },
});

/** Of these every member has its own. */
const networkMemberKeys = /^(bridge\.external_interfaces|parent|bgp\..*\.nexthop)$/;
