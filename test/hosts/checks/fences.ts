// Limits that only the kernel and file systems of a real host enforce: nic filters, confined helpers, block device disks, a full ext4.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { stack } from './containers.ts';
import { api } from './shell.ts';

/** Uploads a file as an image, and prints the result of the operation. */
const importImage = `import_image() {
  url=$(${api} -X POST -H 'Content-Type: application/octet-stream' -H "X-LXD-filename: x" --data-binary "@$1" http://gantryd/1.0/images | grep -o '"operation":"[^"]*"' | cut -d'"' -f4)
  ${api} "http://gantryd$url/wait"
}`;

const filtered = `kind: container
name: kept
profiles: [quick]
source: { type: image, alias: quick/busybox }
devices:
  eth0: { type: nic, nictype: bridged, parent: quick0, name: eth0, security.ipv4_filtering: true, security.ipv6_filtering: true }
  data: { type: disk, source: LOOP, path: /data }`;

export const fenceChecks: readonly Check[] = [
  {
    name: 'a filtered nic reaches its network from its own address only, and the file system of a block device is there',
    async run(host) {
      const text = await host.run(`
        truncate -s 64M /var/tmp/disk; loop=$(losetup -f --show /var/tmp/disk); mkfs.ext4 -q "$loop"
        mount "$loop" /mnt && echo mine >/mnt/mark && umount /mnt
        sed "s,LOOP,$loop," >/var/tmp/kept.yaml <<'END'
${filtered}
END
        gantry apply -f /var/tmp/kept.yaml --set kept --auto-approve >&2
        gantry exec kept -- sh -c '
          until own=$(ip -4 addr show dev eth0 | grep -o "10[.]123[.]0[.][0-9]*" | grep -v 255); do sleep 0.2; done
          other=10.123.0.251; ip addr add $other/24 dev eth0
          ping -q -c 1 -W 5 -I $own 10.123.0.1 >/dev/null && echo "own: reached"
          ping -q -c 2 -W 1 -I $other 10.123.0.1 >/dev/null || echo "other: not reached"
          cat /data/mark'`);
      expectMatch(text, /own: reached\nother: not reached\nmine$/, 'what the container could do');
      await host.run(`gantry destroy -f /var/tmp/kept.yaml --set kept --auto-approve
        losetup -d "$(losetup -j /var/tmp/disk -n -O NAME)"; rm /var/tmp/kept.yaml /var/tmp/disk`);
    },
  },
  {
    name: 'a decompressor that was taken over neither writes nor reads elsewhere, nor connects, and dnsmasq gets no more rights',
    async run(host) {
      const text = await host.run(`${importImage}
        zcat ${stack}/busybox.tar.gz | xz -0 >/var/tmp/box.tar.xz
        printf '#!/bin/bash\\nexec >&2\\ntouch /var/tmp/escaped\\nhead -c 1 /var/lib/gantry/server.key\\necho >/dev/tcp/127.0.0.1/1\\nexit 3\\n' >/usr/local/sbin/xz
        chmod 755 /usr/local/sbin/xz; trap 'rm /usr/local/sbin/xz /var/tmp/box.tar.xz' EXIT
        import_image /var/tmp/box.tar.xz
        [ ! -e /var/tmp/escaped ]`);
      for (const why of [/touch: .*Read-only file system/, /head: .*Permission denied/, /Operation not permitted/])
        expectMatch(text, why, 'what the decompressor said');
      const status = await host.run(
        `grep -E 'NoNewPrivs|CapBnd' /proc/$(pgrep -f 'dnsmasq.*=quick0')/status | tr -d '\\t'`,
      );
      expectSame(status, 'CapBnd:00000000000034c1\nNoNewPrivs:1', 'the rights of dnsmasq');
    },
  },
  {
    name: 'a full ext4, which keeps its last blocks, is said to be full, and there is room again after a deletion',
    async run(host) {
      const text = await host.run(`
        [ "$(cat /sys/fs/ext4/vda/reserved_clusters)" -gt 0 ]
        fallocate -l "$(df --output=avail -B1 / | tail -1)" /var/tmp/most; trap 'rm -f /var/tmp/most /var/tmp/rest' EXIT
        dd if=/dev/zero of=/var/tmp/rest bs=1M 2>/dev/null || true
        make() { ${api} -X POST -d "{\\"name\\":\\"$1\\"}" http://gantryd/1.0/profiles; }
        until make "p$((n=\${n:-0}+1))" | tee /run/answer | grep -q 'disk.*full'; do sleep 0.2; done
        head -c 200 /run/answer; echo
        rm /var/tmp/most /var/tmp/rest
        until make after | grep -q '"status_code":200'; do sleep 0.5; done; echo again
        for name in $(gantry get profile -o name | grep -E '^(p[0-9]+|after)$'); do ${api} -X DELETE http://gantryd/1.0/profiles/$name >/dev/null; done; rm /run/answer`);
      expectMatch(text, /full/, 'the answer on a full disk');
      expectMatch(text, /\nagain$/, 'the end');
    },
  },
];
