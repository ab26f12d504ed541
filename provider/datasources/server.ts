// Data sources of the server: its properties, the resources of its host, and its cluster.
import type { Static } from 'typebox';
import type { Cluster, ClusterMember } from '../../server/api/cluster/cluster.ts';
import type { Resources } from '../../server/api/server/server.ts';
import { isClustered } from '../connection/link.ts';
import { flag, integer, objects, text, textMap, texts } from '../framework/attribute.ts';
import { serverWideData } from '../resources/shared/common-attributes.ts';
import { shownText } from './read-existing.ts';

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
  async read(_config, { client, signal }) {
    const { metadata } = await client.client.server(signal);
    const { environment, config } = metadata;
    return {
      name: environment.server_name,
      version: environment.server_version,
      api_version: metadata.api_version,
      api_extensions: metadata.api_extensions,
      clustered: environment.server_clustered,
      addresses: environment.addresses ?? [],
      architectures: environment.architectures,
      certificate_fingerprint: environment.certificate_fingerprint,
      kernel: environment.kernel,
      kernel_version: environment.kernel_version,
      driver: environment.driver,
      storage: environment.storage,
      config: Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)])),
    };
  },
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
  async read(_config, { client, signal }) {
    const call = { method: 'GET', path: '/1.0/resources' } as const;
    const { cpu, memory } = (await client.client.http.send<Resources>(call, signal)).metadata;
    return {
      cpu_total: cpu.total,
      memory_total_bytes: memory.total,
      memory_used_bytes: memory.used,
      cpu_names: cpu.sockets.map(({ name }) => name ?? ''),
    };
  },
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
  async read(_config, { client, signal }) {
    if (!isClustered(client)) return { enabled: false, server_name: '', members: [] };
    const { http } = client.client;
    const cluster = await http.send<Static<typeof Cluster>>({ method: 'GET', path: '/1.0/cluster' }, signal);
    const call = { method: 'GET', path: '/1.0/cluster/members', query: { recursion: 1 } } as const;
    const { metadata } = await http.send<readonly Static<typeof ClusterMember>[]>(call, signal);
    return {
      enabled: true,
      server_name: cluster.metadata.server_name,
      members: metadata.map(({ server_name: name, url, status, database }) => ({ name, url, status, database })),
    };
  },
});
