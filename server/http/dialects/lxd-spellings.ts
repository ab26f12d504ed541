// Translates names and shapes into those of LXD's answers. Pure.
import { lxdExtensions } from '../../api/server/extensions.ts';
import { statusCodes } from '../../api/status.ts';
import { keepDerived } from '../../lib/cached-json.ts';
import { LongList } from '../../lib/shared/long-list.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Words = (metadata: unknown) => unknown;

/** By endpoint; all others are the same in both dialects. */
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
  'volumeSnapshots.get': ofFiles,
};

export function inWordsOfLxd(endpointId: string, metadata: unknown): unknown {
  return words[endpointId]?.(metadata) ?? metadata;
}

/** By endpoint, before the others: for clients of release 5. */
const wordsOf5: Readonly<Record<string, Words>> = {
  'operations.get': withFailedCommand,
  'operations.wait': withFailedCommand,
};

export function inWordsOfLxd5(endpointId: string, metadata: unknown): unknown {
  return wordsOf5[endpointId]?.(metadata) ?? metadata;
}

const unrunnable = new Map<unknown, string>([
  [126, 'Command not executable'],
  [127, 'Command not found'],
]);

/** Real system section 15: the operation of a command that could not run has failed; its exit code stays. */
export function withFailedCommand<T>(operation: T): T {
  if (!isRecord(operation) || !isRecord(operation['metadata'])) return operation;
  const err = unrunnable.get(operation['metadata']['return']);
  return err === undefined || operation['status_code'] !== statusCodes.success
    ? operation
    : { ...operation, status: 'Failure', status_code: statusCodes.failure, err };
}

/** Clients read the name of a backup from a URL without an object (real system section 5). */
export function operationWords(operation: unknown): unknown {
  if (!isRecord(operation) || !isRecord(operation['resources'])) return operation;
  const { backups } = operation['resources'];
  if (!Array.isArray(backups)) return operation;
  // Clients append the project of their connection.
  const named = backups.map((url: unknown) => `/1.0/backups/${String(url).split('?')[0]?.split('/').at(-1) ?? ''}`);
  return { ...operation, resources: { ...operation['resources'], backups: named } };
}

/** Lists contain URLs or objects. */
function listOf(word: Words): Words {
  const ofList = keepDerived((list: readonly unknown[]) => list.map((item) => word(item)));
  return (list) => (list instanceof LongList ? list.map(word) : Array.isArray(list) ? ofList(list) : list);
}

/** Later releases also have virtual machines, and their clients ask for the type. */
export function typed(object: unknown): unknown {
  return isRecord(object) ? typedRecord(object) : object;
}

const typedRecord = keepDerived((object) => ({ ...object, type: 'container' }));

/** Scripts recognize an undescribed default profile by this text. */
function described(profile: unknown): unknown {
  if (!isRecord(profile) || profile['name'] !== 'default') return profile;
  const [, project] = /^Default profile(?: of the project (.+))?$/.exec(String(profile['description'])) ?? [];
  if (profile['description'] === 'Default profile') return { ...profile, description: 'Default LXD profile' };
  return project === undefined ? profile : { ...profile, description: `Default LXD profile for project ${project}` };
}

/** Later releases also have block volumes. */
function ofFiles(volume: unknown): unknown {
  return isRecord(volume) ? { ...volume, content_type: 'filesystem' } : volume;
}

/** Clients that support several servers recognize LXD by this name. */
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
    ...withoutUndefined({ environment }),
  };
});

/** The newer shape: cores and threads as objects. The threads of a core are made up from their counts. */
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
