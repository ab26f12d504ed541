// Reads a running container's metrics from cgroups and its network namespace.
import { totalmem } from 'node:os';
import { type CgroupTree, groupPids, readGroupFile } from './cgroup.ts';
import type { RuntimeMetrics } from '../driver.ts';
import { readInterfaces } from '../nic/interfaces.ts';
import { readUsage } from './usage.ts';

export async function readMetrics(
  tree: CgroupTree,
  group: string,
  initPid: number,
  nics: Readonly<Record<string, string>>,
): Promise<RuntimeMetrics> {
  const read = (file: string): number | undefined => {
    const value = Number(readGroupFile(tree, group, file));
    return Number.isFinite(value) ? value : undefined;
  };
  return {
    initPid,
    processes: read('pids.current') ?? groupPids(tree, group).length,
    cpuUsageNs: tree.version === 1 ? (read('cpuacct.usage') ?? 0) : readCpuStat(tree, group),
    memory: tree.version === 1 ? memory1(read) : memory2(read),
    network: await readInterfaces(initPid, nics),
    usage: () => readUsage(tree, group, initPid, totalmem()),
  };
}

type Read = (file: string) => number | undefined;

function readCpuStat(tree: CgroupTree, group: string): number {
  const match = /^usage_usec ([0-9]+)$/m.exec(readGroupFile(tree, group, 'cpu.stat') ?? '');
  return Number(match?.[1] ?? 0) * 1000;
}

function memory1(read: Read): RuntimeMetrics['memory'] {
  const usage = read('memory.usage_in_bytes') ?? 0;
  const peak = read('memory.max_usage_in_bytes') ?? 0;
  // These count memory and swap together.
  const both = read('memory.memsw.usage_in_bytes') ?? usage;
  const bothPeak = read('memory.memsw.max_usage_in_bytes') ?? peak;
  return {
    usage,
    usage_peak: peak,
    swap_usage: Math.max(0, both - usage),
    swap_usage_peak: Math.max(0, bothPeak - peak),
  };
}

function memory2(read: Read): RuntimeMetrics['memory'] {
  return {
    usage: read('memory.current') ?? 0,
    usage_peak: read('memory.peak') ?? 0,
    swap_usage: read('memory.swap.current') ?? 0,
    swap_usage_peak: read('memory.swap.peak') ?? 0,
  };
}
