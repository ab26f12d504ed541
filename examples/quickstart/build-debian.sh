#!/bin/sh
# Builds a container image of Debian with systemd, as root: build-debian.sh [OUTPUT.tar.gz]
# It needs debootstrap and a mirror: the one of this machine's apt, or MIRROR; SUITE is stable.
set -eu

out=${1:-$(dirname "$0")/debian.tar.gz}
suite=${SUITE:-stable}
PATH=$PATH:/usr/sbin:/sbin
if ! command -v debootstrap >/dev/null; then
  echo "build-debian.sh: debootstrap was not found: install the package debootstrap" >&2
  exit 1
fi
mirror=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  sed -nE 's%^(deb +(\[[^]]*\] +)?|URIs: *)(https?://[^ ]+/debian/?)( .*)?$%\3%p' | head -n 1)}

work=$(mktemp -d)
# A killed debootstrap may leave mounts, which must not be deleted.
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT TERM
root=$work/rootfs
# resolved needs D-Bus, a virtual package that debootstrap cannot resolve; networkd waits for udev in containers.
debootstrap --variant=minbase --include=systemd-sysv,dbus,udev,systemd-resolved,iproute2 "$suite" "$root" \
  "${mirror:-http://deb.debian.org/debian}" >"$work/log" 2>&1 || { tail -n 3 "$work/log" >&2; exit 1; }

# An address by DHCP, an identity for each container, no packages that were only downloaded.
mkdir -p "$root/etc/systemd/network" "$root/etc/systemd/system/multi-user.target.wants"
printf '[Match]\nName=eth0\n\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/eth0.network"
ln -sf /lib/systemd/system/systemd-networkd.service "$root/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
: >"$root/etc/machine-id"
# debootstrap writes the name of this machine into the image.
mkdir "$work/templates"
echo '{{ container.name }}' >"$work/templates/hostname.tpl"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*

cat >"$work/metadata.yaml" <<METADATA
architecture: $(uname -m)
creation_date: $(date +%s)
properties:
  os: debian
  release: $suite
  description: Debian $suite, made with debootstrap
templates:
  /etc/hostname:
    when: [create, copy]
    template: hostname.tpl
METADATA
tar --numeric-owner --exclude=./rootfs/dev/* -C "$work" -cf - ./metadata.yaml ./templates ./rootfs | gzip -n -6 >"$out.new"
mv "$out.new" "$out"
echo "$out"
