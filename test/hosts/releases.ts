// The distributions that the lane boots, and the packages that each base tree has.

import { cephPackages } from '../support/drivers/ceph-cluster.ts';

export interface Release {
  readonly name: string;
  /** Debian's name for it. */
  readonly suite: string;
  /** Only with --long. */
  readonly long: boolean;
  /** Minutes that its machine `life` takes on a busy host; skipped when fewer remain until GANTRY_HOSTS_DEADLINE. */
  readonly minutes: number;
}

export const releases: readonly Release[] = [
  { name: 'debian-12', suite: 'bookworm', long: false, minutes: 0 },
  { name: 'debian-13', suite: 'trixie', long: false, minutes: 13 },
];

/** The packages of docs/install.md, and those of any Debian server, including the release's kernel. */
export const basePackages: readonly string[] = [
  'linux-image-cloud-amd64 systemd-sysv dbus udev kmod procps iproute2 apparmor curl ca-certificates',
  'lxc uidmap dnsmasq-base nftables busybox-static squashfs-tools xz-utils zstd btrfs-progs',
  'attr acl e2fsprogs',
].flatMap((line) => line.split(' '));

/** Additions to a base tree: packages of other components of the release, and a module that they build for its kernel. */
export interface Extra {
  readonly name: string;
  readonly component: string;
  readonly packages: readonly string[];
  /** The resulting kernel module. */
  readonly module: string;
}

/** Debian ships ZFS only as source, so it is built once for the kernel of the base tree. */
export const zfsExtra: Extra = {
  name: 'zfs',
  component: 'contrib',
  packages: ['linux-headers-cloud-amd64', 'zfs-dkms', 'zfsutils-linux'],
  module: 'zfs',
};

/** The programs of a cluster and of its clients. Its packages take a quarter of an hour to install in a machine. */
export const cephExtra: Extra = {
  name: 'ceph',
  component: '',
  packages: [...cephPackages, 'uuid-runtime'],
  module: 'rbd',
};

export const mirror = process.env['GANTRY_HOSTS_MIRROR'] ?? 'http://deb.debian.org/debian';
