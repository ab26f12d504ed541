// PURE: what the same thing is called, or looks like, in answers of real LXD servers.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import { endpoints } from '../../api/endpoints/endpoint-table.ts';
import { extensions } from '../../api/server/extensions.ts';
import { keepDerived } from '../../lib/cached-json.ts';

/** Names that the spec changed (real system 26.3). */
const realNames: Readonly<Record<string, string>> = {
  instance_types: 'resource_limits',
  proxy_priv_drop: 'unix_priv_drop',
};

/** Of the release but not in the spec's list, and of later releases what stock clients ask for and is there: without
 *  api_filtering no `lxc list`. Not `instances`: without it clients speak of containers, as this API does. */
const besides = [
  'container_backup_override_pool',
  'backup_override_name',
  'network_leases_location',
  'kernel_features',
  'event_location',
  'resources_v2',
  'api_filtering',
];

/** Clients ask for what a server says it has, also when their user did not: what is not served is not promised. */
const unserved = new Set(extensionsOf(false).filter((name) => !extensionsOf(true).includes(name)));

function extensionsOf(isBuilt: boolean): readonly string[] {
  return (endpoints as readonly Endpoint[]).flatMap(({ built, extension }) =>
    built === isBuilt && extension !== undefined ? [extension] : [],
  );
}

/** There they mean the protocol of Candid, which is not spoken. External tokens are `oidc` there. */
const otherThere: ReadonlySet<string> = new Set(['external_authentication', 'candid_authentication']);

export const lxdExtensions: readonly string[] = [
  ...extensions.filter((name) => !unserved.has(name) && !otherThere.has(name)).map((name) => realNames[name] ?? name),
  ...besides,
];

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
};

export function inWordsOfLxd(endpointId: string, metadata: unknown): unknown {
  return words[endpointId]?.(metadata) ?? metadata;
}

/** Clients take the name of a backup from a URL that no object is at (real system section 5). */
export function operationWords(operation: unknown): unknown {
  if (!isRecord(operation) || !isRecord(operation['resources'])) return operation;
  const { backups } = operation['resources'];
  if (!Array.isArray(backups)) return operation;
  const named = backups.map((url: unknown) => `/1.0/backups/${String(url).split('/').at(-1) ?? ''}`);
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
