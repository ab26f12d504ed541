// Stops a container, cleanly, by force or with a checkpoint, and does the work after any stop.
import type { Caller } from '../../shared/caller.ts';
import type { StateDeps, StateChange } from '../shared/state-deps.ts';
import { checkpointLogName, needCheckpoints } from '../shared/checkpoint.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import { errors } from '../../../api/errors.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { join } from 'node:path';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { nicNetworks } from '../../shared/expand.ts';
import { removeNow } from '../remove/remove.ts';
import { statusCodes } from '../../../api/status.ts';
import { storeCheckpointSaga } from './container-store-state.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

const powerKey = 'volatile.last_state.power';
/** LXD's saved state of a host interface given to a nic (address, mtu): obsolete once the interface is back. */
const lentCard = /^volatile\..+\.last_state\./;

export async function stopNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: StateChange,
  signal: AbortSignal,
): Promise<void> {
  await halt(deps, name, wanted, signal);
  publishStopped(deps, caller, name, wanted);
  await afterStop(deps, caller, name, signal);
}

/** A clean stop. The caller does not hold the container's lock: meanwhile its settings can change, and a forced change can end it. */
export async function stopCleanly(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: StateChange,
  signal: AbortSignal,
): Promise<void> {
  const mayStop = (): void => refuseStopped(deps, name);
  await shutDown(deps, name, { wanted, check: mayStop, signal }, async (isOurs) => {
    if (isOurs) publishStopped(deps, caller, name, wanted);
    if (deps.runtime.probe(name).status === 'stopped') await afterStop(deps, caller, name, signal);
  });
}

interface Shutdown {
  readonly wanted: StateChange;
  /** Runs under the container's lock, and throws what speaks against the shutdown. */
  readonly check: () => void;
  readonly signal: AbortSignal;
}

/** Waits outside the container's lock. `after` runs under it; `isOurs`: no forced change has ended the container. */
export async function shutDown(
  deps: StateDeps,
  name: string,
  { wanted, check, signal }: Shutdown,
  after: (isOurs: boolean) => Promise<void>,
): Promise<void> {
  const shutdown = async (): Promise<void> => {
    await end(deps, name, wanted, signal);
    await deps.locks.run(lockOf(name), () => after(deps.shutdowns.isPending(name)));
  };
  // It begins under the lock, which does not wait for its end.
  const { ended } = await deps.locks.run(lockOf(name), async () => {
    check();
    return { ended: deps.shutdowns.during(name, shutdown) };
  });
  await ended;
}

export function publishStopped({ events }: StateDeps, caller: Caller, name: string, { force }: StateChange): void {
  events.lifecycle(force ? 'container-stopped' : 'container-shutdown', containerUrl(name), caller);
}

/** Checkpoints the container and ends it at once, as by force. `previous`: the last memory pre-dump, if any. The caller holds the
 *  container's lock. */
export async function stopStateful(
  deps: StateDeps,
  caller: Caller,
  name: string,
  signal: AbortSignal,
  previous?: string,
): Promise<void> {
  refuseStopped(deps, name);
  const { status } = deps.runtime.probe(name);
  const { ephemeral, pool } = readyContainer(deps.records, name).document;
  if (ephemeral) {
    throw errors.badRequest(`${name} cannot be checkpointed: it is ephemeral and is deleted when it stops`);
  }
  await needCheckpoints(deps.runtime, `Checkpointing ${name}`);
  await deps.view.during(name, statusCodes.stopping, async () => {
    // A frozen container cannot be checkpointed. Like a clean stop, it stays thawed on failure.
    if (status === 'frozen') await deps.runtime.unfreeze(name);
    const logFile = join(deps.logsDir, name, checkpointLogName('dump', deps.clock.nowMs()));
    const params = { name, pool, logFile, ...withoutUndefined({ previous }) };
    await deps.sagas.run(storeCheckpointSaga(deps), params, { signal, progress: () => {} });
  });
  deps.shutdowns.takeOver(name);
  deps.events.lifecycle('container-stopped', containerUrl(name), caller);
  await afterStop(deps, caller, name, signal);
}

/** The caller holds the container's lock, and does the work after the stop. */
export async function halt(deps: StateDeps, name: string, wanted: StateChange, signal: AbortSignal): Promise<void> {
  // One that obeyed a shutdown at this moment is what the caller wants.
  if (!deps.shutdowns.isPending(name)) refuseStopped(deps, name);
  await end(deps, name, wanted, signal);
  deps.shutdowns.takeOver(name);
}

export function refuseStopped({ runtime }: StateDeps, name: string): void {
  if (runtime.probe(name).status === 'stopped') throw errors.badRequest(`The container ${name} is already stopped`);
}

async function end(
  { runtime, view }: StateDeps,
  name: string,
  { force, timeoutMs }: StateChange,
  signal: AbortSignal,
): Promise<void> {
  const { status } = runtime.probe(name);
  if (status === 'stopped') return;
  await view.during(name, statusCodes.stopping, async () => {
    // A frozen init cannot obey: it is thawed first, and stays running if the shutdown times out.
    if (status === 'frozen' && !force) await runtime.unfreeze(name);
    const how = { force, ...withoutUndefined({ timeoutMs }) };
    await runtime.stop(name, how, signal).catch((error: unknown) => {
      // It may have ended at this moment.
      if (runtime.probe(name).status !== 'stopped') throw error;
    });
  });
}

/** Call after any stop outside a restart. The caller holds the container's lock. */
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
    // It has stopped nevertheless, even if a full disk keeps the record from changing.
    deps.sagas.tryLater(`recording that ${name} stopped`, () => recordLater(deps, name), error);
  });
  const { devices } = deps.view.expanded(entry);
  await deps.hosts.refresh(nicNetworks(devices));
}

function recordStopped(deps: Pick<StateDeps, 'records'>, name: string): Promise<void> {
  return deps.records.retry((changes) => {
    const { document } = readyContainer(deps.records, name);
    const kept = Object.entries(document.config).filter(([key]) => !lentCard.test(key));
    changes.put('containers', name, { ...document, config: { ...Object.fromEntries(kept), [powerKey]: 'STOPPED' } });
  });
}

/** Unless it was started again, or deleted, since. */
function recordLater(deps: StateDeps, name: string): Promise<void> {
  return deps.locks.run(lockOf(name), async () => {
    const isReady = deps.records.containers.get(name)?.document.lifecycle === 'ready';
    if (isReady && deps.runtime.probe(name).status === 'stopped') await recordStopped(deps, name);
  });
}
