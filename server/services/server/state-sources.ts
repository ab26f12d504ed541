// The sources of warnings about states: other parts of the daemon report their problems.
import type { WarningType } from '../../api/server/warning-types.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { HostFeature, RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { Records } from '../../records/records.ts';
import { limitingPools, rootSize } from '../storage/root-size.ts';
import type { ContainerView } from '../shared/container-view.ts';
import type { FoundState, WarningBook } from '../warnings/warning-book.ts';
import type { StateSource } from '../warnings/warning-watch.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

type Problems = { readonly problems: ReadonlyMap<string, string> };

export interface StateSourcesDeps {
  readonly records: Records;
  readonly cluster: Pick<Cluster, 'isOn' | 'members'>;
  readonly runtime: Pick<RuntimeDriver, 'missing'>;
  readonly view: Pick<ContainerView, 'expanded'>;
  readonly canLimit: (pool: string) => boolean;
  readonly book: Pick<WarningBook, 'isOpen'>;
  /** If several report the same object, the last one counts. */
  readonly pools: readonly Problems[];
  readonly networks: readonly Problems[];
  readonly undos: { readonly problems: readonly string[] };
  readonly listeners: { readonly problems: readonly string[] };
  readonly maas: { readonly problems: readonly string[] };
  readonly fencing: { readonly problem: string | undefined };
  readonly certificate: { readonly problem: string | undefined };
  readonly store: { readonly problem: string | undefined };
  readonly etcd: { readonly ownWarnings: readonly string[]; readonly storeWarnings: readonly string[] };
  /** Why the disk takes no writes. */
  readonly disk: () => string | undefined;
}

export function stateSources(deps: StateSourcesDeps): readonly StateSource[] {
  const { undos, listeners, maas, fencing, certificate, disk } = deps;
  return [
    objects('pool', 'pools', deps.pools),
    objects('network', 'networks', deps.networks),
    texts('undo', () => undos.problems),
    texts('listener', () => listeners.problems),
    texts('maas', () => maas.problems),
    texts('diskFull', () => listOf(disk())),
    { types: ['offlineMember'], find: () => offlineMembers(deps) },
    { types: ['store'], find: () => storeStates(deps) },
    ofMember('guard', deps, () => listOf(fencing.problem)),
    ofMember('clusterCertificate', deps, () => listOf(certificate.problem)),
    { types: ['rootSize'], find: () => sizesWithoutEffect(deps) },
    { types: featureTypes, find: () => missingFeatures(deps) },
  ];
}

const listOf = (text: string | undefined): readonly string[] => (text === undefined ? [] : [text]);

const objects = (type: WarningType, kind: 'pools' | 'networks', parts: readonly Problems[]): StateSource => ({
  types: [type],
  find: () => {
    const all = new Map(parts.flatMap(({ problems }) => [...problems]));
    return [...all].map(([name, message]) => ({ type, message, entity: { kind, name } }));
  },
});

const texts = (type: WarningType, problems: () => readonly string[]): StateSource => ({
  types: [type],
  find: () => joinedState(type, problems()),
});

function joinedState(
  type: WarningType,
  problems: readonly string[],
  entity?: FoundState['entity'],
): readonly FoundState[] {
  if (problems.length === 0) return [];
  return [{ type, message: problems.join('; '), ...withoutUndefined({ entity }) }];
}

/** Warnings about this member itself. */
const ofMember = (type: WarningType, deps: StateSourcesDeps, problems: () => readonly string[]): StateSource => ({
  types: [type],
  find: () => (deps.cluster.isOn ? joinedState(type, problems(), memberEntity(deps.cluster.members.here)) : []),
});

const memberEntity = (number: number) => ({ kind: 'members', name: String(number) }) as const;

/** Whether this member reports what every member sees: the present one with the lowest number does. */
function isReporter({ cluster }: StateSourcesDeps): boolean {
  if (!cluster.isOn) return true;
  const present = cluster.members.list().filter(({ isPresent }) => isPresent);
  return Math.min(...present.map(({ number }) => number)) === cluster.members.here;
}

function storeStates(deps: StateSourcesDeps): readonly FoundState[] {
  const { cluster, etcd, store } = deps;
  const own = cluster.isOn ? joinedState('store', etcd.ownWarnings, memberEntity(cluster.members.here)) : [];
  if (!isReporter(deps)) return own;
  const ofAll = etcd.storeWarnings.length > 0 ? etcd.storeWarnings : listOf(store.problem);
  return [...own, ...joinedState('store', ofAll)];
}

/** Does not repeat another present member's open warning; keeps its own until the cause is over. */
function offlineMembers(deps: StateSourcesDeps): readonly FoundState[] {
  const { cluster, book } = deps;
  if (!cluster.isOn) return [];
  const type = 'offlineMember';
  return cluster.members.list().flatMap(({ name, number, address, isPresent }) => {
    const entity = memberEntity(number);
    if (isPresent || !(book.isOpen(type, entity) || isReporter(deps))) return [];
    const message = `The member ${name} (${address}) has not renewed its lease: it has stopped, or cannot reach the store`;
    return [{ type, entity, message }];
  });
}

interface FeatureRow {
  readonly type: WarningType;
  /** Keys of containers that have no effect without it. */
  readonly keys: readonly string[];
  readonly what: string;
}

const features: Readonly<Record<Exclude<HostFeature, 'apparmor' | 'apparmorParser'>, FeatureRow>> = {
  'blkio.weight': {
    type: 'cgroupBlkioWeight',
    keys: ['limits.disk.priority'],
    what: 'weights for block devices in its control groups',
  },
  cpu: {
    type: 'cgroupCpu',
    keys: ['limits.cpu.allowance', 'limits.cpu.priority'],
    what: 'the control group controller cpu',
  },
  cpuset: { type: 'cgroupCpuset', keys: ['limits.cpu'], what: 'the control group controller cpuset' },
  memory: { type: 'cgroupMemory', keys: ['limits.memory'], what: 'the control group controller memory' },
  'memory.swap': {
    type: 'cgroupMemorySwap',
    keys: ['limits.memory.swap'],
    what: 'accounting of swap in its control groups',
  },
  pids: { type: 'cgroupPids', keys: ['limits.processes'], what: 'the control group controller pids' },
};
const withoutApparmor = {
  apparmor: 'the kernel has no AppArmor',
  apparmorParser: 'apparmor_parser is missing; install the package apparmor, then restart gantryd and the containers',
} as const;
const featureTypes: readonly WarningType[] = [
  'apparmor',
  'apparmorParser',
  ...Object.values(features).map(({ type }) => type),
];
const namedAtMost = 5;

/** A missing cgroup controller matters only if a container needs it. */
function missingFeatures({ runtime, records, view }: StateSourcesDeps): readonly FoundState[] {
  return (runtime.missing ?? []).flatMap((feature): readonly FoundState[] => {
    if (feature === 'apparmor' || feature === 'apparmorParser')
      return [{ type: feature, message: `Containers have no AppArmor profile: ${withoutApparmor[feature]}` }];
    const { type, keys, what } = features[feature];
    const users = records.containers
      .list()
      .filter((entry) => keys.some((key) => (view.expanded(entry).config[key] ?? '') !== ''))
      .map(({ name }) => name);
    if (users.length === 0) return [];
    return [{ type, message: `The kernel lacks ${what}, so ${keys.join(' and ')} of ${named(users)} have no effect` }];
  });
}

function named(users: readonly string[]): string {
  const more = users.length > namedAtMost ? ` and ${users.length - namedAtMost} more` : '';
  return `${users.slice(0, namedAtMost).join(', ')}${more}`;
}

function sizesWithoutEffect({ records, view, canLimit }: StateSourcesDeps): readonly FoundState[] {
  return records.pools.list().flatMap(({ name: pool, document: { driver } }): readonly FoundState[] => {
    if (canLimit(pool)) return [];
    const users = records.containers
      .list()
      .filter((entry) => entry.document.pool === pool && rootSize(view.expanded(entry).devices) !== undefined)
      .map(({ name }) => name);
    if (users.length === 0) return [];
    const message = `The pool ${pool} of driver ${driver} cannot limit directories, so size of the root disks of ${named(users)} has no effect; use ${limitingPools}`;
    return [{ type: 'rootSize', entity: { kind: 'pools', name: pool }, message }];
  });
}
