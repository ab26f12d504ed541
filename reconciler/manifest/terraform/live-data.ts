// Reads data sources of the gantry provider through the API when a plan is made, with the same members as the provider's.
import type { Static } from 'typebox';
import type { Cluster, ClusterMember } from '../../../server/api/cluster/cluster.ts';
import type { Project } from '../../../server/api/project/project.ts';
import type { Container, ContainerState } from '../../../server/api/container/container.ts';
import type { Image, ImageAlias } from '../../../server/api/image/image.ts';
import type { Network } from '../../../server/api/network/network.ts';
import type { PoolResources, StoragePool } from '../../../server/api/storage/pool.ts';
import type { StorageVolume } from '../../../server/api/storage/volume.ts';
import type { Certificate } from '../../../server/api/server/certificate.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import type { Resources } from '../../../server/api/server/server.ts';
import type { Client } from '../../../server/client/client.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import { fromJson } from '../terraform-json/expression/json-text.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

type Members = Readonly<Record<string, unknown>>;
type TextMap = Readonly<Record<string, string>>;

/** Every request gets an answer; a refusal of the server is an answer, too. */
export async function readData(
  client: Client,
  requests: readonly DataRequest[],
  signal?: AbortSignal,
): Promise<readonly DataAnswer[]> {
  const answers: DataAnswer[] = [];
  for (const request of requests) answers.push(await answerTo(client, request, signal));
  return answers;
}

async function answerTo(client: Client, request: DataRequest, signal?: AbortSignal): Promise<DataAnswer> {
  const { remote, project: own } = request.args;
  if (typeof remote === 'string' && remote !== '') {
    return {
      error: `it is on the remote ${remote}: a plan covers one server, which --host names`,
      isMissing: false,
    };
  }
  const project = typeof own === 'string' && own !== '' ? own : request.project;
  const there = project === undefined ? client : client.inProject(project);
  const reader = readers[request.type];
  if (reader === undefined) return { error: `there is no data source ${request.type}`, isMissing: false };
  try {
    return { value: fromJson(await reader({ client: there, args: request.args, signal })) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!isNotFound(error) && !(error instanceof DataError)) {
      const why = reasonOf(error);
      return { error: `${client.host} cannot be asked: ${why}`, isMissing: false };
    }
    return { error: (error as Error).message, isMissing: isNotFound(error) };
  }
}

/** Arguments that name nothing. */
class DataError extends Error {
  override readonly name = 'DataError';
}

interface DataRead {
  readonly client: Client;
  readonly args: JsonObject;
  readonly signal: AbortSignal | undefined;
}

const get = async <T>(
  { client, signal }: DataRead,
  path: string,
  query?: Readonly<Record<string, number>>,
): Promise<T> =>
  (await client.http.send<T>({ method: 'GET', path, ...(query === undefined ? {} : { query }) }, signal)).metadata;

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);
const at = (collection: string, name: Json | undefined): string =>
  `/1.0/${collection}/${encodeURIComponent(textOf(name) ?? '')}`;

/** Empty values count as absent. */
const present = (map: TextMap | undefined): TextMap =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([, value]) => value !== ''));
const presentMaps = (maps: Readonly<Record<string, TextMap>> | undefined): Members =>
  Object.fromEntries(Object.entries(maps ?? {}).map(([name, map]) => [name, present(map)]));

type Seen = Container & { readonly state?: ContainerState | null };
const isUp = (status: string): boolean => status !== 'Stopped' && status !== 'Error';

function interfacesOf(state: ContainerState | null | undefined) {
  const names = Object.keys(state?.network ?? {}).filter((name) => name !== 'lo');
  return Object.fromEntries(
    names.toSorted().map((name) => {
      const { addresses, hwaddr } = state?.network?.[name] ?? { addresses: [], hwaddr: '' };
      const global = (family: string): readonly string[] =>
        addresses.filter((each) => each.scope === 'global' && each.family === family).map(({ address }) => address);
      const mac = hwaddr === '' ? null : hwaddr;
      return [name, { mac_address: mac, ipv4_addresses: global('inet'), ipv6_addresses: global('inet6') }] as const;
    }),
  );
}

function factsOf(live: Seen): Members {
  const seen = Object.values(interfacesOf(live.state));
  return {
    description: live.description,
    status: live.status,
    running: isUp(live.status),
    architecture: live.architecture,
    ephemeral: live.ephemeral,
    profiles: live.profiles,
    location: live.location,
    created_at: live.created_at,
    ipv4_address: seen.flatMap((each) => each.ipv4_addresses)[0] ?? null,
    ipv6_address: seen.flatMap((each) => each.ipv6_addresses)[0] ?? null,
    mac_address: seen[0]?.mac_address ?? null,
  };
}

/** The address of a network, without the length of its prefix; null: it has none. */
function addressIn(written: string | undefined): string | null {
  const [address = ''] = (written ?? '').split('/');
  return ['', 'none', 'auto'].includes(address) ? null : address;
}

async function container(asked: DataRead): Promise<Members> {
  const name = textOf(asked.args['name']) ?? '';
  const live = await get<Container>(asked, at('containers', name));
  const state = isUp(live.status) ? (await asked.client.containerState(name, asked.signal)).metadata : null;
  return {
    ...factsOf({ ...live, state }),
    config: present(live.config),
    devices: presentMaps(live.devices),
    expanded_config: present(live.expanded_config),
    expanded_devices: presentMaps(live.expanded_devices),
    interfaces: interfacesOf(state),
  };
}

async function containers(asked: DataRead): Promise<Members> {
  const { name_prefix: prefix, status, profile, config } = asked.args;
  const all = await get<readonly Seen[] | null>(asked, '/1.0/containers', { recursion: 2 });
  const wanted = Object.entries((config ?? {}) as JsonObject);
  const fits = (live: Seen): boolean =>
    (textOf(prefix) === null || live.name.startsWith(textOf(prefix) ?? '')) &&
    (textOf(status) === null || live.status === status) &&
    (textOf(profile) === null || live.profiles.includes(textOf(profile) ?? '')) &&
    wanted.every(([key, value]) => live.expanded_config[key] === value);
  return { containers: Object.fromEntries((all ?? []).filter(fits).map((live) => [live.name, factsOf(live)])) };
}

async function image(asked: DataRead): Promise<Members> {
  const [alias, fingerprint] = [textOf(asked.args['alias']), textOf(asked.args['fingerprint'])];
  if ((alias === null) === (fingerprint === null)) throw new DataError('give exactly one of alias and fingerprint');
  const named = alias === null ? fingerprint : (await get<ImageAlias>(asked, at('images/aliases', alias))).target;
  const live = await get<Image>(asked, at('images', named));
  return {
    fingerprint: live.fingerprint,
    aliases: live.aliases.map(({ name }) => name),
    architecture: live.architecture,
    public: live.public,
    properties: present(live.properties),
    size_bytes: live.size,
    created_at: live.created_at,
    uploaded_at: live.uploaded_at,
  };
}

async function storagePool(asked: DataRead): Promise<Members> {
  const path = at('storage-pools', asked.args['name']);
  const live = await get<StoragePool>(asked, path);
  const { space } = await get<Static<typeof PoolResources>>(asked, `${path}/resources`);
  return {
    description: live.description,
    driver: live.driver,
    config: present(live.config),
    status: live.status,
    used_by: live.used_by ?? [],
    space_used_bytes: space.used,
    space_total_bytes: space.total,
  };
}

async function storageVolume(asked: DataRead): Promise<Members> {
  const { pool, name } = asked.args;
  const volumes = `${at('storage-pools', pool)}/volumes/custom`;
  const live = await get<StorageVolume>(asked, `${volumes}/${encodeURIComponent(textOf(name) ?? '')}`);
  return {
    description: live.description,
    config: present(live.config),
    location: live.location ?? '',
    used_by: live.used_by ?? [],
  };
}

async function certificate(asked: DataRead): Promise<Members> {
  const live = await get<Certificate>(asked, at('certificates', asked.args['fingerprint']));
  return {
    name: live.name,
    certificate: live.certificate,
    restricted: live.restricted ?? false,
    projects: live.projects ?? [],
  };
}

async function server({ client, signal }: DataRead): Promise<Members> {
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

async function cluster(asked: DataRead): Promise<Members> {
  const { metadata } = await asked.client.server(asked.signal);
  if (!metadata.environment.server_clustered) return { enabled: false, server_name: '', members: [] };
  const found = await get<Static<typeof Cluster>>(asked, '/1.0/cluster');
  const members = await get<readonly Static<typeof ClusterMember>[]>(asked, '/1.0/cluster/members', { recursion: 1 });
  return {
    enabled: true,
    server_name: found.server_name,
    members: members.map(({ server_name: name, url, status, database }) => ({ name, url, status, database })),
  };
}

const readers: Readonly<Record<string, (asked: DataRead) => Promise<Members>>> = {
  gantry_container: container,
  gantry_containers: containers,
  gantry_image: image,
  async gantry_profile(asked) {
    const live = await get<Profile>(asked, at('profiles', asked.args['name']));
    const { description, config, devices, used_by: users } = live;
    return { description, config: present(config), devices: presentMaps(devices), used_by: users ?? [] };
  },
  async gantry_network(asked) {
    const live = await get<Network>(asked, at('networks', asked.args['name']));
    const { description, type, managed, config, used_by: users, locations } = live;
    return {
      description,
      type,
      managed,
      config: present(config),
      ipv4_address: addressIn(config['ipv4.address']),
      ipv6_address: addressIn(config['ipv6.address']),
      used_by: users ?? [],
      locations: locations ?? [],
    };
  },
  async gantry_network_leases(asked) {
    const name = textOf(asked.args['network']) ?? '';
    await get<Network>(asked, at('networks', name));
    const found = await asked.client.networkLeases(name, asked.signal);
    return { leases: found.map(({ hwaddr, ...rest }) => ({ mac_address: hwaddr, ...rest })) };
  },
  gantry_storage_pool: storagePool,
  gantry_storage_volume: storageVolume,
  async gantry_project(asked) {
    const live = await get<Static<typeof Project>>(asked, at('projects', asked.args['name']));
    const { description, config, used_by: users } = live;
    return { description, config: present(config), used_by: users ?? [] };
  },
  gantry_server: server,
  async gantry_resources(asked) {
    const { cpu, memory } = await get<Resources>(asked, '/1.0/resources');
    return {
      cpu_total: cpu.total,
      memory_total_bytes: memory.total,
      memory_used_bytes: memory.used,
      cpu_names: cpu.sockets.map(({ name }) => name ?? ''),
    };
  },
  gantry_cluster: cluster,
  gantry_certificate: certificate,
};
