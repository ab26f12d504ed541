// The table of every config key a container or profile can hold; reading a whole config is container-config.ts.
import { expiry, schedule, snapshotPattern } from './snapshot-checks.ts';
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';

/** live: applied to a running container at once; restart: applied at its next start; none: without effect on a running container. */
export type ConfigEffect = 'live' | 'restart' | 'none';
export type ConfigType = 'bool' | 'integer' | 'size' | 'text' | 'list' | 'lines';

export interface ConfigKey {
  readonly type: ConfigType;
  readonly effect: ConfigEffect;
  readonly doc: string;
  /** The broken rule, undefined if the value is valid. Never called with empty text, which means unset. */
  readonly check: Check;
  /** The value while the key is unset; absent: see doc. */
  readonly default?: string;
  /** Allowed in a profile; default true. */
  readonly profile?: boolean;
  /** For patterns: the rule for the part that matches `*`. */
  readonly part?: Check;
  /** Set by the server; users rarely write it. */
  readonly computed?: boolean;
}

type More = Partial<Pick<ConfigKey, 'default' | 'profile' | 'part' | 'computed'>>;
type Maker = (effect: ConfigEffect, doc: string, more?: More) => ConfigKey;

const make =
  (type: ConfigType, check: Check): Maker =>
  (effect, doc, more = {}) => ({ type, check, effect, doc, ...more });

const flag = make('bool', is.bool);
const count = (min?: number, max?: number): Maker => make('integer', is.integer(min, max));
const word = (check: Check): Maker => make('text', check);
const lines = (check: Check = is.any): Maker => make('lines', check);
const text = word(is.any);

const limitNames =
  'as core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack'.split(' ');
const limitValue = '(?:0|[1-9][0-9]{0,18}|unlimited)';

const cpus: Check = (value) => {
  if (/^[0-9]{1,5}$/.test(value)) return undefined;
  const rule = 'must be a number of CPUs (4), or the CPUs to use as a list or range (0,2 or 0-3)';
  for (const element of value.split(',')) {
    const match = /^([0-9]{1,4})(?:-([0-9]{1,4}))?$/.exec(element);
    if (match === null || (match[2] !== undefined && Number(match[1]) > Number(match[2]))) return rule;
  }
  return value.includes(',') || value.includes('-') ? undefined : rule;
};

const allowance: Check = (value) => {
  if (/^[1-9][0-9]{0,3}%$/.test(value)) return undefined;
  const match = /^([1-9][0-9]{0,8})ms\/([1-9][0-9]{0,8})ms$/.exec(value);
  if (match === null) return 'must be a share such as 50%, or CPU time a period such as 25ms/100ms';
  return Number(match[2]) <= 1000 ? undefined : 'must have a period of at most 1000ms, the limit of the kernel';
};

const idmapLine: Check = (line) => {
  const match = /^(?:both|uid|gid) ([0-9]{1,10})(?:-([0-9]{1,10}))? ([0-9]{1,10})(?:-([0-9]{1,10}))?$/.exec(line);
  if (match === null) return 'must read: both, uid or gid, then a host id or range, then a container id or range';
  const [host, hostEnd, inside, insideEnd] = match
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part)));
  const hostSize = (hostEnd ?? host ?? 0) - (host ?? 0);
  const insideSize = (insideEnd ?? inside ?? 0) - (inside ?? 0);
  return hostSize === insideSize && hostSize >= 0 ? undefined : 'must map ranges of equal size';
};

const kernelLimitForm = is.matches(
  new RegExp(`^${limitValue}(?::${limitValue})?$`),
  'must be a number without leading zeros or unlimited, or two of them as soft:hard',
);

function kernelLimit(value: string): string | undefined {
  const broken = kernelLimitForm(value);
  if (broken !== undefined) return broken;
  const [soft = 0, hard = Infinity] = value.split(':').map((part) => (part === 'unlimited' ? Infinity : Number(part)));
  return soft > hard ? 'must not have a soft limit above the hard one (soft:hard)' : undefined;
}

const lxcKeysOfTheDaemon = /^lxc\.(?:log\.file|logfile|log\.syslog|syslog|ephemeral|prlimit\..*|prlimit)$/;
const lxcNetwork = /^lxc\.(?:net|network)(?:\.|$)/;
const lxcAddress = /^lxc\.(?:net|network)\.[0-9]+\.(?:ipv4|ipv6)(?:\.(?:address|gateway))?$/;

/** The daemon owns logging, limits and interfaces; only the addresses of an interface may be set here. */
const lxcLine: Check = (line) => {
  if (line.startsWith('#')) return undefined;
  const equals = line.indexOf('=');
  if (equals < 0) return 'must read key=value';
  const key = line.slice(0, equals).trim().toLowerCase();
  if (lxcKeysOfTheDaemon.test(key) || (lxcNetwork.test(key) && !lxcAddress.test(key))) {
    return `must not set ${key}: the daemon sets it`;
  }
  return undefined;
};

const sysctlName = is.matches(
  /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+$/,
  'must be the name of a kernel parameter such as net.ipv4.ip_forward',
);
const sysctlValue = is.matches(/^[ -~]{1,1024}$/, 'must be printable ASCII of at most 1024 characters');
const modules = is.listOf(is.matches(/^[A-Za-z0-9_][A-Za-z0-9_-]*$/, 'must be the name of a kernel module'));
const server = { profile: false, computed: true } as const;

/** Keys with `*` are patterns: `user.*` matches any rest, `volatile.*.hwaddr` any device name. */
export const containerConfigKeys = {
  'boot.autostart': flag('none', 'Start with the daemon. Unset: as it was when the daemon stopped.'),
  'boot.autostart.delay': count(0)('none', 'Seconds to wait after starting it before the next one.', { default: '0' }),
  'boot.autostart.priority': count()('none', 'Higher ones start first.', { default: '0' }),
  'boot.host_shutdown_timeout': count(0)('none', 'Seconds to wait for a clean stop when the daemon shuts down.', {
    default: '30',
  }),
  'boot.stop.priority': count()('none', 'Higher ones stop first; equal ones together.', { default: '0' }),
  'cloud-init.network-config': lines()('none', 'Network configuration for cloud-init. Overrides user.network-config.'),
  'cloud-init.user-data': lines()(
    'none',
    'User data for cloud-init, which applies them at the first boot. Overrides user.user-data.',
  ),
  'cloud-init.vendor-data': lines()(
    'none',
    'Vendor data for cloud-init, which merges cloud-init.user-data over them. Overrides user.vendor-data.',
  ),
  'cluster.evacuate': word(is.oneOf('auto', 'live-migrate', 'migrate', 'stop'))(
    'none',
    'Action for the container when its cluster member is evacuated: it moves (stopped for that time), or is stopped; auto: it moves unless a device is bound to the host. Without a cluster: no effect.',
    { default: 'auto' },
  ),
  'environment.*': text('none', 'Environment of commands run in the container, and of init from its next start.', {
    part: is.matches(/^[^=\s]+$/, 'must be the name of a variable: not empty, no = and no white space'),
  }),
  'image.*': make('text', is.any)('none', 'Copy of a property of the image it was made from.', { profile: false }),
  'limits.cpu': word(cpus)('live', 'Number of CPUs, or the list of those to use. Unset or 0: all.'),
  'limits.cpu.allowance': word(allowance)(
    'live',
    'Share of CPU time when contended (50%), or hard limit (25ms/100ms).',
    { default: '100%' },
  ),
  'limits.cpu.priority': count(0, 10)('live', 'CPU share among containers of equal allowance.', { default: '10' }),
  'limits.disk.priority': count(0, 10)('live', 'Share of disk time when contended.', { default: '5' }),
  'limits.hugepages.*': make('size', is.sizeOrZero)(
    'live',
    'Memory in huge pages of that size. Unset: no limit; 0: none.',
    {
      part: is.oneOf('64KB', '1MB', '2MB', '1GB'),
    },
  ),
  'limits.kernel.*': word(kernelLimit)(
    'restart',
    'Kernel resource limit, as setrlimit names them: limits.kernel.nofile.',
    { part: is.oneOf(...limitNames) },
  ),
  'limits.memory': make('size', is.sizeOrPercent)('live', 'Memory, as a size or a percentage of the host. Unset: all.'),
  'limits.memory.enforce': word(is.oneOf('hard', 'soft'))(
    'live',
    'Whether the limit also holds while memory is free.',
    { default: 'hard' },
  ),
  'limits.memory.swap': flag('live', 'Whether the container may be swapped out.', { default: 'true' }),
  'limits.memory.swap.priority': count(0, 10)('live', 'Higher ones are swapped out later.', { default: '10' }),
  'limits.network.priority': count(0, 10)('live', 'Priority of its network traffic.', { default: '0' }),
  'limits.processes': count(1)('live', 'Number of processes. Unset: no limit.'),
  'linux.kernel_modules': make('list', modules)('live', 'Kernel modules to load before it starts, comma separated.'),
  'linux.sysctl.*': word(sysctlValue)(
    'restart',
    'Kernel parameter of the container alone: linux.sysctl.net.ipv4.ip_forward. The kernel refuses others at the start.',
    { part: sysctlName },
  ),
  'migration.incremental.memory': flag('none', 'Transfer memory in rounds while it still runs.', { default: 'false' }),
  'migration.incremental.memory.goal': count(0, 100)('none', 'Percent of memory in place before it is stopped.', {
    default: '70',
  }),
  'migration.incremental.memory.iterations': make('integer', is.uint32)('none', 'Maximum number of transfer rounds.', {
    default: '10',
  }),
  'nvidia.driver.capabilities': make('list', is.any)('restart', 'Capabilities of the driver to expose.', {
    default: 'compute,utility',
  }),
  'nvidia.require.cuda': text('restart', 'Required CUDA version, as an expression.'),
  'nvidia.require.driver': text('restart', 'Required driver version, as an expression.'),
  'nvidia.runtime': flag('restart', 'Pass the NVIDIA runtime of the host into the container.', { default: 'false' }),
  'raw.apparmor': lines()('restart', 'Lines added to the AppArmor profile.'),
  'raw.idmap': lines(is.linesOf(idmapLine))('restart', 'Own lines of the id map: both 1000 1000.'),
  'raw.lxc': lines(is.linesOf(lxcLine))('restart', 'Lines added to the LXC configuration.'),
  'raw.seccomp': lines()('restart', 'The whole seccomp policy; excludes security.syscalls.*.'),
  'security.devlxd': flag('live', 'Whether the guest socket is present.', { default: 'true' }),
  'security.devlxd.images': flag('none', 'Whether the guest socket exports images.', { default: 'false' }),
  'security.idmap.base': make('integer', is.uint32)('restart', 'First host id of an isolated map.'),
  'security.idmap.isolated': flag('restart', 'Use a map that no other container has.', { default: 'false' }),
  'security.idmap.size': count(65_536, 2 ** 32 - 1)('restart', 'Number of ids of an isolated map. Unset: 65536.'),
  'security.nesting': flag('restart', 'Allow containers inside the container.', { default: 'false' }),
  'security.privileged': flag('restart', 'Run without an id map: root inside is root of the host.', {
    default: 'false',
  }),
  'security.protection.delete': flag('none', 'Refuse to delete the container.', { default: 'false' }),
  'security.protection.shift': flag('none', 'Refuse to shift the ids of its files.', { default: 'false' }),
  'security.syscalls.allow': lines()('restart', 'The only system calls to allow, one a line.'),
  'security.syscalls.blacklist': lines()('restart', 'Older name of security.syscalls.deny.'),
  'security.syscalls.blacklist_compat': flag('restart', 'Older name of security.syscalls.deny_compat.', {
    default: 'false',
  }),
  'security.syscalls.blacklist_default': flag('restart', 'Older name of security.syscalls.deny_default.', {
    default: 'true',
  }),
  'security.syscalls.deny': lines()('restart', 'System calls to refuse, one a line.'),
  'security.syscalls.deny_compat': flag('restart', 'Refuse the 32-bit calls of a 64-bit host.', { default: 'false' }),
  'security.syscalls.deny_default': flag('restart', 'Refuse the calls that no container needs.', { default: 'true' }),
  'security.syscalls.whitelist': lines()('restart', 'Older name of security.syscalls.allow.'),
  'snapshots.expiry': word(expiry)('none', 'Lifetime of its snapshots: 2w 1d. Unset: forever.'),
  'snapshots.pattern': word(snapshotPattern)('none', 'Name of snapshots made without one.', { default: 'snap%d' }),
  'snapshots.schedule': word(schedule)(
    'none',
    'When to snapshot it: five cron fields, or aliases such as @daily and @startup, several separated by a comma and a space. Unset: never.',
  ),
  'snapshots.schedule.stopped': flag('none', 'Also while it is stopped.', { default: 'false' }),
  'user.*': lines()('none', 'Free for users; visible inside the container.'),
  'volatile.apply_quota': text('none', 'Root size to apply at the next start.', server),
  'volatile.apply_template': text('none', 'Trigger of the templates that are applied at the next start.', server),
  'volatile.base_image': text('none', 'Fingerprint of the image it was made from.', server),
  'volatile.cloud-init.instance-id': text(
    'none',
    'What cloud-init knows it by; a new one makes it set the machine up again.',
    server,
  ),
  'volatile.cluster.lost_member': text(
    'none',
    'The member that was lost with it; goes when it was started here.',
    server,
  ),
  'volatile.cluster.group': text('none', 'Group of members that was its target: an evacuation keeps it there.', server),
  'volatile.evacuate.live': text(
    'none',
    'It moved with its processes for an evacuation, and returns with them.',
    server,
  ),
  'volatile.evacuate.origin': text('none', 'Member of the cluster that it goes back to when that is restored.', server),
  'volatile.evacuate.power': text('none', 'RUNNING: it was stopped for an evacuation, and is to start.', server),
  'volatile.idmap.base': make('integer', is.integer(0))('none', 'First host id of its map.', server),
  'volatile.idmap.current': text('none', 'Id map in use.', server),
  'volatile.idmap.next': text('none', 'Id map of the next start.', server),
  'volatile.last_state.idmap': text('none', 'Id map its files are in.', server),
  'volatile.last_state.power': text('none', 'RUNNING or STOPPED, as the daemon last saw it.', server),
  'volatile.uuid': text('none', 'Identity that survives renames.', server),
  'volatile.*.host_name': word(is.interfaceName)('none', 'Host end of an interface.', server),
  'volatile.*.hwaddr': word(is.macAddress)('none', 'MAC address an interface was given.', server),
  'volatile.*.last_state.created': text(
    'none',
    'Whether another server made the interface of a nic; goes at stop.',
    server,
  ),
  'volatile.*.last_state.mtu': text('none', 'Earlier MTU of an interface, from another server; goes at stop.', server),
  'volatile.*.name': word(is.interfaceName)('none', 'Name an interface was given inside.', server),
} as const satisfies Record<string, ConfigKey>;
