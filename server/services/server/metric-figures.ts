// Metrics of running containers, made of their states, and of the process of the server. Names are those of LXD where it has the figure.
import type { ContainerState } from '../../api/container/container.ts';
import type { LoopFigures } from '../../lib/event-loop-monitor.ts';
import type { Labels, Metric } from './metrics-text.ts';

export interface Running {
  readonly labels: Labels;
  readonly state: ContainerState;
}

/** Of one container: its guest may make as many as it likes. */
const maxInterfaces = 32;

type Figure = readonly [name: string, type: Metric['type'], help: string, read: (state: ContainerState) => number];
type Counters = NonNullable<ContainerState['network']>[string]['counters'];

const figures: readonly Figure[] = [
  ['lxd_cpu_seconds_total', 'counter', 'Processor time used.', ({ cpu }) => cpu.usage / 1e9],
  ['lxd_procs_total', 'gauge', 'Processes.', ({ processes }) => processes],
  ['lxd_memory_Swap_bytes', 'gauge', 'Swap used.', ({ memory }) => memory.swap_usage],
  ['gantry_memory_usage_bytes', 'gauge', 'Memory used.', ({ memory }) => memory.usage],
  ['gantry_memory_usage_peak_bytes', 'gauge', 'Most memory used since the start.', ({ memory }) => memory.usage_peak],
];

const ofInterfaces: readonly (readonly [name: string, help: string, counter: keyof Counters])[] = [
  ['lxd_network_receive_bytes_total', 'Bytes received on an interface.', 'bytes_received'],
  ['lxd_network_receive_packets_total', 'Packets received on an interface.', 'packets_received'],
  ['lxd_network_transmit_bytes_total', 'Bytes sent on an interface.', 'bytes_sent'],
  ['lxd_network_transmit_packets_total', 'Packets sent on an interface.', 'packets_sent'],
];

export function figuresOf(running: readonly Running[]): readonly Metric[] {
  const interfaces = running.flatMap(({ labels, state }) =>
    Object.entries(state.network ?? {})
      .slice(0, maxInterfaces)
      .map(([device, { counters }]) => ({ labels: { device, ...labels }, counters })),
  );
  return [
    ...figures.map(([name, type, help, read]) => ({
      name,
      type,
      help,
      samples: running.map(({ labels, state }) => ({ labels, value: read(state) })),
    })),
    ...ofInterfaces.map(([name, help, counter]) => ({
      name,
      type: 'counter' as const,
      help,
      samples: interfaces.map(({ labels, counters }) => ({ labels, value: counters[counter] })),
    })),
  ];
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
