// Start, stop, restart, freeze and unfreeze on request (real system section 4), and the work after a container ends.
import type { StateDeps, StateChange } from '../shared/state-deps.ts';
import { halt, refuseStopped, shutDown, stopCleanly, stopNow, stopStateful, publishStopped } from './stop.ts';
import { checkMayRun, needLogDir, startNow } from './start.ts';
import { stateActions, type ContainerStatePut, type StateAction } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { statusCodes } from '../../../api/status.ts';
import { assertNever } from '../../../lib/shared/assert-never.ts';
import type { Caller } from '../../shared/caller.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl } from '../../../api/project/project-names.ts';

/** A timer's maximum, some 24 days. */
const longestMs = 2 ** 31 - 1;

const descriptions: Readonly<Record<StateAction, string>> = {
  start: 'Starting container',
  stop: 'Stopping container',
  restart: 'Restarting container',
  freeze: 'Freezing container',
  unfreeze: 'Unfreezing container',
};

const isAction = (action: string): action is StateAction => (stateActions as readonly string[]).includes(action);

/** PUT .../state. Refuses only an unknown container or action at once; other failures end the operation. */
export function putState(deps: StateDeps, caller: Caller, name: string, body: ContainerStatePut): Operation {
  readyContainer(deps.records, name);
  const { action } = body;
  if (!isAction(action)) {
    throw errors.invalid('state change', [
      { path: 'action', message: `must be one of ${stateActions.join(', ')}, is ${JSON.stringify(action)}` },
    ]);
  }
  // Absent or negative: no limit. Zero kills like force.
  const timeout = body.timeout ?? -1;
  const wanted: StateChange = {
    force: body.force === true || timeout === 0,
    timeoutMs: timeout > 0 ? Math.min(timeout * 1000, longestMs) : undefined,
    stateful: body.stateful === true,
  };
  return deps.operations.start({
    description: descriptions[action],
    resources: { containers: [containerUrl(name)] },
    run: (_handle, signal) => {
      const perform = (): Promise<void> =>
        deps.locks.run(lockOf(name), () => performAction(deps, caller, name, { action, wanted }, signal));
      const { shutdowns } = deps;
      if (!isEnd(action, wanted)) return shutdowns.inTurn(name, perform);
      // It does not wait for a shutdown: it kills the container, which ends that.
      if (wanted.force) return perform();
      if (action === 'restart') return shutdowns.inTurn(name, () => restartCleanly(deps, caller, name, wanted, signal));
      return shutdowns.stopInTurn(name, wanted.timeoutMs, () => stopCleanly(deps, caller, name, wanted, signal));
    },
  });
}

const isEnd = (action: StateAction, { stateful = false }: StateChange): boolean =>
  action === 'restart' || (action === 'stop' && !stateful);

async function performAction(
  deps: StateDeps,
  caller: Caller,
  name: string,
  { action, wanted }: { readonly action: StateAction; readonly wanted: StateChange },
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

/** A restart is no stop: an ephemeral container survives it. */
async function restartNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: StateChange,
  signal: AbortSignal,
): Promise<void> {
  checkMayRun(deps, readyContainer(deps.records, name));
  await needLogDir(deps, name);
  await halt(deps, name, wanted, signal);
  publishStopped(deps, caller, name, wanted);
  await startNow(deps, caller, name, signal);
}

/** The caller does not hold the container's lock. */
async function restartCleanly(
  deps: StateDeps,
  caller: Caller,
  name: string,
  wanted: StateChange,
  signal: AbortSignal,
): Promise<void> {
  const check = (): void => {
    refuseStopped(deps, name);
    if (deps.runtime.probe(name).status === 'frozen')
      throw errors.badRequest(`The container ${name} is not running: it is frozen`);
    checkMayRun(deps, readyContainer(deps.records, name));
  };
  await needLogDir(deps, name);
  await shutDown(deps, name, { wanted, check, signal }, async (isOurs) => {
    // A forced stop is the later wish, and a forced restart has started it.
    if (!isOurs) return;
    publishStopped(deps, caller, name, wanted);
    await startNow(deps, caller, name, signal);
  });
}

async function freezeNow(deps: StateDeps, caller: Caller, name: string): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is not running`);
  if (status === 'frozen') throw errors.badRequest(`The container ${name} is already frozen`);
  await deps.view.during(name, statusCodes.freezing, () => deps.runtime.freeze(name));
  deps.events.lifecycle('container-paused', containerUrl(name), caller);
}

async function unfreezeNow(deps: StateDeps, caller: Caller, name: string): Promise<void> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`The container ${name} is not running`);
  if (status === 'running') throw errors.badRequest(`The container ${name} is already running`);
  await deps.runtime.unfreeze(name);
  deps.events.lifecycle('container-resumed', containerUrl(name), caller);
}
