// Observes the server with one list call for each kind, all at once. Decides nothing.
import { isDeaf } from '../../core/kinds/server-config.ts';
import { hasExtension } from '../../../server/api/server/capability.ts';
import type { ClusterMember } from '../../../server/api/cluster/cluster.ts';
import { isMemberKey, type MemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import type { Server } from '../../../server/api/server/server.ts';
import { ClientError, isNotServed } from '../../../server/client/client-error.ts';
import { dialectOf, type Client } from '../../../server/client/client.ts';
import { isInProject, kindRow, kinds, listedKinds, nameOfObject, type ListedKind } from '../../../server/api/kinds.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Live, Observed, ObservedMember } from '../../core/documents/observed.ts';
import { scopesOf } from '../../core/live/project-scope.ts';
import { tableWithTwins } from '../../core/live/volumes-of-one-name.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { notesProfile } from '../../core/kinds/notes-profile.ts';
import { joinedStates } from '../../core/ownership/project-notes.ts';
import { readSetStates } from '../../core/ownership/set-state.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** The read-only part of the client. */
export interface ObservedClient extends Pick<Client, 'list' | 'server' | 'get' | 'members'> {
  inProject(project: string): ObservedClient;
}

type Tables = Pick<Observed, (typeof kinds)[ListedKind]['table']>;
const projectKinds = listedKinds.filter(isInProject);

/**
 * Makes one call for each kind and one for each pool, for its volumes; on servers with projects the same for each project. Lists have no
 * ETags: a step reads its object again before it changes it. `base`: the project of the client.
 */
export async function observe(client: ObservedClient, signal?: AbortSignal, base = 'default'): Promise<Observed> {
  const answer = client.server(signal);
  const unserved: string[] = [];
  const list = async (kind: ListedKind): Promise<readonly object[]> => {
    const { since } = kindRow(kind);
    if (since === undefined) return client.list(kind, signal);
    // Other servers answer 404 for the path.
    if (!hasExtension((await answer).metadata.api_extensions, since)) return [];
    return client.list(kind, signal).catch((error: unknown) => {
      if (!isNotServed(error)) throw error;
      unserved.push(since);
      return [];
    });
  };
  const [server, tables] = await Promise.all([answer, readTables(listedKinds, list)]);
  const profile = (tables as Tables).profiles.get(notesProfile)?.object;
  const listed: Observed = {
    ...withUnserved(serverPart(server), unserved),
    ...(tables as Tables),
    ...(base === 'default' ? {} : { base }),
    ...(await ofMembers(client, server, tables as Tables, signal)),
  };
  const world = withProjectNotes(listed, profile?.config);
  const others = [...world.projects.keys()].filter((name) => name !== base);
  if (others.length === 0) return world;
  const found = await Promise.all(others.map((name) => contentsOfOther(client, world, name, signal)));
  return { ...world, ...joined([world, ...found]) };
}

/** Hides the profile with notes from plans, drift reports and exports. */
function withProjectNotes(world: Observed, notes: Readonly<Record<string, string>> | undefined): Observed {
  if (notes === undefined) return world;
  const { base = 'default', server } = world;
  const { hasOwn } = scopesOf(world);
  const profiles = new Map([...world.profiles].filter(([name]) => name !== notesProfile));
  const sets = joinedStates(server.config ?? {}, notes, base, (kind) => hasOwn(kind, base));
  return { ...world, profiles, projectNotes: notes, sets };
}

async function readTables(
  of: readonly ListedKind[],
  list: (kind: ListedKind) => Promise<readonly object[]>,
  keyOf: (name: string) => string = (name) => name,
): Promise<Partial<Tables>> {
  const read = async (kind: ListedKind): Promise<readonly [string, ReadonlyMap<string, Live<object>>]> => {
    const objects = await list(kind);
    return [kinds[kind].table, tableWithTwins(objects.map((object) => [keyOf(nameOfObject(kind, object)), object]))];
  };
  return Object.fromEntries(await Promise.all(of.map(read)));
}

function joined(parts: readonly Partial<Tables>[]): Partial<Tables> {
  const entries = projectKinds.map((kind) => {
    const { table } = kinds[kind];
    const all = parts.map((part): ReadonlyMap<string, Live<object>> => part[table] ?? new Map<string, Live<object>>());
    return [table, new Map(all.flatMap((one) => [...one]))] as const;
  });
  return Object.fromEntries(entries);
}

/** In a cluster each member has its own config, which only that member returns. */
async function ofMembers(
  client: ObservedClient,
  { metadata }: Reply<Server>,
  { pools, networks }: Tables,
  signal: AbortSignal | undefined,
): Promise<Partial<Pick<Observed, 'members' | 'pools' | 'networks'>>> {
  const environment: Partial<Server['environment']> | undefined = metadata.environment;
  if (environment?.server_clustered !== true) return {};
  const listed = await client.members(signal);
  const members = new Map(listed.map((member) => [member.server_name, factsOf(member)]));
  const answering = [...members].filter(([, { status }]) => status !== 'Offline').map(([name]) => name);
  const withConfigs = async <T extends { readonly name: string }>(
    kind: MemberKind,
    objects: ReadonlyMap<string, Live<T>>,
  ): Promise<ReadonlyMap<string, Live<T>>> => {
    const read = async (name: string, member: string): Promise<readonly (readonly [string, object])[]> => {
      // A member that goes offline during the read has no config here.
      const reply = await client.get(kind, name, signal, member).catch(() => undefined);
      const config = Object.entries(reply?.metadata.config ?? {}).filter(([key]) => isMemberKey(kind, key));
      return reply === undefined ? [] : [[member, Object.fromEntries(config)]];
    };
    const found = await Promise.all(
      [...objects].map(async ([name, live]) => {
        const parts = await Promise.all(answering.map((member) => read(name, member)));
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

/** Older servers list no groups. A member with unknown facts is left alone, like an offline one. */
function factsOf({ status, groups, architecture }: Partial<ClusterMember>): ObservedMember {
  return {
    status: status === undefined || status === 'Unknown' ? 'Offline' : status,
    ...withoutUndefined({ groups, architecture }),
  };
}

type ServerPart = Pick<Observed, 'server' | 'sets'>;

const withUnserved = (part: ServerPart, names: readonly string[]): ServerPart =>
  names.length === 0 ? part : { ...part, server: { ...part.server, unserved: names } };

/** Objects under names with their project, without kinds that the project shares with `default`. Empty when the project is gone. */
async function contentsOfOther(
  client: ObservedClient,
  world: Observed,
  project: string,
  signal: AbortSignal | undefined,
): Promise<Partial<Tables>> {
  const { hasOwn } = scopesOf(world);
  const list = async (kind: ListedKind): Promise<readonly object[]> => {
    if (!hasOwn(kind, project)) return [];
    const objects = await client.inProject(project).list(kind, signal).catch(emptyIfMissing);
    return objects.map((object) => ({ ...object, project }));
  };
  const found = await readTables(projectKinds, list, (name) => scopedName(name, project));
  const profiles = new Map([...(found.profiles ?? [])].filter(([, { object }]) => object.name !== notesProfile));
  // Interfaces of the host belong to no project.
  const managed = new Map([...(found.networks ?? [])].filter(([, { object }]) => object.managed));
  return { ...found, profiles, networks: managed };
}

/** The project is gone, or this client may not read it. */
function emptyIfMissing(error: unknown): readonly never[] {
  if (error instanceof ClientError && (error.status === 404 || error.status === 403)) return [];
  throw error;
}

/** The server object for a plan, with the records of the sets from its config. */
export function serverPart({ metadata, etag }: Reply<Server>): Pick<Observed, 'server' | 'sets'> {
  const config: Server['config'] | undefined = metadata.config;
  // A client that is not trusted sees no environment.
  const environment: Server['environment'] | undefined = metadata.environment;
  const architectures = environment?.architectures;
  const drivers = environment?.storage_supported_drivers?.map(({ Name }) => Name);
  return {
    server: {
      extensions: metadata.api_extensions,
      ...withoutUndefined({ config, etag }),
      ...(isDeaf(metadata) ? { isDeaf: true } : {}),
      ...(dialectOf(metadata) === 'lxd' ? { lacksSnapshotDescriptions: true } : { isGantry: true }),
      ...withoutUndefined({ architectures, poolDrivers: drivers }),
    },
    sets: readSetStates(config ?? {}),
  };
}
