// Whether the run state of a container may travel with it, and why not. Moving the state itself is the runtime's.
import { errors } from '../../api/errors.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';

export interface LiveDeps {
  readonly runtime: Pick<RuntimeDriver, 'probe'>;
  /** Why this host cannot keep run state; undefined: it can. */
  readonly checkpointMissing?: () => Promise<string | undefined>;
}

/**
 * Real clients that leave `live` out mean true (real system section 17); some send it as text. A stopped container has no state.
 * Throws badRequest for a running one unless `live` is false: its files are then taken as they are.
 */
export async function refuseLive(deps: LiveDeps, name: string, live: unknown): Promise<void> {
  if (deps.runtime.probe(name).status === 'stopped') return;
  if (live === false || live === 'false') return;
  const missing = await (deps.checkpointMissing ?? notBuilt)();
  const why = missing ?? (await notBuilt());
  throw errors.badRequest(
    `The container ${name} is running and cannot be migrated with its run state: ${why}. Stop it first, or give live: false to copy its files as they are now`,
  );
}

const notBuilt = (): Promise<string> => Promise.resolve('this release does not carry run state (CRIU) between servers');
