// Applies limits.* to a running container's control groups. What to write is decided in limits.ts.
import { type CgroupTree, writeGroupFiles } from './cgroup.ts';
import { parseCpus, pickCpus } from './cpu-limits.ts';
import { cgroup1Values, cgroup2Values, diskValues, type Limits, readLimits } from './limits.ts';
import { readHostFacts } from './lxc-host.ts';

type Config = Readonly<Record<string, string>>;

export interface AppliedLimits {
  readonly limits: Config;
  readonly cpus: readonly number[];
}

/** Sets everything, also back to "no limit" what the config does not name. `keepCpus` are the cpus to keep if they still fit. */
export function applyLimits(
  tree: CgroupTree,
  group: string,
  config: Config,
  otherCpus: readonly (readonly number[])[],
  keepCpus: readonly number[] = [],
): AppliedLimits {
  const host = readHostFacts(tree);
  const wish = parseCpus(config['limits.cpu'] ?? '');
  const keep = wish.kind === 'count' && keepCpus.length === wish.count;
  const cpus = keep ? keepCpus : pickCpus(wish, host.onlineCpus, otherCpus);
  const limits = readLimits(config, host, cpus);
  writeGroupFiles(tree, group, tree.version === 1 ? cgroup1Values(limits, host, true) : cgroup2Values(limits, true));
  // Also back to the kernel's default: a start begins with a fresh group, this one may have had a weight.
  writeGroupFiles(tree, group, diskValues(limits, tree.version));
  return { limits: limitKeys(config), cpus: cpus ?? [] };
}

export function applyDiskWeight(tree: CgroupTree, group: string, limits: Limits): void {
  if (limits.diskPriority !== undefined) writeGroupFiles(tree, group, diskValues(limits, tree.version));
}

export function limitKeys(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.')));
}
