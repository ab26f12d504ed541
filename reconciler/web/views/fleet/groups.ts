// Hosts in groups by a label, each with its sets and its usage. Pure.
import type { HostStatus, ObjectCounts, Overview, SetStatusName } from '../../../controller/contract/index.ts';

export interface FleetHost {
  readonly host: HostStatus;
  /** The worst of its sets; offline hosts are failed. */
  readonly status: SetStatusName;
  readonly sets: readonly { readonly name: string; readonly status: SetStatusName }[];
  readonly counts: ObjectCounts;
}

export interface FleetGroup {
  /** The value of the label; undefined: hosts without it. */
  readonly value: string | undefined;
  readonly hosts: readonly FleetHost[];
  readonly total: FleetTotal;
}

export interface FleetTotal {
  readonly hosts: number;
  readonly offline: number;
  readonly objects: number;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly memoryUsedBytes: number;
}

/** The worst first. */
const order: readonly SetStatusName[] = ['failed', 'drifted', 'syncing', 'waiting', 'suspended', 'unknown', 'synced'];

export const labelKeys = ({ hosts }: Pick<Overview, 'hosts'>): readonly string[] =>
  [...new Set(hosts.flatMap(({ labels }) => Object.keys(labels)))].sort();

export function fleetOf({ hosts, sets }: Pick<Overview, 'hosts' | 'sets'>, words: string): readonly FleetHost[] {
  const on = new Map<string, { sets: { name: string; status: SetStatusName }[]; counts: FleetHost['counts'] }>();
  for (const set of sets)
    for (const { host, status, objects } of set.hosts) {
      const before = on.get(host) ?? { sets: [], counts: { total: 0, synced: 0, drifted: 0, failed: 0 } };
      before.sets.push({ name: set.name, status });
      on.set(host, { ...before, counts: added(before.counts, objects) });
    }
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return hosts
    .map((host): FleetHost => {
      const { sets: here = [], counts = added() } = on.get(host.name) ?? {};
      const worst = order.find((status) => here.some((set) => set.status === status)) ?? 'unknown';
      return { host, status: host.status === 'offline' ? 'failed' : worst, sets: here, counts };
    })
    .filter(({ host, sets: here }) => wanted.every((word) => textOf(host, here).includes(word)))
    .toSorted((a, b) => rank(a) - rank(b) || a.host.name.localeCompare(b.host.name, 'en', { numeric: true }));
}

export function groupsOf(fleet: readonly FleetHost[], label: string): readonly FleetGroup[] {
  const groups = new Map<string | undefined, FleetHost[]>();
  for (const one of fleet) {
    const value = label === '' ? undefined : one.host.labels[label];
    const group = groups.get(value);
    if (group) group.push(one);
    else groups.set(value, [one]);
  }
  return [...groups]
    .map(([value, hosts]) => ({ value, hosts, total: totalOf(hosts) }))
    .toSorted((a, b) => Number(a.value === undefined) - Number(b.value === undefined) || compare(a.value, b.value));
}

const compare = (one = '', other = ''): number => one.localeCompare(other, 'en', { numeric: true });
const rank = ({ status }: FleetHost): number => order.indexOf(status);

const textOf = ({ name, labels }: HostStatus, sets: FleetHost['sets']): string =>
  [name, ...Object.entries(labels).map((pair) => pair.join('=')), ...sets.map((set) => set.name)]
    .join(' ')
    .toLowerCase();

const none: ObjectCounts = { total: 0, synced: 0, drifted: 0, failed: 0 };

const added = (one: ObjectCounts = none, other: ObjectCounts = none): ObjectCounts => ({
  total: one.total + other.total,
  synced: one.synced + other.synced,
  drifted: one.drifted + other.drifted,
  failed: one.failed + other.failed,
});

function totalOf(hosts: readonly FleetHost[]): FleetTotal {
  const total = { hosts: 0, offline: 0, objects: 0, cpus: 0, memoryBytes: 0, memoryUsedBytes: 0 };
  for (const { host, counts } of hosts) {
    total.hosts += 1;
    total.offline += host.status === 'offline' ? 1 : 0;
    total.objects += counts.total;
    total.cpus += host.capacity?.cpus ?? 0;
    total.memoryBytes += host.capacity?.memoryBytes ?? 0;
    total.memoryUsedBytes += host.capacity?.memoryUsedBytes ?? 0;
  }
  return total;
}
