// Starts containers at the daemon's start, in their order.
import type { ContainerEntry } from '../../shared/container-view.ts';
import type { StateDeps } from '../shared/state-deps.ts';
import { daemonCaller } from '../../shared/caller.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { lockOf } from '../../shared/find-container.ts';
import { pause } from '../../../lib/shared/deadline.ts';
import { startNow } from './start.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';

const powerKey = 'volatile.last_state.power';

/** Starts containers (real system section 4) with autostart true, or unset and running at the host's shutdown. */
export async function autostart(deps: StateDeps, signal: AbortSignal): Promise<void> {
  for (const entry of autostartOrder(deps.records.containers.list(), (e) => deps.view.expanded(e).config)) {
    if (signal.aborted) return;
    const { name } = entry;
    try {
      const started = await deps.locks.run(lockOf(name), async () => {
        if (deps.runtime.probe(name).status !== 'stopped' || isDecided(deps, entry)) return false;
        await startNow(deps, daemonCaller, name, signal);
        return true;
      });
      const delay = Number(deps.view.expanded(entry).config['boot.autostart.delay'] ?? '0');
      if (started && delay > 0) await pause(Math.min(delay * 1000, 2 ** 31 - 1), signal).catch(() => {});
    } catch (error) {
      deps.log.error(`Starting ${name} at daemon start failed: ${errorText(error)}`);
      if (!signal.aborted) deps.warnings.seen('autostart', errorText(error), warnedContainer(deps.records, name));
    }
  }
}

/** A client stopped or deleted it while others were started: that decision stands. */
function isDecided({ records }: Pick<StateDeps, 'records'>, { name, document }: ContainerEntry): boolean {
  const now = records.containers.get(name)?.document;
  return now?.lifecycle !== 'ready' || now.uuid !== document.uuid || now.config[powerKey] !== document.config[powerKey];
}

/** Higher boot.autostart.priority first, then by name. Pure. */
export function autostartOrder(
  entries: readonly ContainerEntry[],
  configOf: (entry: ContainerEntry) => Readonly<Record<string, string>>,
): readonly ContainerEntry[] {
  const priority = (entry: ContainerEntry): number => Number(configOf(entry)['boot.autostart.priority'] ?? '0') || 0;
  return entries
    .filter((entry) => {
      const wanted = configOf(entry)['boot.autostart'];
      if (entry.document.lifecycle !== 'ready') return false;
      return wanted === undefined ? entry.document.config[powerKey] === 'RUNNING' : isTrue(wanted);
    })
    .toSorted((a, b) => priority(b) - priority(a) || (a.name < b.name ? -1 : 1));
}
