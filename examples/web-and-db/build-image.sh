#!/bin/sh
# Builds the image of both containers: the quickstart's small busybox system plus the two services of this example.
# build-image.sh [OUTPUT.tar.gz]
set -eu

here=$(dirname "$0")
out=${1:-$here/services.tar.gz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sh "$here/../quickstart/build-image.sh" "$work/base.tar.gz" >/dev/null
mkdir "$work/image"
tar -C "$work/image" -xzf "$work/base.tar.gz"
root=$work/image/rootfs
mkdir -p "$root/data" "$root/www/cgi-bin"

# environment.ROLE selects the service of a container.
# shellcheck disable=SC2016
echo '[ -x "/sbin/serve-$ROLE" ] && "/sbin/serve-$ROLE" </dev/null >/dev/null 2>&1 &' >>"$root/etc/init.d/rcS"

# The database: each connection to port 5432 gets the contents of the volume.
cat >"$root/sbin/serve-db" <<'DB'
#!/bin/sh
[ -e /data/message ] || echo 'Hello from the volume' >/data/message
exec nc -ll -p 5432 -e cat /data/message
DB

# The web server: each request queries the database.
cat >"$root/sbin/serve-web" <<'WEB'
#!/bin/sh
exec httpd -f -p 80 -h /www
WEB
cat >"$root/www/cgi-bin/message" <<'CGI'
#!/bin/sh
if text=$(nc -w 2 "$DATABASE" 5432 </dev/null); then
  printf 'Content-Type: text/plain\r\n\r\n%s\n' "$text"
else
  printf 'Status: 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nthe database does not answer\n'
fi
CGI
chmod 755 "$root/sbin/serve-db" "$root/sbin/serve-web" "$root/www/cgi-bin/message"

# The same input gives the same bytes, so the image keeps its fingerprint when it is built again.
tar --sort=name --mtime=@1700000000 --owner=0 --group=0 --numeric-owner -C "$work/image" -cf - metadata.yaml rootfs |
  gzip -n -6 >"$out.new"
mv "$out.new" "$out"
echo "$out"
