// Live migration: the container is checkpointed and stopped at the source, and restored at the target. The checkpoint is in the container's
// volume and is sent with it (services/containers/shared/checkpoint.ts).
import { AppError, errors } from '../../../api/errors.ts';
import { logFailure } from '../../../lib/log.ts';
import type { Caller } from '../../shared/caller.ts';
import { startNow } from '../../containers/power/start.ts';
import { stopStateful } from '../../containers/power/stop.ts';
import { removeNow } from '../../containers/remove/remove.ts';
import { needCheckpoints } from '../../containers/shared/checkpoint.ts';
import type { StateDeps } from '../../containers/shared/state-deps.ts';
import type { MemoryRounds } from './memory-rounds.ts';
import { PeerError } from './peer.ts';

/** Whether the migration is live. Real clients that omit `live` mean true (real system section 17); some send it as text. The migration of
 *  a stopped container is never live. Throws badRequest for a running container that cannot be checkpointed here. */
export async function isLive(
  deps: Pick<StateDeps, 'runtime'>,
  name: string,
  live: unknown,
  isEphemeral: boolean,
): Promise<boolean> {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped' || live === false || live === 'false') return false;
  const problem = await liveProblem(deps, name, isEphemeral);
  if (problem === undefined) return true;
  throw errors.badRequest(`${problem}. Stop it first, or give live: false to copy its files as they are now`);
}

/** Why a running container cannot be migrated live. */
export async function liveProblem(
  { runtime }: Pick<StateDeps, 'runtime'>,
  name: string,
  isEphemeral: boolean,
): Promise<string | undefined> {
  const { status } = runtime.probe(name);
  const what = `The container ${name} is ${status} and cannot be migrated live`;
  if (status === 'frozen') return `${what}: it is frozen`;
  if (isEphemeral) return `${what}: it is ephemeral and is deleted when it stops`;
  try {
    await needCheckpoints(runtime, 'That');
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${what}. ${error.message}`;
  }
}

const calm = (): AbortSignal => new AbortController().signal;

/** Runs the source's side of a live migration, after the rounds of memory that the container's config asks for. If it fails, the container
 *  continues here, unless it may be running at the target. */
export async function withCheckpoint(
  deps: StateDeps,
  caller: Caller,
  name: string,
  rounds: MemoryRounds,
  converse: (store: () => Promise<void>, sent: () => void) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let isStored = false;
  let isSent = false;
  try {
    const previous = await rounds.copy(signal);
    await converse(
      async () => {
        await stopStateful(deps, caller, name, signal, previous);
        isStored = true;
      },
      () => (isSent = true),
    );
  } catch (error) {
    if (!isStored) {
      await rounds.remove().catch(logFailure(deps.log, `Removing the memory of ${name}, which was not checkpointed,`));
      throw error;
    }
    const isRefused = error instanceof PeerError && error.isReported;
    if (!isSent || isRefused) {
      const started = startNow(deps, caller, name, calm(), true);
      await started.catch(logFailure(deps.log, `Starting ${name}, which could not move,`));
      throw error;
    }
    throw new Error(
      `it is not known whether ${name} runs at the target now; here it is stopped with its checkpoint: if it does not run there, start it with stateful: true`,
      { cause: error },
    );
  }
}

/** Runs the target's side; removes a container that cannot be restored. */
export async function goOnOrRemove(deps: StateDeps, caller: Caller, name: string): Promise<void> {
  try {
    await startNow(deps, caller, name, calm(), true);
  } catch (error) {
    const removed = removeNow(deps, caller, name, calm());
    await removed.catch(logFailure(deps.log, `Removing ${name}, which could not be restored,`));
    throw error;
  }
}
