// Data sources of containers: one with its state, or all that match.
import { container, containers } from '../../server/client/facts/containers.ts';
import { flag, objectMap, shownTextMaps, text, textMap, texts } from '../framework/attribute.ts';
import { gantryData } from '../resources/shared/common-attributes.ts';
import { askIn, find, nameToFind, shownText } from './read-existing.ts';

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
  read: (config, context) => find(context, 'container', config.name, (ask) => container(ask, config)),
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
  read: (config, context) => containers(askIn(context), config),
});
