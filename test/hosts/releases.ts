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

export const mirror = process.env['GANTRY_HOSTS_MIRROR'] ?? 'http://deb.debian.org/debian';
