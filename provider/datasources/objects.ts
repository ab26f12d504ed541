// Data sources of images, profiles, networks with their leases, storage pools and projects.
import type { Static } from 'typebox';
import type { Project } from '../../server/api/project/project.ts';
import type { Image, ImageAlias } from '../../server/api/image/image.ts';
import type { Network } from '../../server/api/network/network.ts';
import type { PoolResources, StoragePool } from '../../server/api/storage/pool.ts';
import type { Profile } from '../../server/api/container/profile.ts';
import { isNotServed } from '../../server/client/client-error.ts';
import { lacking } from '../connection/link.ts';
import { flag, integer, objects, text, shownTextMaps, textMap, texts } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { addressIn } from '../resources/network.ts';
import { gantryData, serverWideData, shownMap, shownMaps } from '../resources/shared/common-attributes.ts';
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
  async read({ alias, fingerprint }, context) {
    if ((alias === null) === (fingerprint === null)) {
      throw new DiagnosticError([
        failure('The image is ambiguous or missing', 'Give exactly one of alias and fingerprint.'),
      ]);
    }
    const named =
      alias === null
        ? (fingerprint ?? '')
        : (await find<ImageAlias>(context, 'image alias', alias, `/1.0/images/aliases/${encodeURIComponent(alias)}`))
            .target;
    const live = await find<Image>(context, 'image', named, `/1.0/images/${encodeURIComponent(named)}`);
    return {
      fingerprint: live.fingerprint,
      aliases: live.aliases.map(({ name }) => name),
      architecture: live.architecture,
      public: live.public,
      properties: shownMap(live.properties),
      size_bytes: live.size,
      created_at: live.created_at,
      uploaded_at: live.uploaded_at,
    };
  },
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
  async read({ name }, context) {
    const live = await find<Profile>(context, 'profile', name, `/1.0/profiles/${encodeURIComponent(name)}`);
    return {
      description: live.description,
      config: shownMap(live.config),
      devices: shownMaps(live.devices),
      used_by: live.used_by ?? [],
    };
  },
});

const networkPath = (name: string): string => `/1.0/networks/${encodeURIComponent(name)}`;

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
  async read({ name }, context) {
    const live = await find<Network>(context, 'network', name, networkPath(name));
    return {
      description: live.description,
      type: live.type,
      managed: live.managed,
      config: shownMap(live.config),
      ipv4_address: addressIn(live, 'ipv4'),
      ipv6_address: addressIn(live, 'ipv6'),
      used_by: live.used_by ?? [],
      locations: live.locations ?? [],
    };
  },
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
  attributes: {
    network: nameToFind('network'),
    leases: objects(lease, { doc: 'The leases.', computed: true }),
  },
  async read({ network }, context) {
    await find<Network>(context, 'network', network, networkPath(network));
    const found = await context.client.client.networkLeases(network, context.signal);
    return { leases: found.map(({ hwaddr, ...rest }) => ({ mac_address: hwaddr, ...rest })) };
  },
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
  async read({ name }, context) {
    const path = `/1.0/storage-pools/${encodeURIComponent(name)}`;
    const live = await find<StoragePool>(context, 'storage pool', name, path);
    const { space } = await find<Static<typeof PoolResources>>(context, 'storage pool', name, `${path}/resources`);
    return {
      description: live.description,
      driver: live.driver,
      config: shownMap(live.config),
      status: live.status,
      used_by: live.used_by ?? [],
      space_used_bytes: space.used,
      space_total_bytes: space.total,
    };
  },
});

export const projectData = serverWideData({
  typeName: 'gantry_project',
  doc: 'A project. The server must support projects.',
  attributes: { name: nameToFind('project'), description, config, used_by: usedBy },
  async read({ name }, context) {
    try {
      const path = `/1.0/projects/${encodeURIComponent(name)}`;
      const live = await find<Static<typeof Project>>(context, 'project', name, path);
      return { description: live.description, config: shownMap(live.config), used_by: live.used_by ?? [] };
    } catch (error) {
      if (!isNotServed(error)) throw error;
      throw lacking(context.client, 'have projects', error.message, error);
    }
  },
});
