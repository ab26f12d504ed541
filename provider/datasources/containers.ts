// Data sources of containers: one with its state, or all that match.
import type { Container, ContainerState } from '../../server/api/container/container.ts';
import type { Link } from '../connection/link.ts';
import { flag, objectMap, shownTextMaps, text, textMap, texts } from '../framework/attribute.ts';
import type { Context } from '../framework/object-type.ts';
import { interfacesOf, isUp } from '../resources/container/container-state.ts';
import { gantryData, shownMap, shownMaps } from '../resources/shared/common-attributes.ts';
import { withoutWriteOnly, writeOnlyNames } from '../resources/shared/write-only-config.ts';
import { find, nameToFind, shownText } from './read-existing.ts';

const interfaces = objectMap(
  {
    mac_address: text({ doc: 'MAC address.', computed: true }),
    ipv4_addresses: texts({ doc: 'Reachable IPv4 addresses.', computed: true }),
    ipv6_addresses: texts({ doc: 'Reachable IPv6 addresses.', computed: true }),
  },
  { doc: 'Interfaces, by their names in the container.', computed: true },
);

const facts = {
  description: shownText('Description.'),
  status: shownText('Running, Stopped, Frozen.'),
  running: flag({ doc: 'Whether it runs.', computed: true }),
  architecture: shownText('Architecture.'),
  ephemeral: flag({ doc: 'Whether it is deleted when it stops.', computed: true }),
  profiles: texts({ doc: 'Its profiles.', computed: true }),
  location: shownText('Cluster member of the container.'),
  created_at: shownText('Time of creation.'),
  ipv4_address: shownText('Its first reachable IPv4 address.'),
  ipv6_address: shownText('Its first reachable IPv6 address.'),
  mac_address: shownText('MAC address of its first interface.'),
} as const;

type Seen = Container & { readonly state?: ContainerState | null };

function factsOf(live: Seen) {
  const seen = Object.values(interfacesOf(live.state ?? null));
  return {
    description: live.description,
    status: live.status,
    running: isUp(live.status),
    architecture: live.architecture,
    ephemeral: live.ephemeral,
    profiles: live.profiles ?? [],
    location: live.location,
    created_at: live.created_at,
    ipv4_address: seen.flatMap((each) => each.ipv4_addresses)[0] ?? null,
    ipv6_address: seen.flatMap((each) => each.ipv6_addresses)[0] ?? null,
    mac_address: seen[0]?.mac_address ?? null,
  };
}

async function readOne(context: Context<Link>, name: string): Promise<Seen> {
  const live = await find<Container>(context, 'container', name, `/1.0/containers/${encodeURIComponent(name)}`);
  if (!isUp(live.status)) return live;
  return { ...live, state: (await context.client.client.containerState(name, context.signal)).metadata };
}

export const containerData = gantryData({
  typeName: 'gantry_container',
  doc: 'A container, with its state and addresses.',
  attributes: {
    name: nameToFind('container'),
    ...facts,
    config: textMap({ doc: 'Its own config.', computed: true }),
    devices: shownTextMaps({ doc: 'Its own devices.', computed: true }),
    expanded_config: textMap({ doc: 'Config of its profiles and its own, merged.', computed: true }),
    expanded_devices: shownTextMaps({ doc: 'Devices of its profiles and its own, merged.', computed: true }),
    interfaces,
  },
  async read({ name }, context) {
    const live = await readOne(context, name);
    const secret = writeOnlyNames(live.config);
    return {
      ...factsOf(live),
      config: shownMap(withoutWriteOnly(live.config, secret)),
      devices: shownMaps(live.devices ?? {}),
      expanded_config: shownMap(withoutWriteOnly(live.expanded_config ?? {}, secret)),
      expanded_devices: shownMaps(live.expanded_devices ?? {}),
      interfaces: interfacesOf(live.state ?? null),
    };
  },
});

export const containersData = gantryData({
  typeName: 'gantry_containers',
  doc: 'All containers, or those that match every given condition.',
  attributes: {
    name_prefix: text({ doc: 'Only containers whose name begins with this.' }),
    status: text({ doc: 'Only containers with this status.' }),
    profile: text({ doc: 'Only containers with this profile.' }),
    config: textMap({ doc: 'Only containers with these config keys and values, profiles included.' }),
    containers: objectMap(facts, { doc: 'The containers, by name.', computed: true }),
  },
  async read({ name_prefix: prefix, status, profile, config }, { client, signal }) {
    const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
    const { metadata } = await client.client.http.send<readonly Seen[] | null>(call, signal);
    const fits = (live: Seen): boolean =>
      (prefix === null || live.name.startsWith(prefix)) &&
      (status === null || live.status === status) &&
      (profile === null || live.profiles.includes(profile)) &&
      Object.entries(config ?? {}).every(([key, value]) => live.expanded_config[key] === value);
    const found = (metadata ?? []).filter(fits).map((live) => [live.name, factsOf(live)] as const);
    return { containers: Object.fromEntries(found) };
  },
});
