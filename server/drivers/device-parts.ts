// The data that devices give to a runtime. Shared so that devices need not know any runtime.
import type { MountFlag } from '../api/devices/index.ts';

/** One line of an id map (serialised like volatile.idmap.*). */
export interface IdMapEntry {
  readonly isuid: boolean;
  readonly isgid: boolean;
  readonly hostid: number;
  readonly nsid: number;
  readonly maprange: number;
}

/** Addresses and default routes that an interface has inside from its start. */
export interface AddressesInside {
  /** Each has its prefix length. */
  readonly addresses: readonly string[];
  /** Next hops; `dev`: the interface itself. */
  readonly gateways: { readonly ipv4?: string; readonly ipv6?: string };
}

/** What a host does that is the router of addresses of a container. */
export interface HostRouting {
  /** Each without prefix length. */
  readonly addresses: readonly string[];
  /** Addresses of the host's end of the cable, without prefix length; none for ipvlan, which has no end on the host. */
  readonly hostAddresses: readonly string[];
  /** Routing tables of the host that have the routes as well. */
  readonly tables: { readonly ipv4?: number; readonly ipv6?: number };
  /** Interface of the host in whose network the host answers for the addresses. */
  readonly parent?: string;
  /** Those that nobody in the network of `parent` may have. */
  readonly probed: readonly string[];
}

export interface NicRun {
  readonly device: string;
  /** veth: a pair of ends; macvlan: a second address of a host interface; ipvlan: a second interface with its address; physical: a host
   *  interface, moved into the container. */
  readonly kind: 'veth' | 'macvlan' | 'ipvlan' | 'physical';
  readonly name: string;
  /** Interface name on the host, at most 15 characters: the veth's host end, or the interface's name while no container has it. */
  readonly hostName: string;
  /** Absent: the interface's own (physical and ipvlan only). */
  readonly hwaddr?: string;
  /** veth: the bridge of the host end, absent for point-to-point. macvlan, ipvlan: the host interface below. */
  readonly link?: string;
  readonly mtu?: number;
  /** Host interface of that VLAN, made if absent; it is then `link` (macvlan, ipvlan), `hostName` (physical) or the parent of `routing`. */
  readonly vlan?: { readonly parent: string; readonly id: number };
  /** An SR-IOV function of `parent`, which takes its address through the parent. */
  readonly virtualFunction?: { readonly parent: string; readonly index: number };
  /** Bits a second into and out of the container (veth only). */
  readonly rates?: { readonly ingress?: number; readonly egress?: number };
  /** ipvlan only. */
  readonly mode?: 'l2' | 'l3s';
  readonly inside?: AddressesInside;
  /** The host drops packets with other source addresses than these and `routes` (veth only). */
  readonly routing?: HostRouting;
  /** Subnets in canonical form that the host routes to `link`, or without one to the host end (veth only). */
  readonly routes?: readonly string[];
  /** The host drops frames with another source address than `hwaddr` (veth only). */
  readonly macFilter?: boolean;
  /** The host drops packets with other source addresses than these; implies `macFilter`. An absent family is unfiltered; an empty list
   *  drops the whole family, except what an IPv6 link itself needs; `none` drops that, too (veth only). */
  readonly ipFilter?: { readonly ipv4?: readonly string[]; readonly ipv6?: readonly string[] | 'none' };
  /** Reaches no other isolated nic of its bridge (veth only). */
  readonly isolated?: boolean;
}

/** A mount to make at start; produced by devices. The root file system is not in this list. */
export interface MountRun {
  readonly device: string;
  readonly source: string;
  /** Absolute path in the container. */
  readonly target: string;
  readonly kind: 'dir' | 'file';
  readonly readonly: boolean;
  readonly optional: boolean;
  readonly recursive: boolean;
  readonly propagation?: string;
  /** More mount options. */
  readonly flags?: readonly MountFlag[];
  /** The source belongs to 0:0 on disk and should belong to the container's root (volumes of pools; host paths on request). */
  readonly idmapped?: boolean;
  /** A user's path, whose files always keep their ids on disk. */
  readonly hostPath?: boolean;
  /** Host directories that confine the mount, whatever links were inserted in its path. Absent: anywhere. */
  readonly within?: readonly string[];
  /** Maps that its files may have on disk (only if `idmapped`), the recorded one first. Absent: unknown. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
  /** `source` is a block device: its file system is mounted, with these options. */
  readonly block?: { readonly fileSystem: string; readonly options: readonly string[] };
  /** Device nodes in it work. */
  readonly nodes?: boolean;
}

export interface NodeRun {
  readonly device: string;
  readonly kind: 'char' | 'block';
  readonly major: number;
  readonly minor: number;
  /** Absolute path in the container. */
  readonly target: string;
  /** Ids as the container sees them. */
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** Throughput of one block device of the host, shared by all processes of a container; undefined = unlimited. */
export interface DiskRate {
  readonly device: string;
  readonly major: number;
  readonly minor: number;
  readonly readBps?: number;
  readonly writeBps?: number;
  readonly readIops?: number;
  readonly writeIops?: number;
}

export interface DeviceParts {
  readonly nics: readonly NicRun[];
  readonly mounts: readonly MountRun[];
  readonly nodes: readonly NodeRun[];
  readonly diskRates: readonly DiskRate[];
}

/** The device name of the daemon's own mounts: no device can have it. */
export const ownMount = '/';

export const noParts: DeviceParts = { nics: [], mounts: [], nodes: [], diskRates: [] };
