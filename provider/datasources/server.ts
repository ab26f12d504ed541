// Data sources of the server: its properties, the resources of its host, and its cluster.
import { cluster, resources, server } from '../../server/client/facts/server.ts';
import { flag, integer, objects, text, textMap, texts } from '../framework/attribute.ts';
import { serverWideData } from '../resources/shared/common-attributes.ts';
import { askIn, shownText } from './read-existing.ts';

export const serverData = serverWideData({
  typeName: 'gantry_server',
  doc: 'The server: its version, extensions, config and host.',
  attributes: {
    name: shownText('Name of the server.'),
    version: shownText('Version of the server.'),
    api_version: shownText('Version of its API.'),
    api_extensions: texts({ doc: 'API extensions that it supports.', computed: true }),
    clustered: flag({ doc: 'Whether it belongs to a cluster.', computed: true }),
    addresses: texts({ doc: 'Addresses it listens on.', computed: true }),
    architectures: texts({ doc: 'Architectures it runs.', computed: true }),
    certificate_fingerprint: shownText('SHA-256 fingerprint of its certificate.'),
    kernel: shownText('Kernel of the host.'),
    kernel_version: shownText('Version of the kernel.'),
    driver: shownText('Runtime of its containers.'),
    storage: shownText('Its storage drivers in use.'),
    config: textMap({ doc: 'Its config; hidden values show as true.', computed: true }),
  },
  read: (_config, context) => server(askIn(context)),
});

export const resourcesData = serverWideData({
  typeName: 'gantry_resources',
  doc: 'CPU and memory of the host.',
  attributes: {
    cpu_total: integer({ doc: 'Threads of all CPUs.', computed: true }),
    memory_total_bytes: integer({ doc: 'Memory.', computed: true }),
    memory_used_bytes: integer({ doc: 'Memory in use.', computed: true }),
    cpu_names: texts({ doc: 'Models of the CPUs, one for each socket.', computed: true }),
  },
  read: (_config, context) => resources(askIn(context)),
});

const member = {
  name: text({ doc: 'Name.', computed: true }),
  url: text({ doc: 'Address.', computed: true }),
  status: text({ doc: 'Online, Offline.', computed: true }),
  database: flag({ doc: 'Whether it holds a copy of the database.', computed: true }),
};

export const clusterData = serverWideData({
  typeName: 'gantry_cluster',
  doc: 'The cluster of the server, and its members. `enabled` is false for a server outside a cluster.',
  attributes: {
    enabled: flag({ doc: 'Whether the server belongs to a cluster.', computed: true }),
    server_name: shownText('Name of this server in it.'),
    members: objects(member, { doc: 'The members.', computed: true }),
  },
  read: (_config, context) => cluster(askIn(context)),
});
