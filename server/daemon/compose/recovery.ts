// The copies of records in the pools, and restoring lost records from them.
import { join } from 'node:path';
import type { NetworkWatch } from '../../services/networks/network-watch.ts';
import { KnownPools } from '../../services/recovery/known-pools.ts';
import { RecordCopies } from '../../services/recovery/record-copies.ts';
import { Recovery } from '../../services/recovery/recovery.ts';
import { reapplyLimits } from '../../services/storage/reapply-limits.ts';
import type { Foundation } from '../foundation.ts';
import type { Common } from './common.ts';
import type { ContainerParts } from './containers.ts';

export function composeRecovery(
  base: Foundation,
  common: Common,
  parts: Pick<ContainerParts, 'containerEnds' | 'running' | 'guests'> & { readonly networkWatch: NetworkWatch },
) {
  const { records, log, stateDir, host } = base;
  const { containerEnds, running, guests, networkWatch } = parts;
  const knownPools = new KnownPools({ path: join(stateDir, 'pools.json'), records, log });
  /** As at the start of a daemon. */
  const takeUp = async (names: readonly string[]): Promise<void> => {
    await networkWatch.upAll();
    await reapplyLimits({ ...common, log });
    await host.runtime.recover(names);
    await containerEnds.recordEnds();
    await running.resume(names);
    await guests.resume(names);
  };
  return {
    knownPools,
    recordCopies: new RecordCopies({ ...common, knownPools }),
    recovery: new Recovery({ ...common, knownPools, takeUp }),
  };
}
