// Metrics of running containers, and of the server's process. Names, labels and texts are LXD's if it has the metric. Pure but for the
// process's figures.
import type { ContainerUsage, RuntimeMetrics } from '../../drivers/runtime/driver.ts';
import type { LoopFigures } from '../../lib/event-loop-monitor.ts';
import type { Labels, Metric } from './metrics-text.ts';

/** The file system of the root disk. */
export interface RootSpace {
  readonly fstype: string;
  readonly avail: number;
  readonly free: number;
  readonly size: number;
}

export interface Running {
  readonly name: string;
  readonly project: string;
  readonly metrics: Omit<RuntimeMetrics, 'usage'>;
  readonly usage: ContainerUsage;
  readonly space?: RootSpace;
}

/** Max interfaces shown per container: its guest can make any number. */
const maxInterfaces = 32;

const sum = (one: Running, ...keys: readonly (keyof ContainerUsage['memory'])[]): number =>
  keys.reduce((total, key) => total + one.usage.memory[key], 0);
const free = ({ usage, metrics }: Running): number => Math.max(0, usage.memoryTotal - metrics.memory.usage);

const gauges: readonly (readonly [name: string, help: string, read: (one: Running) => number])[] = [
  ['lxd_procs_total', 'The number of running processes.', ({ metrics }) => metrics.processes],
  [
    'lxd_memory_Active_anon_bytes',
    'The amount of anonymous memory on active LRU list.',
    (one) => sum(one, 'activeAnon'),
  ],
  [
    'lxd_memory_Active_file_bytes',
    'The amount of file-backed memory on active LRU list.',
    (one) => sum(one, 'activeFile'),
  ],
  [
    'lxd_memory_Active_bytes',
    'The amount of memory on active LRU list.',
    (one) => sum(one, 'activeAnon', 'activeFile'),
  ],
  ['lxd_memory_Cached_bytes', 'The amount of cached memory.', (one) => sum(one, 'cached')],
  [
    'lxd_memory_Dirty_bytes',
    'The amount of memory waiting to get written back to the disk.',
    (one) => sum(one, 'dirty'),
  ],
  [
    'lxd_memory_Inactive_anon_bytes',
    'The amount of anonymous memory on inactive LRU list.',
    (one) => sum(one, 'inactiveAnon'),
  ],
  [
    'lxd_memory_Inactive_file_bytes',
    'The amount of file-backed memory on inactive LRU list.',
    (one) => sum(one, 'inactiveFile'),
  ],
  [
    'lxd_memory_Inactive_bytes',
    'The amount of memory on inactive LRU list.',
    (one) => sum(one, 'inactiveAnon', 'inactiveFile'),
  ],
  ['lxd_memory_Mapped_bytes', 'The amount of mapped memory.', (one) => sum(one, 'mapped')],
  ['lxd_memory_MemAvailable_bytes', 'The amount of available memory.', (one) => free(one) + sum(one, 'cached')],
  ['lxd_memory_MemFree_bytes', 'The amount of free memory.', free],
  ['lxd_memory_MemTotal_bytes', 'The most memory that may be used.', ({ usage }) => usage.memoryTotal],
  ['lxd_memory_RSS_bytes', 'The amount of anonymous and swap cache memory.', (one) => sum(one, 'rss')],
  ['lxd_memory_Shmem_bytes', 'The amount of cached filesystem data that is swap-backed.', (one) => sum(one, 'shmem')],
  ['lxd_memory_Swap_bytes', 'The amount of used swap memory.', ({ metrics }) => metrics.memory.swap_usage],
  ['lxd_memory_Unevictable_bytes', 'The amount of unevictable memory.', (one) => sum(one, 'unevictable')],
  ['lxd_memory_Writeback_bytes', 'The amount of memory queued for syncing to disk.', (one) => sum(one, 'writeback')],
  ['gantry_memory_usage_bytes', 'Memory used.', ({ metrics }) => metrics.memory.usage],
  ['gantry_memory_usage_peak_bytes', 'Most memory used since the start.', ({ metrics }) => metrics.memory.usage_peak],
];

const ofDisks = [
  ['lxd_disk_read_bytes_total', 'The total number of bytes read.', 'readBytes'],
  ['lxd_disk_reads_completed_total', 'The total number of completed reads.', 'reads'],
  ['lxd_disk_written_bytes_total', 'The total number of bytes written.', 'writtenBytes'],
  ['lxd_disk_writes_completed_total', 'The total number of completed writes.', 'writes'],
] as const;

const ofSpace = [
  ['lxd_filesystem_avail_bytes', 'The number of available space in bytes.', 'avail'],
  ['lxd_filesystem_free_bytes', 'The number of free space in bytes.', 'free'],
  ['lxd_filesystem_size_bytes', 'The size of the filesystem in bytes.', 'size'],
] as const;

const directions = [
  ['receive', 'received'],
  ['transmit', 'transmitted'],
] as const;
const ofPackets = [
  ['bytes', (verb: string) => `The amount of ${verb} bytes on a given interface.`],
  ['drop', (verb: string) => `The amount of ${verb} dropped packets on a given interface.`],
  ['errs', (verb: string) => `The amount of ${verb} errors on a given interface.`],
  ['packets', (verb: string) => `The amount of ${verb} packets on a given interface.`],
] as const;

const labelsOf = ({ name, project }: Running): Labels => ({ name, project, type: 'container' });

export function figuresOf(running: readonly Running[]): readonly Metric[] {
  return [
    ...cpuMetrics(running),
    ...ofDisks.map(([name, help, key]) => ({
      name,
      type: 'counter' as const,
      help,
      samples: running.flatMap((one) =>
        one.usage.disks.map((disk) => ({ labels: { device: disk.device, ...labelsOf(one) }, value: disk[key] })),
      ),
    })),
    ...ofSpace.map(([name, help, key]) => ({
      name,
      type: 'gauge' as const,
      help,
      samples: running.flatMap(({ space, name: container, project }) => {
        const labels = { device: '', fstype: space?.fstype ?? '', mountpoint: '/', name: container, project };
        return space === undefined ? [] : [{ labels, value: space[key] }];
      }),
    })),
    ...gauges.map(([name, help, read]) => ({
      name,
      type: 'gauge' as const,
      help,
      samples: running.map((one) => ({ labels: labelsOf(one), value: read(one) })),
    })),
    ...interfaceMetrics(running),
  ];
}

function cpuMetrics(running: readonly Running[]): readonly Metric[] {
  const samples = running.flatMap((one) =>
    one.usage.cpus.flatMap(({ cpu, systemSeconds, userSeconds }) => [
      { labels: { cpu, mode: 'system', ...labelsOf(one) }, value: systemSeconds },
      { labels: { cpu, mode: 'user', ...labelsOf(one) }, value: userSeconds },
    ]),
  );
  const help = 'The total number of CPU time used in seconds.';
  return [{ name: 'lxd_cpu_seconds_total', type: 'counter', help, samples }];
}

function interfaceMetrics(running: readonly Running[]): readonly Metric[] {
  const interfaces = running.flatMap((one) =>
    Object.entries(one.usage.interfaces)
      .slice(0, maxInterfaces)
      .map(([device, counters]) => ({ labels: { device, ...labelsOf(one) }, counters })),
  );
  return directions.flatMap(([direction, verb]) =>
    ofPackets.map(([counter, help]) => ({
      name: `lxd_network_${direction}_${counter}_total`,
      type: 'counter' as const,
      help: help(verb),
      samples: interfaces.map(({ labels, counters }) => ({ labels, value: counters[direction][counter] })),
    })),
  );
}

export function processMetrics({ longestMs, overLimit }: LoopFigures): readonly Metric[] {
  const { user, system } = process.cpuUsage();
  const one = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
    name,
    type,
    help,
    samples: [{ labels: {}, value }],
  });
  return [
    one('gantry_event_loop_longest_seconds', 'gauge', 'The longest time the event loop was held.', longestMs / 1000),
    one('gantry_event_loop_blocks_total', 'counter', 'Times the event loop was held above its limit.', overLimit),
    one('process_cpu_seconds_total', 'counter', 'Processor time of the server.', (user + system) / 1e6),
    one('process_resident_memory_bytes', 'gauge', 'Memory of the server.', process.memoryUsage.rss()),
    one('lxd_uptime_seconds', 'gauge', 'Time since the start of the server.', Math.floor(process.uptime())),
  ];
}
