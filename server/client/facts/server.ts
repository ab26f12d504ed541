// The facts of a server in Terraform's data sources: its properties, the resources of its host, and its cluster.
import type { Static } from 'typebox';
import type { Cluster, ClusterMember } from '../../api/cluster/cluster.ts';
import type { Resources } from '../../api/server/server.ts';
import { get, type Ask } from './ask.ts';

export async function server({ client, signal }: Ask) {
  const { metadata } = await client.server(signal);
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
}

export async function resources(ask: Ask) {
  const { cpu, memory } = await get<Resources>(ask, '/1.0/resources');
  return {
    cpu_total: cpu.total,
    memory_total_bytes: memory.total,
    memory_used_bytes: memory.used,
    cpu_names: cpu.sockets.map(({ name }) => name ?? ''),
  };
}

export async function cluster(ask: Ask) {
  const { metadata } = await ask.client.server(ask.signal);
  if (!metadata.environment.server_clustered) return { enabled: false, server_name: '', members: [] };
  const { server_name: name } = await get<Static<typeof Cluster>>(ask, '/1.0/cluster');
  const members = await get<readonly Static<typeof ClusterMember>[]>(ask, '/1.0/cluster/members', { recursion: 1 });
  return {
    enabled: true,
    server_name: name,
    members: members.map(({ server_name: member, url, status, database }) => ({ name: member, url, status, database })),
  };
}
