// Metrics of a simulated container: they change with time and respect its limits. Pure.
import type { InterfaceAddress, InterfaceState } from '../../interface-state.ts';
import type { ContainerUsage, NicRun, RuntimeMetrics } from '../driver.ts';
import { type HostFacts, readLimits } from '../cgroup/limits.ts';
import type { SimRunningRecord } from './running-record.ts';

export const simHost: HostFacts = {
  onlineCpus: [0, 1, 2, 3],
  memoryBytes: 8 * 1024 ** 3,
  hasMemsw: true,
  hugePages: ['2MB', '1GB'],
};

const ordinaryMemory = 24 * 1024 * 1024;
const processes = 3;

export function simMetrics(
  state: SimRunningRecord,
  nowMs: number,
  addressesOf: (nic: NicRun) => readonly InterfaceAddress[],
): RuntimeMetrics {
  const aliveMs = Math.max(1, nowMs - state.startedAt);
  const limit = readLimits(state.limits, simHost, undefined).memory.bytes ?? Number.POSITIVE_INFINITY;
  // A slow saw-tooth: different from call to call, equal for the same moment.
  const usage = Math.min(limit, ordinaryMemory + (aliveMs % 1000) * 4096);
  const network = {
    lo: loopback(),
    ...Object.fromEntries(state.run.nics.map((nic) => [nic.name, nicState(nic, aliveMs, addressesOf(nic))])),
  };
  const cpuUsageNs = 5_000_000 + aliveMs * 10_000;
  return {
    initPid: state.initPid,
    processes,
    cpuUsageNs,
    memory: {
      usage,
      usage_peak: Math.min(limit, ordinaryMemory + Math.min(aliveMs, 1000) * 4096),
      swap_usage: 0,
      swap_usage_peak: 0,
    },
    network,
    usage: () => simUsage(cpuUsageNs / 1e9, usage, Math.min(limit, simHost.memoryBytes), network),
  };
}

/** Three quarters of the processor time are user time; half of the memory is file cache; no block device is used. */
function simUsage(
  cpuSeconds: number,
  memory: number,
  memoryTotal: number,
  network: Readonly<Record<string, InterfaceState>>,
): ContainerUsage {
  const half = Math.floor(memory / 2);
  const none = { activeAnon: 0, inactiveFile: 0, dirty: 0, mapped: 0, shmem: 0, unevictable: 0, writeback: 0 };
  const interfaces = Object.entries(network).map(([name, { counters: at }]) => {
    const receive = { bytes: at.bytes_received, packets: at.packets_received, errs: 0, drop: 0 };
    return [name, { receive, transmit: { bytes: at.bytes_sent, packets: at.packets_sent, errs: 0, drop: 0 } }] as const;
  });
  return {
    cpus: [{ cpu: '0', userSeconds: cpuSeconds * 0.75, systemSeconds: cpuSeconds * 0.25 }],
    memory: { ...none, activeFile: half, cached: half, inactiveAnon: memory - half, rss: memory - half },
    memoryTotal,
    disks: [],
    interfaces: Object.fromEntries(interfaces),
  };
}

const counters = (packets: number): InterfaceState['counters'] => ({
  bytes_received: packets * 90,
  bytes_sent: packets * 70,
  packets_received: packets,
  packets_sent: packets,
  errors_received: 0,
  errors_sent: 0,
  packets_dropped_inbound: 0,
  packets_dropped_outbound: 0,
});

function loopback(): InterfaceState {
  return {
    addresses: [
      { family: 'inet', address: '127.0.0.1', netmask: '8', scope: 'local' },
      { family: 'inet6', address: '::1', netmask: '128', scope: 'local' },
    ],
    counters: counters(0),
    hwaddr: '',
    host_name: '',
    mtu: 65_536,
    state: 'up',
    type: 'loopback',
  };
}

function nicState(nic: NicRun, aliveMs: number, leased: readonly InterfaceAddress[]): InterfaceState {
  const hwaddr = nic.hwaddr ?? '00:16:3e:00:00:00';
  return {
    addresses: [
      ...leased,
      ...insideOf(nic),
      { family: 'inet6', address: linkLocal(hwaddr), netmask: '64', scope: 'link' },
    ],
    counters: counters(1 + Math.floor(aliveMs / 100)),
    hwaddr,
    host_name: nic.hostName,
    mtu: nic.mtu ?? 1500,
    state: 'up',
    type: 'broadcast',
  };
}

const insideOf = ({ inside }: NicRun): readonly InterfaceAddress[] =>
  (inside?.addresses ?? []).map((text) => {
    const [address = '', netmask = ''] = text.split('/');
    return { family: address.includes(':') ? 'inet6' : 'inet', address, netmask, scope: 'global' };
  });

/** As the kernel derives it from the hardware address (modified EUI-64). */
export function linkLocal(hwaddr: string): string {
  const bytes = hwaddr.split(':').map((part) => Number.parseInt(part, 16) || 0);
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = bytes;
  const groups = [((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f];
  return `fe80::${groups.map((group) => group.toString(16)).join(':')}`;
}
