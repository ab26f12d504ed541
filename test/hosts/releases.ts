// The distributions that the lane boots, and the packages that each base tree has.

export interface Release {
  readonly name: string;
  /** Debian's name for it. */
  readonly suite: string;
  /** Only with --long. */
  readonly long: boolean;
}

export const releases: readonly Release[] = [
  { name: 'debian-12', suite: 'bookworm', long: false },
  { name: 'debian-13', suite: 'trixie', long: true },
];

/** What a user of docs/install.md has, and what a server of Debian has anyway. The kernel is the release's own. */
export const basePackages: readonly string[] = [
  'linux-image-cloud-amd64 systemd-sysv dbus udev kmod procps iproute2 apparmor curl ca-certificates',
  'lxc uidmap dnsmasq-base nftables busybox-static squashfs-tools xz-utils zstd btrfs-progs',
  'attr acl e2fsprogs',
].flatMap((line) => line.split(' '));

/** What a base tree has besides: packages of other components of the release, and what they build for its kernel. */
export interface Extra {
  readonly name: string;
  readonly component: string;
  readonly packages: readonly string[];
  /** The kernel module that comes of it. */
  readonly module: string;
}

/** Debian has ZFS as source only: it is built once for the kernel of the base tree. */
export const zfsExtra: Extra = {
  name: 'zfs',
  component: 'contrib',
  packages: ['linux-headers-cloud-amd64', 'zfs-dkms', 'zfsutils-linux'],
  module: 'zfs',
};

export const mirror = process.env['GANTRY_HOSTS_MIRROR'] ?? 'http://deb.debian.org/debian';
