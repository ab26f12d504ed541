// Applies the live config keys of a running container: kernel modules, limits, network priority.
import { errorText } from '../../../lib/shared/reason.ts';
import type { CgroupTree } from '../cgroup/cgroup.ts';
import type { CpuSets } from '../cgroup/cpu-sets.ts';
import { hostModules, loadModules, type ModulePaths } from '../host/kernel-modules.ts';
import type { NftTables } from '../../nft-tables.ts';
import type { FileDeps } from '../mounts/container-files.ts';
import { applyLimits, limitKeys } from '../cgroup/apply-limits.ts';
import { networkPriority, setNetworkPriority } from '../nic/priority.ts';
import type { RunningRecord } from './running-record.ts';

type Config = Readonly<Record<string, string>>;

export type KeyDeps = Pick<FileDeps, 'paths' | 'log'> & {
  readonly tree: CgroupTree;
  readonly tables: NftTables;
  /** Overrides this host's modules. */
  readonly modules?: ModulePaths | undefined;
};

/** Prepares what must exist before the container. */
export const prepareKeys = (deps: Pick<KeyDeps, 'modules'>, config: Config): Promise<void> =>
  loadModules(config['linux.kernel_modules'], deps.modules ?? hostModules());

/** The state with the keys applied. On a throw the previous ones are restored, as far as the kernel allows. */
export async function applyKeys(
  deps: KeyDeps,
  cpus: CpuSets,
  state: RunningRecord,
  config: Config,
): Promise<RunningRecord> {
  const { tree, paths } = deps;
  await prepareKeys(deps, config);
  const set = (to: Config): void =>
    applyLimits(tree, paths.group(state.name), to, cpus.claim(state.name, to['limits.cpu']));
  try {
    set(config);
    const next = { ...state, limits: limitKeys(config) };
    if (networkPriority(state.limits) !== networkPriority(config)) await followPriority(deps, next, true);
    return next;
  } catch (error) {
    try {
      set(state.limits);
    } catch (again) {
      deps.log.warn('limits cannot be set back', { container: state.name, reason: errorText(again) });
    }
    throw error;
  }
}

/** Call after a start, a reboot, or a change of its nics. `changed`: also removes a priority. */
export async function followPriority(
  { paths, tables }: Pick<KeyDeps, 'paths' | 'tables'>,
  state: RunningRecord,
  changed = false,
): Promise<void> {
  const priority = networkPriority(state.limits);
  if (priority === 0 && !changed) return;
  await setNetworkPriority({ tables, tag: paths.tag }, state.name, state.devices?.now.nics ?? [], priority);
}

/** Call when the container is gone. */
export async function clearKeys({ paths, tables, log }: KeyDeps, state: RunningRecord): Promise<void> {
  if (networkPriority(state.limits) === 0) return;
  await setNetworkPriority({ tables, tag: paths.tag }, state.name, [], 0).catch((error: unknown) =>
    log.warn('cannot remove a network priority', { container: state.name, reason: errorText(error) }),
  );
}

/** After a reboot from inside LXC has restored the limits of the start. */
export function restoreLimits(deps: KeyDeps, cpus: CpuSets, state: RunningRecord): void {
  try {
    applyLimits(deps.tree, deps.paths.group(state.name), state.limits, cpus.of(state.name));
  } catch (error) {
    deps.log.warn('limits from before the reboot cannot be restored', {
      container: state.name,
      reason: errorText(error),
    });
  }
}
