// Deletes a stopped container, as a saga.
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import { isTrue } from '../../../api/container/container-config.ts';
import { errors } from '../../../api/errors.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Caller } from '../../shared/caller.ts';
import { nicNetwork, nicNetworks } from '../../shared/expand.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { snapshotsOf } from '../shared/snapshot-records.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { deleteContainerSaga } from './container-delete.ts';

export type RemoveDeps = Pick<
  ContainerDeps,
  | 'records'
  | 'runtime'
  | 'network'
  | 'pools'
  | 'operations'
  | 'sagas'
  | 'events'
  | 'locks'
  | 'view'
  | 'log'
  | 'maas'
  | 'logsDir'
  | 'backupsDir'
> & { readonly hosts: NetworkHosts };

export function deleteContainer(deps: RemoveDeps, caller: Caller, name: string): Operation {
  if (deps.sagas.isUndoing('containers', name)) return deleteUndone(deps, caller, name);
  readyContainer(deps.records, name);
  refuseRunning(deps, name, 'deleting it');
  refuseProtected(deps, name);
  return deps.operations.start({
    description: 'Deleting container',
    resources: { containers: [containerUrl(name)] },
    run: (_handle, signal) => deps.locks.run(lockOf(name), () => removeUnprotected(deps, caller, name, signal)),
  });
}

function refuseProtected({ records, view }: RemoveDeps, name: string): void {
  if (!isTrue(view.expanded(readyContainer(records, name)).config['security.protection.delete'] ?? '')) return;
  throw errors.forbidden(`The container ${name} is protected: unset security.protection.delete before deleting it`);
}

/** It may have been protected while this waited. */
async function removeUnprotected(deps: RemoveDeps, caller: Caller, name: string, signal: AbortSignal): Promise<void> {
  refuseProtected(deps, name);
  await removeNow(deps, caller, name, signal);
}

/** A change of it failed, and so did its undo: the undo is retried first. A container that was being created is gone then. */
function deleteUndone(deps: RemoveDeps, caller: Caller, name: string): Operation {
  return deps.operations.start({
    description: 'Deleting container',
    resources: { containers: [containerUrl(name)] },
    run: async (_handle, signal) => {
      await deps.sagas.finishUndo('containers', name);
      await deps.locks.run(lockOf(name), async () => {
        if (deps.records.containers.has(name)) await removeUnprotected(deps, caller, name, signal);
      });
    },
  });
}

/** The caller holds the container's lock. Waits for running backups and publishing. */
export async function removeNow(deps: RemoveDeps, caller: Caller, name: string, signal: AbortSignal): Promise<void> {
  await deps.locks.unshared(lockOf(name));
  refuseRunning(deps, name, 'deleting it');
  const entry = readyContainer(deps.records, name);
  const { devices } = deps.view.expanded(entry);
  const snapshots = snapshotsOf(deps.records, entry.document.uuid);
  const backups = ownedBy(deps.records, 'backups', entry.document.uuid);
  const { pool } = entry.document;
  // In parallel: a stopped container needs no leases, whether or not the deletion succeeds.
  const released = releaseLeases(deps, entry, devices);
  try {
    await deps.sagas.run(deleteContainerSaga(deps), { name, pool }, { signal });
  } finally {
    await released;
  }
  await deps.hosts.refresh(nicNetworks(devices));
  await deps.maas.released(name, entry.document.uuid);
  for (const snapshot of snapshots) {
    const url = containerUrl(name, 'snapshots', snapshot.name);
    const context = { snapshot_name: `${plainName(name)}/${snapshot.name}` };
    deps.events.lifecycle('container-snapshot-deleted', url, caller, context);
  }
  for (const backup of backups) {
    const url = containerUrl(name, 'backups', backup.name);
    const context = { backup_name: `${plainName(name)}/${backup.name}` };
    deps.events.lifecycle('container-backup-deleted', url, caller, context);
  }
  deps.events.lifecycle('container-deleted', containerUrl(name), caller);
}

/** Logs leases that cannot be released; they expire. */
export async function releaseLeases(
  deps: RemoveDeps,
  { name, document }: ContainerEntry,
  devices: DeviceMap,
): Promise<void> {
  for (const [device, properties] of Object.entries(devices)) {
    const network = nicNetwork(properties);
    if (network === undefined) continue;
    const hwaddr = properties['hwaddr'] ?? document.config[`volatile.${device}.hwaddr`];
    if (!deps.records.networks.has(network) || hwaddr === undefined) continue;
    await deps.network.releaseLease(network, hwaddr).catch((error: unknown) => {
      deps.log.warn(`Releasing the lease of ${name} on ${network} failed: ${String(error)}`);
    });
  }
}

export function refuseRunning(deps: Pick<ContainerDeps, 'runtime'>, name: string, what: string): void {
  if (deps.runtime.probe(name).status !== 'stopped') throw errors.running(name, what);
}
