// What the host has beside running containers, such as rules and routes: restored after a start of the daemon.
import { errorText } from '../../../lib/shared/reason.ts';
import type { NicRun } from '../driver.ts';
import type { NicFilters } from '../nic/filters.ts';
import { rejoinHost, sweepShapes } from '../nic/plug.ts';
import { sweepPriorities } from '../nic/priority.ts';
import { followPriority, type KeyDeps } from './live-keys.ts';
import type { RunningRecord } from './running-record.ts';

export const nicsOf = (running: readonly RunningRecord[]): readonly NicRun[] =>
  running.flatMap((state) => state.devices?.now.nics ?? []);

/** Removes what a killed daemon left, too. Never throws. */
export async function restoreHostSide(
  deps: KeyDeps & { readonly filters: NicFilters },
  running: readonly RunningRecord[],
): Promise<void> {
  const { filters, tables, paths, log } = deps;
  const cables = running.flatMap((state) => Object.values(state.nics));
  await sweepShapes(cables, paths.tag, log);
  const nics = nicsOf(running);
  await filters.restore(nics, log);
  await rejoinHost(nics, log);
  for (const state of running)
    await followPriority(deps, state).catch((error: unknown) =>
      log.warn('a network priority cannot be restored', { container: state.name, reason: errorText(error) }),
    );
  await sweepPriorities(tables, paths.tag);
}
