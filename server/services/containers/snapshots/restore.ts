// Restores a snapshot: the container's files, config, devices and profiles (PUT with `restore`).
import type { ContainerPut } from '../../../api/container/container.ts';
import { errors, mustFind } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { logFailure } from '../../../lib/log.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import type { Caller } from '../../shared/caller.ts';
import { checkIfMatch, etagOf } from '../../shared/etag.ts';
import { expand, isServerKey, nicNetworks } from '../../shared/expand.ts';
import { checkDraft, withHardwareAddresses } from '../shared/draft.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import { idMapKeys } from '../shared/id-maps.ts';
import { snapshotKey } from '../shared/snapshot-records.ts';
import { type StateDeps } from '../shared/state-deps.ts';
import { renewedInstanceId } from '../shared/instance-id.ts';
import { startNow } from '../power/start.ts';
import { halt } from '../power/stop.ts';
import { needCheckpoints } from '../shared/checkpoint.ts';
import { restoreSnapshotSaga } from './snapshot-restore.ts';
import { profilesOf } from '../../shared/project-scope.ts';

export function restoreSnapshot(
  deps: StateDeps,
  caller: Caller,
  name: string,
  body: ContainerPut & { readonly restore: string },
  ifMatch: string | undefined,
): Operation {
  const { document } = readyContainer(deps.records, name);
  checkIfMatch(ifMatch, etagOf.container(document), 'container', name);
  // Clients of newer releases send CONTAINER/SNAPSHOT; names of snapshots have no slash.
  const prefix = `${plainName(name)}/`;
  const snapshot = body.restore.startsWith(prefix) ? body.restore.slice(prefix.length) : body.restore;
  const wanted: RestoreRequest = { snapshot, stateful: body.stateful === true, ifMatch };
  restored(deps, name, document, wanted);
  return deps.operations.start({
    description: 'Restoring snapshot',
    resources: { containers: [containerUrl(name)] },
    run: (_handle, signal) => deps.locks.run(lockOf(name), () => restoreNow(deps, caller, name, wanted, signal)),
  });
}

interface RestoreRequest {
  readonly snapshot: string;
  /** The container starts from the checkpoint in the snapshot. */
  readonly stateful: boolean;
  readonly ifMatch: string | undefined;
}

/** The caller holds the container's lock. Stops a running container, and restarts it in any case. */
async function restoreNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: RestoreRequest,
  signal: AbortSignal,
): Promise<void> {
  const { document } = readyContainer(deps.records, name);
  checkIfMatch(wanted.ifMatch, etagOf.container(document), 'container', name);
  // Refuses before the container is stopped needlessly.
  restored(deps, name, document, wanted);
  if (wanted.stateful) await needCheckpoints(deps.runtime, `Restoring the checkpoint in ${name}/${wanted.snapshot}`);
  await deps.locks.unshared(lockOf(name));
  const wasRunning = deps.runtime.probe(name).status !== 'stopped';
  if (wasRunning) {
    await halt(deps, name, { force: true, timeoutMs: undefined }, signal);
    deps.events.lifecycle('container-stopped', containerUrl(name), caller);
  }
  try {
    await putBack(deps, name, wanted, signal);
  } catch (error) {
    if (wasRunning) await startNow(deps, caller, name, signal).catch(logFailure(deps.log, `Starting ${name} again`));
    throw error;
  }
  deps.events.lifecycle('container-updated', containerUrl(name), caller);
  const context = { snapshot_name: `${plainName(name)}/${wanted.snapshot}` };
  deps.events.lifecycle('container-snapshot-restored', containerUrl(name), caller, context);
  if (wasRunning || wanted.stateful) await startNow(deps, caller, name, signal, wanted.stateful);
}

async function putBack(deps: StateDeps, name: string, wanted: RestoreRequest, signal: AbortSignal): Promise<void> {
  const entry = readyContainer(deps.records, name);
  const before = deps.view.expanded(entry);
  const { uuid, pool } = entry.document;
  const { snapshot } = wanted;
  const document = restored(deps, name, entry.document, wanted);
  await deps.idMaps.reserving((reserve) =>
    deps.sagas.run(
      restoreSnapshotSaga(deps),
      { container: name, uuid, pool, snapshot, document: reserve(name, document) },
      { signal, progress: () => {} },
    ),
  );
  const after = deps.view.expanded(readyContainer(deps.records, name));
  await deps.hosts.refresh([...nicNetworks(before.devices), ...nicNetworks(after.devices)]);
}

function findSnapshot(
  deps: Pick<StateDeps, 'records'>,
  name: string,
  { uuid }: ContainerDocument,
  snapshot: string,
): SnapshotDocument {
  return mustFind(deps.records.snapshots.get(snapshotKey(uuid, snapshot))?.document, 'snapshot', `${name}/${snapshot}`);
}

/** Restores only the server's keys of devices, of the image and of the files' owner: other current facts stay. */
function restored(
  deps: Pick<StateDeps, 'records' | 'pools' | 'idMaps'>,
  name: string,
  now: ContainerDocument,
  { snapshot, stateful }: RestoreRequest,
): ContainerDocument {
  const then = findSnapshot(deps, name, now, snapshot);
  if (stateful && !then.stateful) {
    throw errors.badRequest(`The snapshot ${name}/${snapshot} holds no checkpoint: restore it without stateful`);
  }
  const isToday = (key: string): boolean =>
    key.startsWith('volatile.') && key !== idMapKeys.files && !/^volatile\.(.+)\.(hwaddr|name|host_name)$/.test(key);
  const config = Object.fromEntries([
    ...Object.entries(then.config).filter(([key]) => !isToday(key)),
    ...Object.entries(now.config).filter(([key]) => isToday(key)),
    ...Object.entries(deps.idMaps.unfinished(then)),
  ]);
  const wanted: ContainerDocument = {
    ...now,
    architecture: then.architecture,
    profiles: then.profiles,
    ephemeral: then.ephemeral,
    config,
    devices: then.devices,
    stateful,
  };
  const own = Object.fromEntries(Object.entries(config).filter(([key]) => !isServerKey(key)));
  checkDraft(deps, name, { ...wanted, config: own }, now);
  const profileOf = profilesOf(deps.records, name);
  const after = expand(wanted, profileOf);
  const renewed = renewedInstanceId(config, expand(now, profileOf), after);
  return { ...wanted, config: withHardwareAddresses(deps.records, renewed, after.devices) };
}
