// Data sources of images, profiles, networks with their ACLs and leases, storage pools and projects.
import { isNotServed } from '../../server/client/client-error.ts';
import { image, network, networkLeases, profile, project, storagePool } from '../../server/client/facts/objects.ts';
import { networkAcl } from '../../server/client/facts/network-acl.ts';
import { lacking } from '../connection/link.ts';
import { flag, integer, objects, text, shownTextMaps, textMap, texts } from '../framework/attribute.ts';
import { shownRulesAttribute } from '../resources/network-acl-rules.ts';
import { gantryData, serverWideData } from '../resources/shared/common-attributes.ts';
import { find, nameToFind, shownText } from './read-existing.ts';

const description = shownText('Description.');
const config = textMap({ doc: 'Config as the server has it.', computed: true });
const usedBy = texts({ doc: 'URLs of the objects that use it.', computed: true });

export const imageData = gantryData({
  typeName: 'gantry_image',
  doc: 'An image in the store of the server, by alias or fingerprint.',
  attributes: {
    alias: text({ doc: 'Alias to look for.' }),
    fingerprint: text({ doc: 'Fingerprint, or its beginning.', optional: true, computed: true }),
    aliases: texts({ doc: 'All its aliases.', computed: true }),
    architecture: shownText('Architecture.'),
    public: flag({ doc: 'Whether untrusted clients may fetch it.', computed: true }),
    properties: textMap({ doc: 'Properties.', computed: true }),
    size_bytes: integer({ doc: 'Size of its files in bytes.', computed: true }),
    created_at: shownText('Time of creation.'),
    uploaded_at: shownText('Time of the upload to this server.'),
  },
  read: (config, context) =>
    find(context, config.alias === null ? 'image' : 'image alias', config.alias ?? config.fingerprint ?? '', (ask) =>
      image(ask, config),
    ),
});

export const profileData = gantryData({
  typeName: 'gantry_profile',
  doc: 'A profile.',
  attributes: {
    name: nameToFind('profile'),
    description,
    config,
    devices: shownTextMaps({ doc: 'Devices.', computed: true }),
    used_by: usedBy,
  },
  read: (config, context) => find(context, 'profile', config.name, (ask) => profile(ask, config)),
});

export const networkData = gantryData({
  typeName: 'gantry_network',
  doc: 'A network, managed or not.',
  attributes: {
    name: nameToFind('network'),
    description,
    type: shownText('Type of the network.'),
    managed: flag({ doc: 'Whether the server manages it.', computed: true }),
    config,
    ipv4_address: shownText('IPv4 address of the server in it.'),
    ipv6_address: shownText('IPv6 address of the server in it.'),
    used_by: usedBy,
    locations: texts({ doc: 'Cluster members that have it.', computed: true }),
  },
  read: (config, context) => find(context, 'network', config.name, (ask) => network(ask, config)),
});

export const networkAclData = gantryData({
  typeName: 'gantry_network_acl',
  doc: 'A network ACL and its rules.',
  attributes: {
    name: nameToFind('network ACL'),
    description,
    config,
    ingress: shownRulesAttribute('Rules for what comes to the containers of a network.'),
    egress: shownRulesAttribute('Rules for what the containers of a network send.'),
    used_by: usedBy,
  },
  read: (config, context) => find(context, 'network ACL', config.name, (ask) => networkAcl(ask, config)),
});

const lease = {
  hostname: text({ doc: 'Name of the holder.', computed: true }),
  mac_address: text({ doc: 'MAC address of the holder.', computed: true }),
  address: text({ doc: 'The address.', computed: true }),
  type: text({ doc: 'static, dynamic or gateway.', computed: true }),
  location: text({ doc: 'Cluster member.', computed: true }),
};

export const networkLeasesData = gantryData({
  typeName: 'gantry_network_leases',
  doc: 'The address leases of a network.',
  attributes: { network: nameToFind('network'), leases: objects(lease, { doc: 'The leases.', computed: true }) },
  read: (config, context) => find(context, 'network', config.network, (ask) => networkLeases(ask, config)),
});

export const storagePoolData = serverWideData({
  typeName: 'gantry_storage_pool',
  doc: 'A storage pool and its space.',
  attributes: {
    name: nameToFind('storage pool'),
    description,
    driver: shownText('Driver.'),
    config,
    status: shownText('Created, Pending, Errored.'),
    used_by: usedBy,
    space_used_bytes: integer({ doc: 'Used space.', computed: true }),
    space_total_bytes: integer({ doc: 'Total space.', computed: true }),
  },
  read: (config, context) => find(context, 'storage pool', config.name, (ask) => storagePool(ask, config)),
});

export const projectData = serverWideData({
  typeName: 'gantry_project',
  doc: 'A project. The server must support projects.',
  attributes: { name: nameToFind('project'), description, config, used_by: usedBy },
  async read({ name }, context) {
    try {
      return await find(context, 'project', name, (ask) => project(ask, { name }));
    } catch (error) {
      if (!isNotServed(error)) throw error;
      throw lacking(context.client, 'have projects', error.message, error);
    }
  },
});
