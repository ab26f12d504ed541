// Reads the live world in one list call a kind, all at once; judges nothing.
import { isDeaf } from '../../core/kinds/server-config.ts';
import { hasExtension } from '../../../server/api/server/capability.ts';
import { isMemberKey, type MemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import type { Server } from '../../../server/api/server/server.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { dialectOf, type Client } from '../../../server/client/client.ts';
import type { ClientKind, KindTypes } from '../../../server/client/kind-paths.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Live, Observed } from '../../core/documents/observed.ts';
import { scopesOf } from '../../core/live/project-scope.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { readSetStates } from '../../core/ownership/set-state.ts';

/** All that looking at a server takes: nothing that writes. */
export interface ObservedClient extends Pick<Client, 'list' | 'server' | 'get' | 'members'> {
  inProject(project: string): ObservedClient;
}

/** What a project can have for itself. */
type InProject = Pick<Observed, 'containers' | 'profiles' | 'networks' | 'images' | 'aliases' | 'volumes'>;

/**
 * One call a kind, one a pool for its volumes; on servers with projects the same for each project. ETags are not among the answers of
 * lists: a step reads its object again before it changes it. `base`: the project of the client.
 */
export async function observe(client: ObservedClient, signal?: AbortSignal, base = 'default'): Promise<Observed> {
  const seen = client.server(signal);
  const listed = lister(client, signal);
  const [server, projects, pools, certificates, own] = await Promise.all([
    seen,
    // Other servers answer that they do not know the path.
    seen.then(({ metadata }) =>
      hasExtension(metadata.api_extensions, 'projects') ? listed('project', byName).catch(unserved) : noProjects,
    ),
    listed('storage_pool', byName),
    listed('certificate', (certificate) => certificate.fingerprint),
    contents(listed),
  ]);
  const world: Observed = {
    ...withUnserved(serverPart(server), projects === undefined ? ['projects'] : []),
    ...own,
    pools,
    certificates,
    projects: projects ?? noProjects,
    ...(base === 'default' ? {} : { base }),
    ...(await ofMembers(client, server, pools, own.networks, signal)),
  };
  const others = [...world.projects.keys()].filter((name) => name !== base);
  const found = await Promise.all(others.map((name) => contentsOfOther(client, world, name, signal)));
  return found.reduce<Observed>(merged, world);
}

/** In a cluster each member has config of its own, which only the member itself tells. */
async function ofMembers(
  client: ObservedClient,
  { metadata }: Reply<Server>,
  pools: Observed['pools'],
  networks: Observed['networks'],
  signal: AbortSignal | undefined,
): Promise<Partial<Pick<Observed, 'members' | 'pools' | 'networks'>>> {
  const environment: Partial<Server['environment']> | undefined = metadata.environment;
  if (environment?.server_clustered !== true) return {};
  const members = await client.members(signal);
  const withConfigs = async <T extends { readonly name: string }>(
    kind: MemberKind,
    objects: ReadonlyMap<string, Live<T>>,
  ): Promise<ReadonlyMap<string, Live<T>>> => {
    const read = async (name: string, member: string): Promise<readonly (readonly [string, object])[]> => {
      // One that is away says nothing.
      const reply = await client.get(kind, name, signal, member).catch(() => undefined);
      const config = Object.entries(reply?.metadata.config ?? {}).filter(([key]) => isMemberKey(kind, key));
      return reply === undefined ? [] : [[member, Object.fromEntries(config)]];
    };
    const found = await Promise.all(
      [...objects].map(async ([name, live]) => {
        const parts = await Promise.all(members.map((member) => read(name, member)));
        const object = { ...live.object, member_overrides: Object.fromEntries(parts.flat()) };
        return [name, { ...live, object }] as const;
      }),
    );
    return new Map(found);
  };
  const managed = new Map([...networks].filter(([, { object }]) => object.managed));
  const [ownPools, ownNetworks] = await Promise.all([
    withConfigs('storage_pool', pools),
    withConfigs('network', managed),
  ]);
  return { members, pools: ownPools, networks: new Map([...networks, ...ownNetworks]) };
}

const noProjects: Observed['projects'] = new Map();

function unserved(error: unknown): undefined {
  if (error instanceof ClientError && error.status === 501) return undefined;
  throw error;
}

type ServerPart = Pick<Observed, 'server' | 'sets'>;

const withUnserved = (part: ServerPart, names: readonly string[]): ServerPart =>
  names.length === 0 ? part : { ...part, server: { ...part.server, unserved: names } };

const byName = (object: { readonly name: string }): string => object.name;

type Lister = <K extends ClientKind>(
  kind: K,
  keyOf: (object: KindTypes[K]['object']) => string,
) => Promise<ReadonlyMap<string, Live<KindTypes[K]['object']>>>;

const lister =
  (client: ObservedClient, signal: AbortSignal | undefined): Lister =>
  async (kind, keyOf) =>
    new Map((await client.list(kind, signal)).map((object) => [keyOf(object), { object }]));

async function contents(listed: Lister): Promise<InProject> {
  const [containers, profiles, networks, images, aliases, volumes] = await Promise.all([
    listed('container', byName),
    listed('profile', byName),
    listed('network', byName),
    listed('image', (image) => image.fingerprint),
    listed('image_alias', byName),
    listed('storage_volume', ({ pool, name }) => `${pool}/${name}`),
  ]);
  return { containers, profiles, networks, images, aliases, volumes };
}

/** Under names with their project; of kinds that it shares with `default` nothing. One that is gone meanwhile has nothing. */
async function contentsOfOther(
  client: ObservedClient,
  world: Observed,
  project: string,
  signal: AbortSignal | undefined,
): Promise<InProject> {
  const { hasOwn } = scopesOf(world);
  const listed: Lister = async (kind, keyOf) => {
    if (!hasOwn(kind, project)) return new Map();
    const objects = await client.inProject(project).list(kind, signal).catch(notThere);
    return new Map(objects.map((object) => [scopedName(keyOf(object), project), { object: { ...object, project } }]));
  };
  const found = await contents(listed);
  // Interfaces of the host are everybody's.
  const managed = new Map([...found.networks].filter(([, { object }]) => object.managed));
  return { ...found, networks: managed };
}

/** It went, or this client may not look into it. */
function notThere(error: unknown): readonly never[] {
  if (error instanceof ClientError && (error.status === 404 || error.status === 403)) return [];
  throw error;
}

const merged = (world: Observed, other: InProject): Observed => ({
  ...world,
  containers: new Map([...world.containers, ...other.containers]),
  profiles: new Map([...world.profiles, ...other.profiles]),
  networks: new Map([...world.networks, ...other.networks]),
  images: new Map([...world.images, ...other.images]),
  aliases: new Map([...world.aliases, ...other.aliases]),
  volumes: new Map([...world.volumes, ...other.volumes]),
});

/** The server object as a plan sees it, with what the sets left in its config. */
export function serverPart({ metadata, etag }: Reply<Server>): Pick<Observed, 'server' | 'sets'> {
  const config: Server['config'] | undefined = metadata.config;
  return {
    server: {
      extensions: metadata.api_extensions,
      ...(config === undefined ? {} : { config }),
      ...(etag === undefined ? {} : { etag }),
      ...(isDeaf(metadata) ? { isDeaf: true } : {}),
      ...(dialectOf(metadata) === 'lxd' ? { lacksSnapshotDescriptions: true } : {}),
    },
    sets: readSetStates(config ?? {}),
  };
}
