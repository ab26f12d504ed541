// Hosts of a cluster on one machine: network namespaces on one bridge, with addresses, cuts between them and slow networks. Only the
// network is separate: files, control groups and processes are the machine's.
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { freeSubnet } from '../hosts/free-resources.ts';

export interface ClusterHost {
  readonly name: string;
  readonly netns: string;
  /** Also reachable from the machine itself. */
  readonly address: string;
  /** Address on the vxlan between the hosts, when there is one. */
  readonly overlay: string | undefined;
  /** The command prefix that runs a program on this host; the process keeps its id. */
  readonly run: readonly string[];
}

export interface ClusterHosts {
  readonly hosts: readonly ClusterHost[];
  /** First three numbers of the subnet. */
  readonly prefix: string;
  /** Cuts all traffic between the two groups. */
  part(some: readonly ClusterHost[], others: readonly ClusterHost[]): void;
  /** Drops traffic from `from` to `to`; the other direction stays open. */
  deafen(to: ClusterHost, from: readonly ClusterHost[]): void;
  /** Cuts the host off from the machine itself, and so from its clients. */
  hide(host: ClusterHost): void;
  /** Delays what the host sends, or limits its rate if the kernel cannot delay. */
  slow(host: ClusterHost, delayMs: number): void;
  /** Ends all cuts and delays. */
  mend(): void;
  remove(): void;
}

/** The reason why there can be no such hosts; undefined when there can. */
export function hostsMissing(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need root on Linux';
  for (const program of ['ip', 'nft', 'tc', 'nsenter']) {
    if (spawnSync(program, ['-V'], { stdio: 'ignore' }).error !== undefined) return `${program} is not installed`;
  }
  return undefined;
}

const run = (program: string, args: readonly string[], input?: string): void =>
  void execFileSync(program, [...args], { input: input ?? '', stdio: ['pipe', 'ignore', 'pipe'] });
const attempt = (program: string, args: readonly string[]): boolean =>
  spawnSync(program, [...args], { stdio: 'ignore' }).status === 0;

const table = 'gantry_cut';

export interface HostsOptions {
  /** A second network over the first, as between hosts of different sites. */
  readonly vxlan?: boolean;
  /** Programs of a host see only its interfaces in /sys, and have private mounts. */
  readonly ownSys?: boolean;
}

export function makeHosts(count: number, { vxlan = false, ownSys = false }: HostsOptions = {}): ClusterHosts {
  const tag = `gtk${randomBytes(3).toString('hex')}`;
  const prefix = freeSubnet();
  const overlayPrefix = vxlan ? freeSubnet() : undefined;
  const gateway = `${prefix}.1`;
  const keepers: number[] = [];
  let hosts = Array.from({ length: count }, (_, index): ClusterHost => {
    const netns = `${tag}n${index + 1}`;
    return {
      name: `host${index + 1}`,
      netns,
      address: `${prefix}.${index + 11}`,
      overlay: overlayPrefix === undefined ? undefined : `${overlayPrefix}.${index + 11}`,
      run: ['nsenter', `--net=/run/netns/${netns}`, '--'],
    };
  });
  const remove = (): void => {
    process.off('exit', remove);
    for (const pid of keepers.splice(0)) attempt('kill', ['-9', String(pid)]);
    for (const { netns } of hosts) attempt('ip', ['netns', 'del', netns]);
    // The interfaces vanish a little after their namespaces.
    for (const index of hosts.keys()) attempt('ip', ['link', 'del', 'dev', `${tag}h${index + 1}`]);
    attempt('ip', ['link', 'del', 'dev', tag]);
  };
  process.once('exit', remove);
  const drop = (host: ClusterHost, addresses: readonly string[]): void => {
    const rules = addresses.map((address) => `add rule inet ${table} in ip saddr ${address} drop\n`).join('');
    const hook = '{ type filter hook input priority 0; }';
    const text = `add table inet ${table}\nadd chain inet ${table} in ${hook}\n${rules}`;
    run('nsenter', [`--net=/run/netns/${host.netns}`, '--', 'nft', '-f', '-'], text);
  };
  const addressesOf = ({ address, overlay }: ClusterHost): string[] =>
    overlay === undefined ? [address] : [address, overlay];
  try {
    run('ip', ['link', 'add', 'name', tag, 'type', 'bridge']);
    run('ip', ['addr', 'add', `${gateway}/24`, 'dev', tag]);
    run('ip', ['link', 'set', 'dev', tag, 'up']);
    for (const [index, host] of hosts.entries()) connect(host, `${tag}h${index + 1}`, tag, gateway);
    if (vxlan) for (const host of hosts) addOverlay(host, hosts);
    if (ownSys)
      hosts = hosts.map((host) => {
        const pid = keepSys(host);
        keepers.push(pid);
        return { ...host, run: ['nsenter', `--target=${pid}`, '--net', '--mount', '--'] };
      });
  } catch (error) {
    remove();
    throw error;
  }
  return {
    hosts,
    prefix,
    part(some, others) {
      for (const host of some) drop(host, others.flatMap(addressesOf));
      for (const host of others) drop(host, some.flatMap(addressesOf));
    },
    deafen: (to, from) => drop(to, from.flatMap(addressesOf)),
    hide: (host) => drop(host, [gateway]),
    slow({ netns }, delayMs) {
      const base = ['-n', netns, 'qdisc', 'replace', 'dev', 'eth0', 'root'];
      if (attempt('tc', [...base, 'netem', 'delay', `${delayMs}ms`])) return;
      run('tc', [...base, 'tbf', 'rate', '256kbit', 'burst', '4kb', 'latency', `${Math.max(50, delayMs)}ms`]);
    },
    mend() {
      for (const {
        netns,
        run: [file = '', ...words],
      } of hosts) {
        attempt(file, [...words, 'nft', 'delete', 'table', 'inet', table]);
        attempt('tc', ['-n', netns, 'qdisc', 'del', 'dev', 'eth0', 'root']);
      }
    },
    remove,
  };
}

function connect({ netns, address }: ClusterHost, hostEnd: string, bridge: string, gateway: string): void {
  run('ip', ['netns', 'add', netns]);
  run('ip', ['link', 'add', 'name', hostEnd, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', netns]);
  run('ip', ['link', 'set', 'dev', hostEnd, 'master', bridge, 'up']);
  const lines = [
    'link set dev lo up',
    'link set dev eth0 up',
    `addr add ${address}/24 dev eth0`,
    `route add default via ${gateway}`,
  ];
  run('ip', ['-n', netns, '-batch', '-'], `${lines.join('\n')}\n`);
}

/** Starts a process whose mount namespace has the /sys of the host, and the machine's control groups. Returns its id. */
function keepSys({ run: [file = '', ...words] }: ClusterHost): number {
  const script = [
    'set -e',
    'groups=$(mktemp -d)',
    'mount --rbind /sys/fs/cgroup $groups',
    'mount -t sysfs sysfs /sys',
    'mount --rbind $groups /sys/fs/cgroup',
    'umount -l $groups',
    'rmdir $groups',
    'sleep 3600 </dev/null >/dev/null 2>&1 & echo $!',
  ].join('\n');
  const unshare = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script];
  return Number(execFileSync(file, [...words, ...unshare], { encoding: 'utf8' }));
}

/** Each host floods frames with an unknown destination to all others. */
function addOverlay({ netns, address, overlay }: ClusterHost, hosts: readonly ClusterHost[]): void {
  const lines = [
    `link add name vxlan0 type vxlan id 77 dstport 4789 local ${address} dev eth0`,
    `addr add ${overlay}/24 dev vxlan0`,
    'link set dev vxlan0 up',
  ];
  run('ip', ['-n', netns, '-batch', '-'], `${lines.join('\n')}\n`);
  for (const other of hosts) {
    if (other.address === address) continue;
    run('bridge', ['-n', netns, 'fdb', 'append', '00:00:00:00:00:00', 'dev', 'vxlan0', 'dst', other.address]);
  }
}
