#!/bin/sh
# Builds a small container image (about 1 MB) from the host's static busybox: build-image.sh [OUTPUT.tar.gz]
# On Debian and Ubuntu: apt-get install busybox-static
set -eu

out=${1:-$(dirname "$0")/busybox.tar.gz}
busybox=
for path in /bin/busybox /usr/bin/busybox; do
  if [ -x "$path" ]; then busybox=$path; break; fi
done
if [ -z "$busybox" ]; then
  echo "build-image.sh: busybox was not found: install the package busybox-static" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/rootfs
mkdir -p "$root"/bin "$root"/sbin "$root"/usr/bin "$root"/usr/sbin "$root"/dev "$root"/proc "$root"/sys "$root"/tmp \
  "$root"/run "$root"/root "$root"/etc/init.d "$root"/usr/share/udhcpc "$root"/var
chmod 1777 "$root/tmp"
chmod 700 "$root/root"
cp "$busybox" "$root/bin/busybox"
# The busybox shell makes the links itself, without starting a program for each of hundreds.
"$busybox" sh -s "$busybox" "$root" <<'LINKS'
for applet in $("$1" --list-full); do
  folder=$2/$applet
  [ -d "${folder%/*}" ] || mkdir -p "${folder%/*}"
  [ "$applet" = bin/busybox ] || ln -sf /bin/busybox "$2/$applet"
done
LINKS
ln -sf /bin/busybox "$root/sbin/init"

echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo '127.0.0.1 localhost' >"$root/etc/hosts"

# A clean stop: init runs the shutdown line on the signal of the daemon.
cat >"$root/etc/inittab" <<'INITTAB'
::sysinit:/etc/init.d/rcS
::shutdown:/sbin/poweroff -f
::ctrlaltdel:/sbin/reboot
INITTAB

cat >"$root/etc/init.d/rcS" <<'RCS'
#!/bin/sh
ip link set lo up
if [ -e /sys/class/net/eth0 ]; then
  ip link set eth0 up
  udhcpc -i eth0 -b -t 20 -T 1 -A 1 </dev/null >/dev/null 2>&1 &
fi
RCS
chmod 755 "$root/etc/init.d/rcS"

cat >"$root/usr/share/udhcpc/default.script" <<'UDHCPC'
#!/bin/sh
case "$1" in
  deconfig) ip addr flush dev "$interface" ;;
  bound | renew)
    ip addr flush dev "$interface"
    ip addr add "$ip/${mask:-24}" dev "$interface"
    for r in $router; do ip route replace default via "$r" dev "$interface"; break; done
    : >/etc/resolv.conf
    for d in $dns; do echo "nameserver $d" >>/etc/resolv.conf; done
    # Neighbours may still know the address of a container that had it before.
    arping -q -U -c 1 -I "$interface" "$ip" &
    ;;
esac
UDHCPC
chmod 755 "$root/usr/share/udhcpc/default.script"
mkdir -p "$root/etc/udhcpc"
ln -sf /usr/share/udhcpc/default.script "$root/etc/udhcpc/default.script"

cat >"$work/metadata.yaml" <<METADATA
architecture: $(uname -m)
creation_date: 1700000000
properties:
  os: busybox
  description: Busybox of the host, for trying things out
METADATA

# The same input gives the same bytes, so the image keeps its fingerprint when it is built again.
tar --sort=name --mtime=@1700000000 --owner=0 --group=0 --numeric-owner -C "$work" -cf - metadata.yaml rootfs | gzip -n -6 >"$out.new"
mv "$out.new" "$out"
echo "$out"
