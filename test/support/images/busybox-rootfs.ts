// Makes a small root file system for tests out of the host's static busybox: init, shell, DHCP client, quick shutdown.
// Makes no image of it and starts nothing.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { chmod, copyFile, lchown, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

export interface BusyboxOptions {
  /** Ask for an IPv4 lease on eth0 in the background at boot (when eth0 exists). Default true. */
  readonly dhcp?: boolean;
  /** Keep a root shell on the console, for console tests. Default false. */
  readonly consoleShell?: boolean;
  /** Leave busybox and its links out: the simulation starts no programs, and unpacks such an image in a tenth of the time. */
  readonly withoutPrograms?: boolean;
  /** A shell script run as /sbin/init instead of busybox init. */
  readonly init?: string;
  /** Ignore requests to shut down, for tests of time limits: only a forced stop ends such a container. */
  readonly deafToShutdown?: boolean;
  /** Numeric owner of everything made; default is the caller. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

const candidates = ['/bin/busybox', '/usr/bin/busybox', '/usr/sbin/busybox'] as const;

/** The reason why a busybox rootfs cannot be made here; undefined when it can. */
export function busyboxMissing(): string | undefined {
  const file = candidates.find((path) => existsSync(path));
  if (process.platform !== 'linux') return 'busybox rootfs needs Linux';
  if (file === undefined) return 'busybox is not installed (package busybox-static)';
  return undefined;
}

// In the background: a boot must not wait for a missing DHCP server.
const askForLease = `if [ -e /sys/class/net/eth0 ]; then
  ip link set eth0 up
  udhcpc -i eth0 -s /usr/share/udhcpc/default.script -b -t 20 -T 1 -A 1 </dev/null >/dev/null 2>&1 &
fi
`;

const rcS = (dhcp: boolean): string => `#!/bin/sh
ip link set lo up
${dhcp ? askForLease : ''}[ -x /etc/rc.local ] && /etc/rc.local
: > /run/booted
`;

const udhcpcScript = `#!/bin/sh
case "$1" in
  deconfig) ip addr flush dev "$interface"; ip link set "$interface" up ;;
  bound|renew)
    ip addr flush dev "$interface"
    ip addr add "$ip/\${mask:-24}" dev "$interface"
    for r in $router; do ip route replace default via "$r" dev "$interface"; break; done
    : > /etc/resolv.conf
    [ -n "$domain" ] && echo "search $domain" >> /etc/resolv.conf
    for d in $dns; do echo "nameserver $d" >> /etc/resolv.conf; done ;;
esac
`;

// reboot(2) at once: busybox init's own way sleeps two seconds. Started by init on SIGPWR/SIGUSR1/SIGUSR2.
const inittab = (options: BusyboxOptions): string =>
  [
    '::sysinit:/etc/init.d/rcS',
    ...(options.consoleShell === true ? ['::respawn:-/bin/sh'] : []),
    options.deafToShutdown === true ? '::shutdown:/bin/sleep 3600' : '::shutdown:/sbin/poweroff',
    '::ctrlaltdel:/sbin/reboot',
    '',
  ].join('\n');

/** Fills `dir` (made when absent, otherwise empty). A clean stop takes some 20 ms; `poweroff` and `reboot` inside are immediate. */
export async function makeBusyboxRootfs(dir: string, options: BusyboxOptions = {}): Promise<void> {
  const source = candidates.find((path) => existsSync(path));
  if (source === undefined) throw new Error('no busybox on this host: install busybox-static');
  const made: string[] = [dir];
  const directory = async (path: string, mode = 0o755): Promise<void> => {
    await mkdir(join(dir, path), { recursive: true });
    await chmod(join(dir, path), mode);
    made.push(join(dir, path));
  };
  const file = async (path: string, content: string, mode = 0o644): Promise<void> => {
    await writeFile(join(dir, path), content, { mode });
    await chmod(join(dir, path), mode);
    made.push(join(dir, path));
  };

  await mkdir(dir, { recursive: true });
  const directories =
    'bin sbin usr usr/bin usr/sbin lib usr/share usr/share/udhcpc etc etc/init.d dev proc sys run var var/log mnt home srv opt';
  for (const path of directories.split(' ')) {
    await directory(path);
  }
  await directory('root', 0o700);
  await directory('tmp', 0o1777);

  if (options.withoutPrograms !== true) {
    await copyFile(source, join(dir, 'bin/busybox'));
    await chmod(join(dir, 'bin/busybox'), 0o755);
    made.push(join(dir, 'bin/busybox'));
    linkApplets(source, dir, options.init === undefined ? ['sbin/init'] : [], made);
  }

  for (const verb of ['poweroff', 'reboot', 'halt']) {
    await file(`sbin/${verb}`, `#!/bin/sh\nexec /bin/busybox ${verb} -f\n`, 0o755);
  }
  if (options.init !== undefined) await file('sbin/init', options.init, 0o755);
  await file('etc/inittab', inittab(options));
  await file('etc/init.d/rcS', rcS(options.dhcp !== false), 0o755);
  await file('usr/share/udhcpc/default.script', udhcpcScript, 0o755);
  await file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n');
  await file('etc/group', 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n');
  await file('etc/shadow', 'root:*:19000:0:99999:7:::\n', 0o640);
  await file('etc/hostname', 'busybox\n');
  await file('etc/hosts', '127.0.0.1 localhost\n::1 localhost\n');
  await file('etc/os-release', 'ID=busybox\nNAME="Busybox"\nVERSION_ID=1\n');
  await file('etc/resolv.conf', '');
  await file('etc/fstab', '');

  const { owner } = options;
  if (owner !== undefined) for (const path of made) await lchown(path, owner.uid, owner.gid);
}

/**
 * The applets that tests start without a shell: the shell of busybox finds its applets without links. All 269 links, which every container
 * makes, shifts and deletes, take a fiftieth of the processor time of a run of all tests.
 */
const linked = new Set(
  (
    '[ arp ash base64 basename cat chgrp chmod chown cp cut date dd df dirname dmesg du echo env expr false find free grep groups gunzip ' +
    'gzip head hostname id ifconfig init ip kill killall less ln login ls lsmod md5sum mkdir mkfifo mknod mktemp more mount mv nc netstat ' +
    'nproc nsenter passwd pidof ping ping6 printf ps pwd readlink realpath rm rmdir route sed seq setsid sh sha256sum sleep sort stat stty ' +
    'su sync sysctl tail tar tee test time timeout top touch tr true truncate tty udhcpc umount uname unlink unshare uptime vi wc wget ' +
    'which who whoami xargs yes'
  ).split(' '),
);
const applets = new Map<string, readonly string[]>();

/** Asked of the program once in a process: test files make hundreds of root file systems. */
function appletsOf(busybox: string): readonly string[] {
  const known =
    applets.get(busybox) ??
    execFileSync(busybox, ['--list-full'], { encoding: 'utf8' })
      .split('\n')
      .filter((path) => linked.has(path.slice(path.lastIndexOf('/') + 1)));
  applets.set(busybox, known);
  return known;
}

/** Links applets where busybox itself would; poweroff, reboot, halt (and a given init) are scripts instead. */
function linkApplets(busybox: string, dir: string, more: readonly string[], made: string[]): void {
  const ours = new Set(['sbin/init', 'sbin/poweroff', 'sbin/reboot', 'sbin/halt', 'bin/busybox', 'usr/bin/busybox']);
  for (const path of more) ours.delete(path);
  const wanted = [...new Set([...appletsOf(busybox), ...more, 'bin/sh', 'sbin/ip', 'sbin/udhcpc'])].filter(
    (path) => path !== '' && !ours.has(path) && !path.startsWith('linuxrc'),
  );
  for (const folder of new Set(wanted.map((path) => dirname(path)))) mkdirSync(join(dir, folder), { recursive: true });
  for (const path of wanted) {
    const at = join(dir, path);
    symlinkSync(relative(dirname(at), join(dir, 'bin/busybox')), at);
    made.push(at);
  }
}
