// Reads the data for a dry-run copy of a server: the observed state of the plan, and the few facts that only a copy needs.
// Sends only GET requests.
import type { Resources, Server } from '../../../server/api/server/server.ts';
import type { Snapshot } from '../../../server/api/container/snapshot.ts';
import { defaultProject, qualifiedName } from '../../../server/api/project/project-names.ts';
import type { InProject, ServerContents, ServerHost } from '../../../server/api/server/server-contents.ts';
import { dialectOf, type Client } from '../../../server/client/client.ts';
import { isMap } from '../../core/documents/json-values.ts';
import type { Live, Observed } from '../../core/documents/observed.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { notesIn } from '../../core/ownership/project-notes.ts';
import { runnableArchitectures } from '../../core/live/architectures.ts';
import { projectOfLive } from '../../core/live/project-scope.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** `http` is used only for GET. */
export interface ContentsClient extends Pick<Client, 'server' | 'http'> {
  inProject(project: string): ContentsClient;
}

/** Makes two calls, and one for each container whose snapshots the plan changes. */
export async function readServerContents(
  client: ContentsClient,
  observed: Observed,
  plan: Plan,
  signal: AbortSignal,
): Promise<ServerContents> {
  const objects = <T extends object>(table: ReadonlyMap<string, Live<T>>): readonly InProject<T>[] =>
    [...table.values()].map(({ object }) => ({ ...object, project: homeOf(observed, object) }));
  // A copy has one list of networks for all projects, so it does not get networks of a project.
  const shared = <T extends object>(table: ReadonlyMap<string, Live<T>>): readonly T[] =>
    [...table.values()].map(({ object }) => object).filter((one) => projectOfLive(observed, one) === undefined);
  const [host, snapshots] = await Promise.all([
    readHost(client, observed, signal),
    readSnapshots(client, observed, plan, signal),
  ]);
  return {
    config: notesIn(observed),
    containers: objects(observed.containers),
    snapshots,
    profiles: objects(observed.profiles),
    projects: [...observed.projects.values()].map(({ object }) => object),
    acls: shared(observed.acls),
    networks: shared(observed.networks),
    pools: shared(observed.pools),
    volumes: objects(observed.volumes),
    images: objects(observed.images),
    aliases: objects(observed.aliases),
    certificates: shared(observed.certificates),
    host,
  };
}

const homeOf = (observed: Observed, object: object): string =>
  projectOfLive(observed, object) ?? observed.base ?? defaultProject;

async function readHost(client: ContentsClient, observed: Observed, signal: AbortSignal): Promise<ServerHost> {
  const [{ metadata }, resources] = await Promise.all([
    client.server(signal),
    client.http
      .send<Partial<Resources>>({ method: 'GET', path: '/1.0/resources' }, signal)
      .then((reply) => reply.metadata)
      .catch((): Partial<Resources> => {
        signal.throwIfAborted();
        return {};
      }),
  ]);
  const { cpu, memory } = resources;
  const architectures = runnableArchitectures(observed);
  return {
    poolDrivers: poolDriversOf(metadata),
    ...withoutUndefined({ architectures }),
    ...(cpu === undefined ? {} : { cpus: cpu.total }),
    ...(memory === undefined ? {} : { memoryBytes: memory.total }),
  };
}

/** The storage drivers that the server lists. gantryd always has the built-in ones, or explains on use why not. */
function poolDriversOf(server: Server): readonly string[] {
  const environment: Readonly<Record<string, unknown>> = { ...(server.environment as object | undefined) };
  const { storage = '', storage_supported_drivers: supported = [] } = environment;
  const inUse = typeof storage === 'string' ? storage.split(/[ |]+/).filter((name) => name !== '') : [];
  const offered = (Array.isArray(supported) ? supported : []).map((one) => {
    const named = isMap(one) ? (one['Name'] ?? one['name']) : one;
    return typeof named === 'string' ? named : '';
  });
  return [...new Set([...inUse, ...offered, ...(dialectOf(server) === 'svc' ? ['dir', 'btrfs'] : ['dir'])])];
}

async function readSnapshots(
  client: ContentsClient,
  observed: Observed,
  plan: Plan,
  signal: AbortSignal,
): Promise<ServerContents['snapshots']> {
  const names = new Set(plan.steps.filter(({ action }) => action === 'snapshot').map(({ name }) => name));
  const found: Record<string, readonly Snapshot[]> = {};
  for (const name of names) {
    const live = observed.containers.get(name);
    if (live === undefined) continue;
    const project = homeOf(observed, live.object);
    const path = `/1.0/containers/${encodeURIComponent(live.object.name)}/snapshots`;
    const reply = await client
      .inProject(project)
      .http.send<readonly Snapshot[] | null>({ method: 'GET', path, query: { recursion: 1 } }, signal);
    found[qualifiedName(project, live.object.name)] = reply.metadata ?? [];
  }
  return found;
}
