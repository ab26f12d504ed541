// Turns limits.* keys into cgroup values of both versions. Pure: computes files and values, writes nothing.
import { isTrue } from '../../../api/text/value-checks.ts';
import { parseBytes } from '../../../api/text/byte-size.ts';
import { driverErrors } from '../../driver-error.ts';
import { type CpuTime, parseCpuTime } from './cpu-limits.ts';
import type { NodeRun } from '../driver.ts';

type Config = Readonly<Record<string, string>>;

/** The devices cgroup rule that lets a container use a node. */
export const deviceRule = (node: Pick<NodeRun, 'kind' | 'major' | 'minor'>): string =>
  `${node.kind === 'char' ? 'c' : 'b'} ${node.major}:${node.minor} rwm`;

/** What the host can enforce and how much it has. */
export interface HostFacts {
  readonly onlineCpus: readonly number[];
  readonly memoryBytes: number;
  /** cgroup v1 accounts memory and swap together (memory.memsw.* exists). */
  readonly hasMemsw: boolean;
  /** Sizes of huge pages that this host's cgroups can limit: `2MB`. */
  readonly hugePages: readonly string[];
}

export interface CgroupLimits {
  readonly cpus: readonly number[] | undefined;
  readonly cpuTime: CpuTime;
  readonly memory: {
    readonly bytes: number | undefined;
    readonly enforce: 'hard' | 'soft';
    readonly swap: boolean;
    readonly swapPriority: number | undefined;
  };
  readonly processes: number | undefined;
  readonly diskPriority: number | undefined;
  /** By page size; undefined = no limit. */
  readonly hugePages: ReadonlyMap<string, number | undefined>;
}

/** One cgroup file: `file` includes its controller prefix (`memory.max`). */
export interface CgroupValue {
  readonly file: string;
  readonly value: string;
}

export function readLimits(config: Config, host: HostFacts, cpus: readonly number[] | undefined): CgroupLimits {
  const get = (key: string): string => config[key] ?? '';
  return {
    cpus,
    cpuTime: parseCpuTime(get('limits.cpu.allowance'), get('limits.cpu.priority')),
    memory: {
      bytes: parseMemory(get('limits.memory'), host.memoryBytes),
      enforce: get('limits.memory.enforce') === 'soft' ? 'soft' : 'hard',
      swap: get('limits.memory.swap') === '' || isTrue(get('limits.memory.swap')),
      swapPriority: parseLevel('limits.memory.swap.priority', get('limits.memory.swap.priority')),
    },
    processes: parseCount('limits.processes', get('limits.processes')),
    diskPriority: parseLevel('limits.disk.priority', get('limits.disk.priority')),
    hugePages: readHugePages(config, host),
  };
}

function parseMemory(text: string, totalBytes: number): number | undefined {
  if (text === '') return undefined;
  const percent = /^([0-9]{1,3})%$/.exec(text);
  const bytes = percent === null ? parseBytes(text) : Math.floor((totalBytes * Number(percent[1])) / 100);
  if (bytes === undefined) throw driverErrors.invalid(`limits.memory "${text}" is neither a size nor N%`);
  return bytes === 0 ? undefined : bytes;
}

const hugePrefix = 'limits.hugepages.';

function readHugePages(config: Config, host: HostFacts): ReadonlyMap<string, number | undefined> {
  for (const [key, value] of Object.entries(config)) {
    const size = key.slice(hugePrefix.length);
    if (!key.startsWith(hugePrefix) || value === '' || host.hugePages.includes(size)) continue;
    const has = host.hugePages.length === 0 ? 'none' : host.hugePages.join(', ');
    throw driverErrors.invalid(`${key} cannot be set: of huge pages this host can limit ${has}`);
  }
  return new Map(
    host.hugePages.map((size) => {
      const value = config[`${hugePrefix}${size}`] ?? '';
      const bytes = value === '' ? undefined : parseBytes(value);
      if (value !== '' && bytes === undefined) throw driverErrors.invalid(`${hugePrefix}${size} "${value}" is no size`);
      return [size, bytes];
    }),
  );
}

function parseCount(key: string, text: string): number | undefined {
  if (text === '') return undefined;
  const count = /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
  if (count < 1) throw driverErrors.invalid(`${key} "${text}" is not a positive number`);
  return count;
}

function parseLevel(key: string, text: string): number | undefined {
  if (text === '') return undefined;
  const level = /^[0-9]{1,2}$/.test(text) ? Number(text) : 11;
  if (level > 10) throw driverErrors.invalid(`${key} "${text}" is not between 0 and 10`);
  return level;
}

/** `put` adds the value of a file, or `none` for an unlimited one if that is to be reset. */
function collected(unset: boolean) {
  const values: CgroupValue[] = [];
  const put = (file: string, value: string | undefined, none: string): void => {
    if (value !== undefined || unset) values.push({ file, value: value ?? none });
  };
  return { values, put };
}

/** cgroup v1 values in an order that is valid when tightening; `unset` also resets unlimited ones (live updates). */
export function cgroup1Values(limits: CgroupLimits, host: HostFacts, unset: boolean): readonly CgroupValue[] {
  const { values, put } = collected(unset);
  const { cpuTime, memory } = limits;
  put('cpuset.cpus', limits.cpus?.join(','), formatCpus(host.onlineCpus));
  const ordinary = cpuTime.percent === 100 && cpuTime.priority === 10;
  const shares =
    cpuTime.quota === undefined && !ordinary ? 10 * cpuTime.percent + 24 - (10 - cpuTime.priority) : undefined;
  put('cpu.shares', shares?.toString(), '1024');
  put('cpu.cfs_period_us', cpuTime.quota?.periodUs.toString(), '100000');
  put('cpu.cfs_quota_us', cpuTime.quota?.quotaUs.toString(), '-1');

  const hard = memory.enforce === 'hard' ? memory.bytes : undefined;
  const soft = memory.enforce === 'soft' || memory.bytes === undefined ? memory.bytes : Math.floor(memory.bytes * 0.9);
  put('memory.limit_in_bytes', hard?.toString(), '-1');
  if (host.hasMemsw) put('memory.memsw.limit_in_bytes', hard?.toString(), '-1');
  put('memory.soft_limit_in_bytes', soft?.toString(), '-1');
  const swappiness = memory.swapPriority === undefined ? undefined : 60 - 10 + memory.swapPriority;
  put('memory.swappiness', memory.swap ? swappiness?.toString() : '0', '60');

  put('pids.max', limits.processes?.toString(), 'max');
  for (const [size, bytes] of limits.hugePages) put(`hugetlb.${size}.limit_in_bytes`, bytes?.toString(), '-1');
  return values;
}

export function cgroup2Values(limits: CgroupLimits, unset: boolean): readonly CgroupValue[] {
  const { values, put } = collected(unset);
  const { cpuTime, memory } = limits;
  put('cpuset.cpus', limits.cpus?.join(','), '');
  const ordinary = cpuTime.quota !== undefined || (cpuTime.percent === 100 && cpuTime.priority === 10);
  const weight = ordinary ? undefined : Math.min(10_000, Math.max(1, cpuTime.percent - (10 - cpuTime.priority)));
  put('cpu.weight', weight?.toString(), '100');
  put('cpu.max', cpuTime.quota && `${cpuTime.quota.quotaUs} ${cpuTime.quota.periodUs}`, 'max 100000');
  put('memory.max', memory.enforce === 'hard' ? memory.bytes?.toString() : undefined, 'max');
  put('memory.high', memory.enforce === 'soft' ? memory.bytes?.toString() : undefined, 'max');
  put('memory.swap.max', memory.swap ? undefined : '0', 'max');
  put('pids.max', limits.processes?.toString(), 'max');
  for (const [size, bytes] of limits.hugePages) put(`hugetlb.${size}.max`, bytes?.toString(), 'max');
  return values;
}

/** Weights exist only with some disk schedulers: written after a start, where an absent file does not matter. */
export function diskValues(limits: CgroupLimits, version: 1 | 2): readonly CgroupValue[] {
  const weight = weightOf(limits.diskPriority) ?? (version === 1 ? 500 : 100);
  const files = version === 1 ? ['blkio.weight', 'blkio.bfq.weight'] : ['io.weight', 'io.bfq.weight'];
  return files.map((file) => ({ file, value: weight.toString() }));
}

function weightOf(priority: number | undefined): number | undefined {
  if (priority === undefined) return undefined;
  return priority === 0 ? 10 : priority * 100;
}

/** Numbers as the kernel writes a cpu list: `0-3,7`. */
export function formatCpus(cpus: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const cpu of cpus) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === cpu - 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
}
