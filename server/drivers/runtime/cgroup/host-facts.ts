// Reads what limits depend on from this host: cpus, memory, huge pages.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import type { CgroupTree } from './cgroup.ts';
import { parseCpuList } from './cpu-limits.ts';
import type { HostFacts } from './limits.ts';
import { attempt } from '../../../lib/shared/attempt.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

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
function readHugePages({ version, roots }: CgroupTree): readonly string[] {
  const isThere =
    version === 1
      ? roots.has('hugetlb')
      : roots.has('') && textOrNothing('/sys/fs/cgroup/cgroup.controllers').split(/\s/).includes('hugetlb');
  return isThere ? hugePageSizes(attempt(() => readdirSync('/sys/kernel/mm/hugepages'), [])) : [];
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

const readCpuList = (name: 'online' | 'possible'): readonly number[] =>
  attempt(() => parseCpuList(readFileSync(`/sys/devices/system/cpu/${name}`, 'utf8'))) ??
  cpus().map((_, index) => index);
