// Applies limits.* to a running container's cgroups. limits.ts computes the values.
import { type CgroupTree, writeGroupFiles } from './cgroup.ts';
import { confine } from './cpu-sets.ts';
import { cgroup1Values, cgroup2Values, diskValues, type CgroupLimits, readLimits } from './limits.ts';
import { readHostFacts } from './host-facts.ts';

type Config = Readonly<Record<string, string>>;

/** Sets everything; keys that the config omits return to "no limit". Undefined cpus: all. */
export function applyLimits(
  tree: CgroupTree,
  group: string,
  config: Config,
  cpus: readonly number[] | undefined,
): void {
  const host = readHostFacts(tree);
  const limits = readLimits(config, host, cpus);
  const values = tree.version === 1 ? cgroup1Values(limits, host, true) : cgroup2Values(limits, true);
  const isCpus = (file: string): boolean => file === 'cpuset.cpus';
  confine(tree, group, cpus, host.onlineCpus);
  writeGroupFiles(
    tree,
    group,
    values.filter(({ file }) => !isCpus(file)),
  );
  // Also resets to the kernel's default: a start has a fresh group, this one may have had a weight.
  writeGroupFiles(tree, group, diskValues(limits, tree.version));
}

/** Values that LXC cannot set: the disk weight, which a kernel may lack, and values of the groups that LXC itself makes. */
export function applyAfterStart(tree: CgroupTree, group: string, limits: CgroupLimits): void {
  if (limits.diskPriority !== undefined) writeGroupFiles(tree, group, diskValues(limits, tree.version));
  if (tree.version === 2) return;
  const values = cgroup1Values(limits, readHostFacts(tree), false);
  writeGroupFiles(
    tree,
    group,
    values.filter(({ file }) => file === 'memory.swappiness'),
  );
}

export function limitKeys(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.')));
}
