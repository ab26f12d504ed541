// What devices give a runtime at start: data only. Shared so that devices need not know any runtime.

/** A network interface to make at start; produced by devices. */
export interface NicRun {
  /** Device name in the container's `devices`. */
  readonly device: string;
  readonly kind: 'veth';
  /** Interface name inside the container (eth0). */
  readonly name: string;
  /** Interface name on the host, at most 15 characters. */
  readonly hostName: string;
  readonly hwaddr: string;
  /** Bridge that the host end joins; absent for point-to-point. */
  readonly link?: string;
  readonly mtu?: number;
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
  /** The source belongs to 0:0 on disk and is to belong to the container's root (volumes of pools; never host paths of users). */
  readonly idmapped?: boolean;
}
