// LXD's additions to this contract, and the extensions behind shared parts: config keys, device types and properties, each with its API
// extension. Only names and the effect of a change; the server checks values, or this contract if it has a row. Source: API extensions of
// LXD 5.0, tried on 5.0.2.
import type { DeviceConfig, Devices } from '../devices/index.ts';
import { isGpu } from '../devices/gpu.ts';
import { isNic } from '../devices/nic.ts';
import { extensions } from './extensions.ts';
import type { Effect } from '../schema/field.ts';
import type { Problem } from '../problem.ts';

export interface LxdKey {
  /** API extension that introduced it. */
  readonly since: string;
  readonly effect: Effect;
  /** false: only the prefix is known; only the server knows whether the key exists. */
  readonly isNamed: boolean;
}

export type LxdPlace = 'container' | 'network' | 'storage_pool' | 'storage_volume' | 'server_config' | 'project';

/** This daemon has the extension too: the contract has rows for its keys and checks them. */
export const isServedHere = (since: string): boolean => extensions.includes(since);

/** Placeholder for keys without an LXD extension: every current LXD has them. */
const today = 'instances';

type Rows = readonly (readonly [since: string, effect: Effect, keys: string])[];

/** Keys by extension; `*` matches any rest. */
const rows: Readonly<Record<LxdPlace, Rows>> = {
  container: [
    [
      'container_syscall_intercept',
      'restart',
      'security.syscalls.intercept.mknod security.syscalls.intercept.setxattr',
    ],
    [
      'container_syscall_intercept_mount',
      'restart',
      'security.syscalls.intercept.mount security.syscalls.intercept.mount.allowed security.syscalls.intercept.mount.shift',
    ],
    ['container_syscall_intercept_mount_fuse', 'restart', 'security.syscalls.intercept.mount.fuse'],
    [
      'container_syscall_intercept_bpf_devices',
      'restart',
      'security.syscalls.intercept.bpf security.syscalls.intercept.bpf.devices',
    ],
    ['container_syscall_intercept_sched_setscheduler', 'restart', 'security.syscalls.intercept.sched_setscheduler'],
    ['migration_stateful', 'restart', 'migration.stateful'],
    ['agent_nic_config', 'restart', 'agent.nic_config'],
    ['qemu_metrics', 'restart', 'security.agent.metrics'],
    ['qemu_raw_conf', 'restart', 'raw.qemu.conf'],
    ['virtual-machines', 'restart', 'raw.qemu security.secureboot limits.memory.hugepages'],
  ],
  network: [
    ['network_bgp', 'live', 'bgp.peers.* bgp.ipv4.nexthop bgp.ipv6.nexthop'],
    ['network_dns_search', 'live', 'dns.search'],
    ['network_dns', 'live', 'dns.zone.forward dns.zone.reverse.ipv4 dns.zone.reverse.ipv6 dns.nameservers'],
    ['network_nat_address', 'live', 'ipv4.nat.address ipv6.nat.address'],
    ['network_type_ovn', 'live', 'ipv4.ovn.ranges ipv6.ovn.ranges ovn.ingress_mode network'],
    ['network_bridge_acl', 'live', 'security.acls security.acls.*'],
    ['network_gvrp', 'live', 'gvrp'],
    ['network_type_macvlan', 'live', 'parent mtu vlan'],
    ['network_type_physical', 'live', 'ipv4.gateway ipv6.gateway ipv4.routes.anycast ipv6.routes.anycast'],
  ],
  storage_pool: [
    ['storage_rsync_compression', 'live', 'rsync.compression'],
    ['ceph_rbd_du', 'live', 'ceph.rbd.du'],
    ['storage_cephfs', 'recreate', 'cephfs.*'],
    ['storage_lvm_thinpool_metadata_size', 'recreate', 'lvm.thinpool_metadata_size'],
    ['storage_lvm_vg_force_reuse', 'recreate', 'lvm.vg.force_reuse'],
    ['storage_zfs_export', 'live', 'zfs.export'],
    [
      'volume_snapshot_scheduling',
      'live',
      'volume.snapshots.expiry volume.snapshots.pattern volume.snapshots.schedule',
    ],
    [today, 'live', 'volume.*'],
  ],
  storage_volume: [
    ['volume_snapshot_scheduling', 'live', 'snapshots.expiry snapshots.pattern snapshots.schedule'],
    ['storage_lvm_stripes', 'recreate', 'lvm.stripes lvm.stripes.size'],
    ['storage_zfs_blocksize', 'recreate', 'zfs.blocksize'],
    ['storage_zfs_reserve_space', 'live', 'zfs.reserve_space'],
  ],
  server_config: [
    ['network_bgp', 'live', 'core.bgp_address core.bgp_asn core.bgp_routerid'],
    ['network_dns', 'live', 'core.dns_address'],
    ['rbac', 'live', 'rbac.*'],
    ['clustering_sizing', 'live', 'cluster.max_standby'],
    ['network_type_ovn', 'live', 'network.ovn.integration_bridge network.ovn.northbound_connection'],
    ['daemon_storage', 'live', 'storage.backups_volume storage.images_volume'],
  ],
  project: [],
};

const serverDefaults: Readonly<Record<string, string>> = {
  'cluster.max_standby': '2',
  'core.shutdown_timeout': '5',
  'network.ovn.integration_bridge': 'br-int',
  'network.ovn.northbound_connection': 'unix:/var/run/ovn/ovnnb_db.sock',
  'rbac.api.expiry': '3600',
  'rbac.expiry': '3600',
};

/** A server does not return values that equal the default. */
export const lxdServerDefault = (key: string): string | undefined =>
  Object.hasOwn(serverDefaults, key) ? serverDefaults[key] : undefined;

/** Prefixes of keys that newer servers have and this contract lacks. */
const spaces: Readonly<Record<LxdPlace, RegExp>> = {
  container:
    /^(agent|boot|cloud-init|cluster|limits|linux|migration|nvidia|oci|placement|raw|security|snapshots|ubuntu_pro)\../,
  network: /^(acls|bgp|bridge|dns|ipv4|ipv6|ovn|security)\../,
  storage_pool: /^(btrfs|ceph|cephfs|cephobject|lvm|powerflex|rsync|source|volume|zfs)\../,
  storage_volume: /^(block|lvm|security|snapshots|zfs)\../,
  server_config:
    /^(acme|backups|cluster|core|images|instances|logging|loki|network|oidc|openfga|rbac|replicas|storage)\../,
  project: /^(backups|features|images|limits|restricted|snapshots)\../,
};

const tables = new Map(
  Object.entries(rows).map(([place, list]) => [
    place,
    list.flatMap(([since, effect, keys]) =>
      keys.split(' ').map((key) => ({ key, row: { since, effect, isNamed: true } satisfies LxdKey })),
    ),
  ]),
);

/** As written in manifests; patterns end with `*`. */
export const lxdKeyNames = (place: LxdPlace): readonly string[] => (tables.get(place) ?? []).map(({ key }) => key);

/** Only for keys outside this contract. */
export function lxdKey(place: LxdPlace, key: string): LxdKey | undefined {
  const found = (tables.get(place) ?? []).find(({ key: name }) =>
    name.endsWith('*') ? key.startsWith(name.slice(0, -1)) && key.length >= name.length : name === key,
  );
  if (found !== undefined) return found.row;
  return spaces[place].test(key) ? { since: today, effect: 'live', isNamed: false } : undefined;
}

/** Types of managed networks besides bridges. */
export const lxdNetworkTypes: Readonly<Record<string, string>> = {
  macvlan: 'network_type_macvlan',
  sriov: 'network_type_sriov',
  ovn: 'network_type_ovn',
  physical: 'network_type_physical',
};

export const lxdDeviceTypes: Readonly<Record<string, string>> = {
  'unix-hotplug': 'unix_hotplug_devices',
  tpm: 'tpm_device_type',
  pci: 'pci_device_type',
};

const nicTypes: Readonly<Record<string, string>> = {
  ovn: 'network_type_ovn',
};

const gpuTypes: Readonly<Record<string, string>> = { mdev: 'gpu_mdev', mig: 'gpu_mig', sriov: 'gpu_sriov' };

const properties: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  nic: {
    acceleration: 'ovn_nic_acceleration',
    gvrp: 'network_gvrp',
    'ipv4.routes': 'container_nic_routes',
    'ipv6.routes': 'container_nic_routes',
    nested: today,
    'security.acls': 'network_ovn_acl',
    'security.acls.default.egress.action': 'network_ovn_acl_defaults',
    'security.acls.default.egress.logged': 'network_ovn_acl_defaults',
    'security.acls.default.ingress.action': 'network_ovn_acl_defaults',
    'security.acls.default.ingress.logged': 'network_ovn_acl_defaults',
    vlan: 'instance_nic_bridged_vlan',
    'vlan.tagged': 'instance_nic_bridged_vlan',
  },
  disk: {
    'ceph.cluster_name': 'container_disk_ceph',
    'ceph.user_name': 'container_disk_ceph',
    'raw.mount.options': 'container_raw_mount',
    'size.state': 'disk_state_quota',
  },
  gpu: {
    mdev: 'gpu_mdev',
    'mig.ci': 'gpu_mig',
    'mig.gi': 'gpu_mig',
    'mig.uuid': 'gpu_mig_uuid',
  },
};

export const lxdPropertyNames = (type: string): readonly string[] => Object.keys(of(properties, type) ?? {});

const propertySpace = /^(acls|boot|ceph|initial|io|ipv4|ipv6|limits|queue|raw|security|source)\../;

const of = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** The extension that the device requires whatever its properties: only LXD has its type or kind. */
export const lxdDevice = (device: DeviceConfig): { readonly property: string; readonly since: string } | undefined => {
  const type = of(lxdDeviceTypes, device['type'] ?? '');
  if (type !== undefined) return { property: 'type', since: type };
  const gpu = isGpu(device) ? of(gpuTypes, device['gputype'] ?? '') : undefined;
  if (gpu !== undefined) return { property: 'gputype', since: gpu };
  const nic = isNic(device) ? of(nicTypes, device['nictype'] ?? '') : undefined;
  return nic === undefined ? undefined : { property: 'nictype', since: nic };
};

/** Only for properties that this contract lacks for such a device. */
export function lxdProperty(type: string, property: string): Omit<LxdKey, 'effect'> | undefined {
  const since = of(of(properties, type) ?? {}, property);
  if (since !== undefined) return { since, isNamed: true };
  return propertySpace.test(property) ? { since: today, isNamed: false } : undefined;
}

/** Removes problems with keys that only LXD has; a server with those keys checks them itself. Near misses of known words remain problems. */
export const withoutKeysOfLxd = (place: LxdPlace, problems: readonly Problem[]): Problem[] =>
  problems.filter(
    ({ path, code, near }) => code !== 'unknownKey' || near !== undefined || lxdKey(place, restOf(path)) === undefined,
  );

/** The device that the path of a problem leads to. Names of devices have dots, too: the longest that fits. */
const deviceAt = (devices: Devices, path: string): string | undefined =>
  Object.keys(devices)
    .filter((name) => `${restOf(path)}.`.startsWith(`${name}.`))
    .toSorted((a, b) => b.length - a.length)[0];

/** The same for devices: types, kinds and properties. */
export const withoutDevicesOfLxd = (devices: Devices, problems: readonly Problem[]): Problem[] =>
  problems.filter(({ path, code, near }) => {
    const name = deviceAt(devices, path);
    const device = name === undefined ? undefined : devices[name];
    if (name === undefined || device === undefined) return true;
    if (lxdDevice(device) !== undefined) return false;
    const isUnknown = (code === 'unknownProperty' || code === 'foreignProperty') && near === undefined;
    const row = isUnknown ? lxdProperty(device['type'] ?? '', restOf(path).slice(name.length + 1)) : undefined;
    return row === undefined || isServedHere(row.since);
  });

const restOf = (path: string): string => path.slice(path.indexOf('.') + 1);
