// Reads what limits depend on from this host: cpus, memory, huge pages.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import type { CgroupTree } from './cgroup.ts';
import { parseCpuList } from './cpu-limits.ts';
import type { HostFacts } from './limits.ts';

export function readHostFacts(tree: CgroupTree): HostFacts {
  const memoryRoot = tree.roots.get('memory');
  return {
    onlineCpus: readOnlineCpus(),
    memoryBytes: totalmem(),
    hugePages: readHugePages(tree),
    hasMemsw: memoryRoot !== undefined && existsSync(`${memoryRoot}/memory.memsw.usage_in_bytes`),
  };
}

/** In v1 the hierarchy must be mounted; in v2 the controller must exist. */
function readHugePages(tree: CgroupTree): readonly string[] {
  try {
    const root = tree.version === 1 ? tree.roots.get('hugetlb') : tree.roots.get('');
    if (root === undefined) return [];
    if (
      tree.version === 2 &&
      !readFileSync('/sys/fs/cgroup/cgroup.controllers', 'utf8').split(/\s/).includes('hugetlb')
    )
      return [];
    return hugePageSizes(readdirSync('/sys/kernel/mm/hugepages'));
  } catch {
    return [];
  }
}

/** `hugepages-2048kB` in the notation of cgroups: 2MB. Pure. */
export function hugePageSizes(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const kilobytes = Number(/^hugepages-([0-9]+)kB$/.exec(name)?.[1] ?? 0);
    if (kilobytes === 0) return [];
    if (kilobytes >= 1024 * 1024) return [`${kilobytes / 1024 / 1024}GB`];
    return [kilobytes >= 1024 ? `${kilobytes / 1024}MB` : `${kilobytes}KB`];
  });
}

/** Includes offline cpus. */
export const readPossibleCpus = (): readonly number[] => readCpuList('possible');

export const readOnlineCpus = (): readonly number[] => readCpuList('online');

function readCpuList(name: 'online' | 'possible'): readonly number[] {
  try {
    return parseCpuList(readFileSync(`/sys/devices/system/cpu/${name}`, 'utf8'));
  } catch {
    return cpus().map((_, index) => index);
  }
}
