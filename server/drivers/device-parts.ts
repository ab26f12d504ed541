// The data that devices give to a runtime. Shared so that devices need not know any runtime.
import type { MountFlag } from '../api/devices/index.ts';

/** One line of an id map (the serialised form is the one of volatile.idmap.*). */
export interface IdMapEntry {
  readonly isuid: boolean;
  readonly isgid: boolean;
  readonly hostid: number;
  readonly nsid: number;
  readonly maprange: number;
}

/** A network interface of a container; produced by devices. */
export interface NicRun {
  /** Device name in the container's `devices`. */
  readonly device: string;
  /** veth: a cable of two ends; macvlan: a second address of a host interface; physical: a host interface, moved into the container. */
  readonly kind: 'veth' | 'macvlan' | 'physical';
  /** Interface name inside the container (eth0). */
  readonly name: string;
  /** Interface name on the host, at most 15 characters: the veth's other end, or the name of the interface while no container has it. */
  readonly hostName: string;
  /** Absent: as the interface has it (physical only). */
  readonly hwaddr?: string;
  /** veth: bridge that the host end joins, absent for point-to-point. macvlan: the host interface below. */
  readonly link?: string;
  readonly mtu?: number;
  /** Host interface of that VLAN, to be made when absent; it is then `link` (macvlan) or `hostName` (physical). */
  readonly vlan?: { readonly parent: string; readonly id: number };
  /** An SR-IOV function of `parent`, which takes its address through the parent. */
  readonly virtualFunction?: { readonly parent: string; readonly index: number };
  /** Bits a second into and out of the container (veth only). */
  readonly rates?: { readonly ingress?: number; readonly egress?: number };
  /** Subnets in canonical form that the host routes to `link`, without one to the host's end (veth only). */
  readonly routes?: readonly string[];
  /** Frames with another source address than `hwaddr` are dropped on the host (veth only). */
  readonly macFilter?: boolean;
  /** Packets with other source addresses than these are dropped on the host, which includes `macFilter`. A family that is absent is not looked at;
   *  an empty list lets nothing of it through but, for IPv6, what the link itself needs; `none` not even that (veth only). */
  readonly ipFilter?: { readonly ipv4?: readonly string[]; readonly ipv6?: readonly string[] | 'none' };
  /** It reaches no other isolated nic of its bridge (veth only). */
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
  /** More options of the mount. */
  readonly flags?: readonly MountFlag[];
  /** The source belongs to 0:0 on disk and is to belong to the container's root (volumes of pools; host paths on request). */
  readonly idmapped?: boolean;
  /** A path of the user's, whose files keep their ids on disk whatever happens. */
  readonly hostPath?: boolean;
  /** Directories of the host: what is mounted lies below one of them, whatever links were put in the way. Absent: anywhere. */
  readonly within?: readonly string[];
  /** Maps that its files may be in on disk (only if `idmapped`), the recorded one first. Absent: not known. */
  readonly fileMaps?: readonly (readonly IdMapEntry[])[];
  /** `source` is a block device: the file system on it is mounted, with these options of its own. */
  readonly block?: { readonly fileSystem: string; readonly options: readonly string[] };
  /** Device nodes in it work. */
  readonly nodes?: boolean;
}

/** A device node in a container. */
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

/** Throughput of one block device of the host, for all of a container together; undefined = unlimited. */
export interface DiskRate {
  readonly device: string;
  readonly major: number;
  readonly minor: number;
  readonly readBps?: number;
  readonly writeBps?: number;
  readonly readIops?: number;
  readonly writeIops?: number;
}

/** Everything that one device brings into a running container. */
export interface DeviceParts {
  readonly nics: readonly NicRun[];
  readonly mounts: readonly MountRun[];
  readonly nodes: readonly NodeRun[];
  readonly diskRates: readonly DiskRate[];
}

/** Stands where a device is named for what the daemon itself mounts: no device can be called so. */
export const ownMount = '/';

export const noParts: DeviceParts = { nics: [], mounts: [], nodes: [], diskRates: [] };
