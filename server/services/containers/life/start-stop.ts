// Start, stop, restart, freeze and unfreeze on request (real system section 4), and what follows when a container ends.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrue } from '../../../api/container/container-config.ts';
import { stateActions, type ContainerStatePut, type StateAction } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { statusCodes } from '../../../api/status.ts';
import type { RunConfig } from '../../../drivers/runtime/driver.ts';
import { assertNever } from '../../../lib/shared/assert-never.ts';
import { errorText } from '../../../lib/log.ts';
import type { Caller } from '../../caller.ts';
import { nicNetworks } from '../../expand.ts';
import { hostVolumes } from '../../storage/host-volumes.ts';
import { applyTemplates, withoutTemplateTrigger } from '../files/apply-templates.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, readyContainer } from '../find.ts';
import { containerUrl } from '../../../api/names.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import { removeNow } from './remove.ts';
import { prepareRun, type PreparedRun } from './run-config.ts';
import { keepAddresses } from '../devices/running-devices.ts';
import {
  dropCheckpoint,
  needCheckpoints,
  checkpointDirOf,
  checkpointLogName,
  storeCheckpointSaga,
} from './checkpoint.ts';
import type { ContainerEntry } from '../view.ts';

export type StateDeps = ContainerDeps & { readonly hosts: NetworkHosts };

export interface Wanted {
  readonly force: boolean;
  readonly timeoutMs: number | undefined;
  /** A start uses the checkpoint; a stop makes one. */
  readonly stateful?: boolean;
}

const powerKey = 'volatile.last_state.power';

/** What a timer can hold, some 24 days. */
const longestMs = 2 ** 31 - 1;

const descriptions: Readonly<Record<StateAction, string>> = {
  start: 'Starting container',
  stop: 'Stopping container',
  restart: 'Restarting container',
  freeze: 'Freezing container',
  unfreeze: 'Unfreezing container',
};

const isAction = (action: string): action is StateAction => (stateActions as readonly string[]).includes(action);

/** PUT .../state. Only an unknown container or action is refused at once; the rest fails in the operation. */
export function putState(deps: StateDeps, caller: Caller, name: string, body: ContainerStatePut): Operation {
  readyContainer(deps.records, name);
  const { action } = body;
  if (!isAction(action)) {
    throw errors.invalid('state change', [
      { path: 'action', message: `must be one of ${stateActions.join(', ')}, is ${JSON.stringify(action)}` },
    ]);
  }
  // Absent or negative: no limit. Zero asks for the kill that force asks for.
  const timeout = body.timeout ?? -1;
  const wanted: Wanted = {
    force: body.force === true || timeout === 0,
    timeoutMs: timeout > 0 ? Math.min(timeout * 1000, longestMs) : undefined,
    stateful: body.stateful === true,
  };
  return deps.operations.start({
    description: descriptions[action],
    resources: { containers: [containerUrl(name)] },
    run: (_handle, signal) => deps.locks.run(lockOf(name), () => act(deps, caller, name, action, wanted, signal)),
  });
}

async function act(
  deps: StateDeps,
  caller: Caller,
  name: string,
  action: StateAction,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<void> {
  switch (action) {
    case 'start':
      return startNow(deps, caller, name, signal, wanted.stateful);
    case 'stop':
      return wanted.stateful === true
        ? stopStateful(deps, caller, name, signal)
        : stopNow(deps, caller, name, wanted, signal);
    case 'restart':
      return restartNow(deps, caller, name, wanted, signal);
    case 'freeze':
      return freezeNow(deps, caller, name);
    case 'unfreeze':
      return unfreezeNow(deps, caller, name);
    default:
      return assertNever(action);
  }
}

/** The caller holds the container's lock. `stateful`: it starts from its checkpoint, which any other start removes. */
export async function startNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  signal: AbortSignal,
  stateful = false,
): Promise<void> {
  if (deps.runtime.probe(name).status !== 'stopped')
    throw errors.badRequest(`The container ${name} is already running`);
  await deps.sagas.settleHeld('containers', name);
  const found = readyContainer(deps.records, name);
  if (stateful) await needStored(deps, found);
  else await dropCheckpoint(deps, name);
  await keepAddresses(deps.records, name, deps.view.expanded(found).devices);
  const idmap = await deps.idMaps.settle(name);
  const entry = readyContainer(deps.records, name);
  await deps.view.during(name, statusCodes.starting, async () => {
    const logDir = join(deps.logsDir, name);
    await mkdir(logDir, { recursive: true, mode: 0o700 });
    const rootfs = join(deps.pools.volumePath(entry.document.pool, { type: 'container', name }), 'rootfs');
    const prepared = await prepareRun(entry, deps.view.expanded(entry), {
      rootfs,
      logDir,
      volumes: hostVolumes(deps, name),
      idmap,
      fileMaps: deps.idMaps.fileMapsOf(entry.document),
      ...(deps.paths === undefined ? {} : { host: deps.paths }),
    });
    if (!stateful) await applyTemplates(deps, entry, rootfs, signal);
    const run = { ...prepared.run, mounts: [...prepared.run.mounts, ...deps.guests.mounts(entry)] };
    await deps.guests.whileStarting(entry, () =>
      deps.hosts.whileStarting(name, prepared.networks, () => launch(deps, entry, run, stateful, signal)),
    );
    await followStart(deps, name, prepared);
    await remember(deps, name, volatileOf(deps, prepared, entry));
  });
  if (stateful) await dropCheckpoint(deps, name);
  // Real system section 6: what goes on from its state has not been started.
  else deps.events.lifecycle('container-started', containerUrl(name), undefined, caller.requestor);
}

async function needStored(deps: StateDeps, { name, document }: ContainerEntry): Promise<void> {
  if (!document.stateful) throw errors.badRequest(`The container ${name} has no checkpoint to start from`);
  await needCheckpoints(deps.runtime, `Restoring the checkpoint of ${name}`);
}

async function launch(
  deps: StateDeps,
  { name, document }: ContainerEntry,
  run: RunConfig,
  stateful: boolean,
  signal: AbortSignal,
): Promise<{ readonly initPid: number }> {
  if (!stateful) return deps.runtime.start(run, signal);
  const able = await needCheckpoints(deps.runtime, `Restoring the checkpoint of ${name}`);
  const dir = checkpointDirOf(deps, { name, pool: document.pool });
  const logFile = join(run.logDir, checkpointLogName('restore', deps.clock.nowMs()));
  return able.restore(run, { dir, logFile }, signal);
}

/** A container whose forwards cannot be opened is stopped. */
async function followStart(deps: StateDeps, name: string, prepared: PreparedRun): Promise<void> {
  try {
    await deps.running.started(name, prepared.devices);
  } catch (error) {
    await deps.runtime.stop(name, { force: true }, new AbortController().signal);
    throw error;
  }
}

const volatileOf = (
  deps: Pick<StateDeps, 'idMaps'>,
  { run, volatile }: PreparedRun,
  entry: ContainerEntry,
): Readonly<Record<string, string>> => ({
  ...volatile,
  [powerKey]: 'RUNNING',
  ...deps.idMaps.volatileOf(run.idmap, entry.document),
});

/** Records a container whose daemon died after starting it. If a device can no longer
 *  be examined, only the power state is recorded. */
export async function rememberFoundRunning(deps: StateDeps, entry: ContainerEntry): Promise<void> {
  const volatile = await volatileOfFound(deps, entry).catch((error: unknown) => {
    deps.log.error(`The devices of ${entry.name}, which was found running, cannot be recorded: ${errorText(error)}`);
    return { [powerKey]: 'RUNNING', ...deps.idMaps.volatileOf(deps.idMaps.mapOf(entry.document), entry.document) };
  });
  await remember(deps, entry.name, volatile);
}

async function volatileOfFound(deps: StateDeps, entry: ContainerEntry): Promise<Readonly<Record<string, string>>> {
  const prepared = await prepareRun(entry, deps.view.expanded(entry), {
    rootfs: '',
    logDir: '',
    volumes: hostVolumes(deps),
    idmap: deps.idMaps.mapOf(entry.document),
    fileMaps: [],
    ...(deps.paths === undefined ? {} : { host: deps.paths }),
  });
  return volatileOf(deps, prepared, entry);
}

async function remember(deps: StateDeps, name: string, volatile: Readonly<Record<string, string>>): Promise<void> {
  await deps.records.retry((changes) => {
    const { document } = readyContainer(deps.records, name);
    changes.put('containers', name, {
      ...document,
      lastUsedAt: deps.clock.timestamp(),
      config: { ...withoutTemplateTrigger(document.config), ...volatile },
    });
  });
}

async function stopNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<void> {
  await halt(deps, name, wanted, signal);
  tellStopped(deps, caller, name, wanted);
  await afterStop(deps, caller, name, signal);
}

function tellStopped({ events }: StateDeps, { requestor }: Caller, name: string, { force }: Wanted): void {
  events.lifecycle(force ? 'container-stopped' : 'container-shutdown', containerUrl(name), undefined, requestor);
}

/** Checkpoints the container and ends it at once, as by force. `previous`: the last round of memory, if any was made. The caller
 *  holds the container's lock. */
export async function stopStateful(
  deps: StateDeps,
  caller: Caller,
  name: string,
  signal: AbortSignal,
  previous?: string,
): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is already stopped`);
  const { ephemeral, pool } = readyContainer(deps.records, name).document;
  if (ephemeral) {
    throw errors.badRequest(`${name} cannot be checkpointed: it is ephemeral and is deleted when it stops`);
  }
  await needCheckpoints(deps.runtime, `Checkpointing ${name}`);
  await deps.view.during(name, statusCodes.stopping, async () => {
    // A frozen container cannot be checkpointed. As at a clean stop, it stays thawed when that fails.
    if (status === 'frozen') await deps.runtime.unfreeze(name);
    const logFile = join(deps.logsDir, name, checkpointLogName('dump', deps.clock.nowMs()));
    const params = { name, pool, logFile, ...(previous === undefined ? {} : { previous }) };
    await deps.sagas.run(storeCheckpointSaga(deps), params, { signal, progress: () => {} });
  });
  deps.events.lifecycle('container-stopped', containerUrl(name), undefined, caller.requestor);
  await afterStop(deps, caller, name, signal);
}

/** A restart is no stop: an ephemeral container survives it. */
async function restartNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<void> {
  if (deps.runtime.probe(name).status === 'frozen' && !wanted.force) {
    throw errors.badRequest(`The container ${name} is not running: it is frozen`);
  }
  await halt(deps, name, wanted, signal);
  tellStopped(deps, caller, name, wanted);
  await startNow(deps, caller, name, signal);
}

/** The caller holds the container's lock, and does what follows a stop. */
export async function halt(deps: StateDeps, name: string, wanted: Wanted, signal: AbortSignal): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is already stopped`);
  await deps.view.during(name, statusCodes.stopping, async () => {
    // A frozen init cannot obey: it is thawed first, and stays running when the shutdown times out.
    if (status === 'frozen' && !wanted.force) await deps.runtime.unfreeze(name);
    const { force, timeoutMs } = wanted;
    await deps.runtime.stop(name, { force, ...(timeoutMs === undefined ? {} : { timeoutMs }) }, signal);
  });
}

/** After any stop that was not part of a restart. The caller holds the container's lock. */
export async function afterStop(deps: StateDeps, caller: Caller, name: string, signal: AbortSignal): Promise<void> {
  const entry = deps.records.containers.get(name);
  if (entry === undefined || entry.document.lifecycle !== 'ready') return;
  const isProtected = isTrue(deps.view.expanded(entry).config['security.protection.delete'] ?? '');
  if (entry.document.ephemeral && isProtected)
    deps.log.warn(`The container ${name} stays although it is ephemeral: security.protection.delete is set`);
  if (entry.document.ephemeral && !isProtected) {
    await removeNow(deps, caller, name, signal);
    return;
  }
  await recordStopped(deps, name).catch((error: unknown) => {
    // It has stopped all the same, for example on a full disk.
    deps.sagas.tryLater(`recording that ${name} stopped`, () => recordLater(deps, name), error);
  });
  const { devices } = deps.view.expanded(entry);
  await deps.hosts.settle(nicNetworks(devices));
}

function recordStopped(deps: Pick<StateDeps, 'records'>, name: string): Promise<void> {
  return deps.records.retry((changes) => {
    const { document } = readyContainer(deps.records, name);
    changes.put('containers', name, { ...document, config: { ...document.config, [powerKey]: 'STOPPED' } });
  });
}

/** Unless it was started again, or deleted, meanwhile. */
function recordLater(deps: StateDeps, name: string): Promise<void> {
  return deps.locks.run(lockOf(name), async () => {
    const isReady = deps.records.containers.get(name)?.document.lifecycle === 'ready';
    if (isReady && deps.runtime.probe(name).status === 'stopped') await recordStopped(deps, name);
  });
}

async function freezeNow(deps: StateDeps, caller: Caller, name: string): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is not running`);
  if (status === 'frozen') throw errors.badRequest(`The container ${name} is already frozen`);
  await deps.view.during(name, statusCodes.freezing, () => deps.runtime.freeze(name));
  deps.events.lifecycle('container-paused', containerUrl(name), undefined, caller.requestor);
}

async function unfreezeNow(deps: StateDeps, caller: Caller, name: string): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is not running`);
  if (status === 'running') throw errors.badRequest(`The container ${name} is already running`);
  await deps.runtime.unfreeze(name);
  deps.events.lifecycle('container-resumed', containerUrl(name), undefined, caller.requestor);
}
