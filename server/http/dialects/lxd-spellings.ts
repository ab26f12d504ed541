// PURE: what the same thing is called, or looks like, in answers of real LXD servers.
import { lxdExtensions } from '../../api/server/extensions.ts';
import { keepDerived } from '../../lib/cached-json.ts';

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Words = (metadata: unknown) => unknown;

/** By endpoint; what is not here is the same in both dialects. */
const words: Readonly<Record<string, Words>> = {
  'server.get': serverWords,
  'resources.get': resourcesWords,
  'operations.get': operationWords,
  'operations.wait': operationWords,
  'containers.list': listOf(typed),
  'containers.get': typed,
  'images.list': listOf(typed),
  'images.get': typed,
  'profiles.list': listOf(described),
  'profiles.get': described,
  'volumes.list': listOf(ofFiles),
  'volumes.listType': listOf(ofFiles),
  'volumes.get': ofFiles,
};

export function inWordsOfLxd(endpointId: string, metadata: unknown): unknown {
  return words[endpointId]?.(metadata) ?? metadata;
}

/** Clients take the name of a backup from a URL that no object is at (real system section 5). */
export function operationWords(operation: unknown): unknown {
  if (!isRecord(operation) || !isRecord(operation['resources'])) return operation;
  const { backups } = operation['resources'];
  if (!Array.isArray(backups)) return operation;
  // Clients add the project of their connection to it.
  const named = backups.map((url: unknown) => `/1.0/backups/${String(url).split('?')[0]?.split('/').at(-1) ?? ''}`);
  return { ...operation, resources: { ...operation['resources'], backups: named } };
}

/** Lists are of URLs or of objects. */
function listOf(word: Words): Words {
  const ofList = keepDerived((list: readonly unknown[]) => list.map((item) => word(item)));
  return (list) => (Array.isArray(list) ? ofList(list) : list);
}

/** Later releases have virtual machines, too, and clients of theirs ask. */
export function typed(object: unknown): unknown {
  return isRecord(object) ? typedRecord(object) : object;
}

const typedRecord = keepDerived((object) => ({ ...object, type: 'container' }));

/** Scripts know the profile that nobody has described yet by these words. */
function described(profile: unknown): unknown {
  if (!isRecord(profile) || profile['name'] !== 'default') return profile;
  const [, project] = /^Default profile(?: of the project (.+))?$/.exec(String(profile['description'])) ?? [];
  if (profile['description'] === 'Default profile') return { ...profile, description: 'Default LXD profile' };
  return project === undefined ? profile : { ...profile, description: `Default LXD profile for project ${project}` };
}

/** Later releases have volumes of blocks, too. */
function ofFiles(volume: unknown): unknown {
  return isRecord(volume) ? { ...volume, content_type: 'filesystem' } : volume;
}

/** A server of this name is taken for one by clients that know several kinds. */
function serverWords(server: unknown): unknown {
  return isRecord(server) ? serverRecord(server) : server;
}

const serverRecord = keepDerived((server: Fields) => {
  const environment = isRecord(server['environment']) ? { ...server['environment'], server: 'lxd' } : undefined;
  if (environment !== undefined) Reflect.deleteProperty(environment, 'event_loop');
  return {
    ...server,
    api_extensions: lxdExtensions,
    auth: server['auth'] === 'trusted' ? 'trusted' : 'untrusted',
    ...(environment === undefined ? {} : { environment }),
  };
});

/** The newer shape: cores and threads as objects. Which thread is of which core is made up from their counts. */
function resourcesWords(resources: unknown): unknown {
  if (!isRecord(resources) || !isRecord(resources['cpu'])) return resources;
  const { sockets, total } = resources['cpu'];
  let next = 0;
  const shown = (Array.isArray(sockets) ? sockets : []).map((socket: Fields) => {
    const cores = Math.max(1, Number(socket['cores']));
    const each = Math.max(1, Math.round(Number(socket['threads']) / cores));
    return {
      name: socket['name'],
      vendor: socket['vendor'],
      socket: socket['socket'],
      frequency: socket['frequency'],
      frequency_turbo: socket['frequency_turbo'],
      cores: Array.from({ length: cores }, (_none, core) => ({
        core,
        frequency: socket['frequency'],
        threads: Array.from({ length: each }, (_ignored, thread) => ({
          id: next++,
          thread,
          numa_node: socket['numa_node'],
          online: true,
        })),
      })),
    };
  });
  return { ...resources, cpu: { sockets: shown, total } };
}
