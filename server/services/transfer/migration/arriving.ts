// Records of a container and its snapshots that arrive in a backup or from another server.
import { randomUUID } from 'node:crypto';
import { checkName } from '../../../api/errors.ts';
import { snapshotName } from '../../../api/names.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import type { ContainerDeps } from '../../containers/deps.ts';
import { checkDraft, withHardwareAddresses } from '../../containers/shared/draft.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';
import type { SnapshotEntry } from '../../containers/shared/snapshot-records.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import type { Caller } from '../../shared/caller.ts';
import { expand, isServerKey, nicNetworks, withoutServerKeys } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { volumeCopy } from '../../storage/root-volume.ts';

type Machine = Pick<ContainerDocument, 'architecture' | 'profiles' | 'config' | 'devices'>;
type Facts = Pick<ContainerDocument, 'ephemeral' | 'description' | 'createdAt' | 'lastUsedAt' | 'stateful'> & {
  /** The config keys that describe its root volume. */
  readonly volume: Parameters<typeof volumeCopy>[0];
};

/** Throws AppError badRequest with all problems: missing profiles, unknown keys, invalid devices. */
export function arrivingContainer(
  deps: Pick<ContainerDeps, 'records' | 'pools'>,
  name: string,
  machine: Machine,
  { volume, ...facts }: Facts,
): ContainerDocument {
  const { records } = deps;
  const { pool } = checkDraft(deps, name, { ...machine, config: withoutServerKeys(machine.config) });
  const { devices } = expand(machine, profilesOf(records, name));
  return {
    v: 1,
    uuid: randomUUID(),
    ...machine,
    config: withHardwareAddresses(records, machine.config, devices),
    ...facts,
    pool,
    ...volumeCopy(volume),
    lifecycle: 'ready',
  };
}

/** The name comes from another server and becomes a path here. */
export function arrivingSnapshot(
  name: string,
  machine: Machine,
  { volume, ...facts }: Facts & Pick<SnapshotDocument, 'expiresAt'>,
): SnapshotEntry {
  checkName('snapshot', name, snapshotName);
  return { name, document: { v: 1, ...machine, ...facts, ...volumeCopy(volume), lifecycle: 'ready' } };
}

/** Tells the networks the addresses of the arrived container, and publishes an event. */
export async function announceArrival(
  { records, hosts, events }: Pick<ContainerDeps, 'records' | 'events'> & { readonly hosts: NetworkHosts },
  caller: Caller,
  name: string,
  document: ContainerDocument,
): Promise<void> {
  const { devices } = expand(document, profilesOf(records, name));
  await hosts.refresh(nicNetworks(devices));
  events.lifecycle('container-created', containerUrl(name), caller);
}

/** Keeps three kinds of the keys that servers write: the origin, the facts of its image and the addresses of its nics if the client
 *  sends them (a move keeps them, a copy is a new machine). Values of the other host (id maps, power, interfaces) are dropped. */
export function retainedKeys(config: ContainerDocument['config'], addresses: boolean): Record<string, string> {
  const isKept = (key: string): boolean =>
    !isServerKey(key) ||
    key.startsWith('image.') ||
    key === 'volatile.base_image' ||
    (addresses && /^volatile\.[^.]+\.(hwaddr|ipv[46]\.address)$/.test(key));
  return Object.fromEntries(Object.entries(config).filter(([key]) => isKept(key)));
}

/** Keys of a snapshot from another machine. `ids`: the id map of its files; `[]`: the ids that a container sees. */
export const receivedSnapshotKeys = (config: ContainerDocument['config'], ids = '[]'): Record<string, string> => ({
  ...retainedKeys(config, false),
  [idMapKeys.files]: ids,
});
