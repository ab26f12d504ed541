// Renders the configuration file of one container start. Pure: decides every line, touches nothing.
import { isTrue } from '../../../api/text/value-checks.ts';
import { driverErrors } from '../../driver-error.ts';
import type { MountRun, NicRun, RunConfig } from '../driver.ts';
import { type CgroupValue, deviceRule } from '../cgroup/limits.ts';
import { mayBeginHook } from '../guard/start-until.ts';
import { innerGroup } from '../lxc-paths.ts';
import { checkNicNames } from '../nic/commands.ts';
import { hasControlCharacter, parseRawLxc } from '../../../api/container/raw-lxc.ts';

export interface LxcSettings {
  /** The whole value of lxc.hook.post-stop. */
  readonly postStopHook: string;
  readonly cgroup: { readonly monitor: string; readonly pivot: string; readonly container: string };
  readonly cgroup1: readonly CgroupValue[];
  readonly cgroup2: readonly CgroupValue[];
  readonly seccompProfile: string | undefined;
  /** Undefined: the kernel has no AppArmor, and the key must not appear. */
  readonly apparmorLabel: string | undefined;
  /** Files below /proc that lxcfs serves on this host. */
  readonly lxcfsFiles: readonly string[];
}

const usualDevices: readonly string[] = [
  ...['c', 'b'].map((kind) => `${kind} *:* m`),
  ...['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '136:*', '10:229', '10:200'].map((one) => `c ${one} rwm`),
];

type Line = readonly [key: string, value: string];

/** Throws DriverError Invalid for values that this format cannot express, so that no value can become a second line. */
export function renderLxcConfig(run: RunConfig, settings: LxcSettings): string {
  const lines: readonly Line[] = [
    ...identity(run),
    ...console(run),
    ...isolation(run, settings),
    ...controlGroups(run, settings),
    ...mounts(run, settings),
    ...run.nics.flatMap((nic, index) => nicLines(nic, index)),
    ...environment(run),
    ...nvidia(run),
    ['lxc.hook.version', '1'],
    ['lxc.hook.post-stop', settings.postStopHook],
  ];
  return [...lines.map(([key, value]) => renderLine(key, value)), ...rawLines(run), ...lastHook(run), ''].join('\n');
}

/** After all other hooks, including raw.lxc's: nothing may delay init after it. */
const lastHook = ({ startUntilFile }: RunConfig): readonly string[] =>
  startUntilFile === undefined ? [] : [renderLine('lxc.hook.start-host', mayBeginHook(startUntilFile))];

function renderLine(key: string, value: string): string {
  if (hasControlCharacter(key) || hasControlCharacter(value)) {
    throw driverErrors.invalid(`${key} cannot be set: its value holds a line break or another control character`);
  }
  return `${key} = ${value}`;
}

const isPrivileged = (run: RunConfig): boolean => run.idmap.length === 0;
const architectures: Readonly<Record<string, string>> = {
  i686: 'i686',
  x86_64: 'x86_64',
  armv7l: 'armv7l',
  aarch64: 'aarch64',
  ppc: 'ppc',
  ppc64: 'ppc64',
  ppc64le: 'ppc64le',
  s390x: 's390x',
  riscv64: 'riscv64',
};

function identity(run: RunConfig): readonly Line[] {
  const arch = architectures[run.architecture];
  return [
    ['lxc.uts.name', run.hostname],
    ...(arch === undefined ? [] : [['lxc.arch', arch] as const]),
    ['lxc.rootfs.path', `dir:${run.rootfs}`],
    ...run.idmap.flatMap((entry): readonly Line[] => {
      const range = `${entry.nsid} ${entry.hostid} ${entry.maprange}`;
      return [
        ...(entry.isuid ? [['lxc.idmap', `u ${range}`] as const] : []),
        ...(entry.isgid ? [['lxc.idmap', `g ${range}`] as const] : []),
      ];
    }),
    ['lxc.init.cmd', '/sbin/init'],
  ];
}

function console(run: RunConfig): readonly Line[] {
  return [
    ['lxc.log.file', `${run.logDir}/lxc.log`],
    ['lxc.log.level', 'warn'],
    ['lxc.console.buffer.size', 'auto'],
    ['lxc.console.size', 'auto'],
    ['lxc.console.logfile', `${run.logDir}/console.log`],
    ['lxc.tty.max', '0'],
    ['lxc.pty.max', '1024'],
  ];
}

function isolation(run: RunConfig, settings: LxcSettings): readonly Line[] {
  return [
    [
      'lxc.cap.drop',
      isPrivileged(run) ? 'mac_admin mac_override sys_time sys_module sys_rawio' : 'sys_time sys_module sys_rawio',
    ],
    ...(settings.seccompProfile === undefined ? [] : [['lxc.seccomp.profile', settings.seccompProfile] as const]),
    ...(settings.apparmorLabel === undefined ? [] : [['lxc.apparmor.profile', settings.apparmorLabel] as const]),
    ...Object.entries(run.config)
      .filter(([key, value]) => key.startsWith('limits.kernel.') && value !== '')
      .map(([key, value]) => kernelLimit(key, value)),
    ...Object.entries(run.config)
      .filter(([key, value]) => key.startsWith('linux.sysctl.') && value !== '')
      .map(([key, value]): Line => [`lxc.sysctl.${key.slice('linux.sysctl.'.length)}`, value]),
  ];
}

function kernelLimit(key: string, value: string): Line {
  const name = key.slice('limits.kernel.'.length);
  if (!/^[a-z]+$/.test(name)) throw driverErrors.invalid(`${key} does not name a kernel limit`);
  if (!/^([0-9]+|unlimited)(:([0-9]+|unlimited))?$/.test(value)) {
    throw driverErrors.invalid(`${key} "${value}" is neither a number, "unlimited" nor soft:hard`);
  }
  return [`lxc.prlimit.${name}`, value];
}

function controlGroups(run: RunConfig, settings: LxcSettings): readonly Line[] {
  const { cgroup, cgroup1, cgroup2 } = settings;
  const devices = [...usualDevices, ...(run.nodes ?? []).map(deviceRule)];
  return [
    ['lxc.cgroup.relative', '0'],
    ['lxc.cgroup.dir.monitor', cgroup.monitor],
    ['lxc.cgroup.dir.monitor.pivot', cgroup.pivot],
    ['lxc.cgroup.dir.container', cgroup.container],
    // Limits apply to the outer group; the container owns, and sees, only the inner one.
    ['lxc.cgroup.dir.container.inner', innerGroup],
    // Keys of both versions: the runtime ignores those of the other one.
    ...(['cgroup', 'cgroup2'] as const).flatMap((generation): readonly Line[] => [
      [`lxc.${generation}.devices.deny`, 'a'],
      ...devices.map((rule): Line => [`lxc.${generation}.devices.allow`, rule]),
    ]),
    ...cgroup1.map(({ file, value }): Line => [`lxc.cgroup.${file}`, value]),
    ...cgroup2.map(({ file, value }): Line => [`lxc.cgroup2.${file}`, value]),
  ];
}

function mounts(run: RunConfig, settings: LxcSettings): readonly Line[] {
  const entry = (text: string): Line => ['lxc.mount.entry', text];
  return [
    ['lxc.autodev', '1'],
    // rw lets a privileged container write the host's sysctls; in a user namespace the kernel guards them.
    ['lxc.mount.auto', isPrivileged(run) ? 'proc:mixed sys:mixed cgroup:mixed' : 'proc:rw sys:rw cgroup:mixed'],
    entry('/dev/fuse dev/fuse none bind,create=file,optional 0 0'),
    entry('/dev/net/tun dev/net/tun none bind,create=file,optional 0 0'),
    ...(isPrivileged(run)
      ? []
      : [
          entry('/sys/kernel/debug sys/kernel/debug none rbind,create=dir,optional 0 0'),
          entry('/sys/kernel/security sys/kernel/security none rbind,create=dir,optional 0 0'),
          entry('/sys/fs/fuse/connections sys/fs/fuse/connections none rbind,create=dir,optional 0 0'),
        ]),
    ...(isTrue(run.config['security.nesting'])
      ? [
          // A container inside can only mount proc and sysfs if a complete one is visible somewhere.
          entry('proc dev/.lxc/proc proc create=dir,optional 0 0'),
          entry('sys dev/.lxc/sys sysfs create=dir,optional 0 0'),
        ]
      : []),
    ...settings.lxcfsFiles.map((file) => entry(`/var/lib/lxcfs/proc/${file} proc/${file} none bind,optional 0 0`)),
    ...run.mounts.map((mount) => entry(mountEntry(mount))),
  ];
}

function mountEntry(mount: MountRun): string {
  const target = mount.target.replace(/^\/+/, '');
  if (!mount.target.startsWith('/') || target === '' || target.split('/').includes('..')) {
    throw driverErrors.invalid(`Device ${mount.device}: "${mount.target}" is not a path to mount at`);
  }
  const options = [
    mount.recursive ? 'rbind' : 'bind',
    `create=${mount.kind}`,
    ...(mount.readonly ? ['ro'] : []),
    ...(mount.optional ? ['optional'] : []),
    ...(mount.propagation === undefined ? [] : [propagation(mount)]),
  ];
  return `${escapeField(mount.source)} ${escapeField(target)} none ${options.join(',')} 0 0`;
}

function propagation(mount: MountRun): string {
  const mode = mount.propagation ?? '';
  if (!/^r?(private|shared|slave|unbindable)$/.test(mode)) {
    throw driverErrors.invalid(`Device ${mount.device}: unknown propagation "${mode}"`);
  }
  return mode;
}

/** fstab syntax: white space and backslashes as octal. */
export function escapeField(text: string): string {
  if (hasControlCharacter(text)) throw driverErrors.invalid(`Path ${JSON.stringify(text)} cannot be mounted`);
  return text.replace(/[ \t\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function nicLines(nic: NicRun, index: number): readonly Line[] {
  checkNicNames(nic);
  const key = `lxc.net.${index}`;
  const link = nic.kind === 'physical' ? nic.hostName : nic.link;
  const kinds = { veth: 'veth', macvlan: 'macvlan', ipvlan: 'ipvlan', physical: 'phys' } as const;
  return [
    [`${key}.type`, kinds[nic.kind]],
    ...(link === undefined ? [] : [[`${key}.link`, link] as const]),
    [`${key}.flags`, 'up'],
    [`${key}.name`, nic.name],
    ...(nic.hwaddr === undefined ? [] : [[`${key}.hwaddr`, nic.hwaddr] as const]),
    ...(nic.kind === 'veth' ? [[`${key}.veth.pair`, nic.hostName] as const] : []),
    ...(nic.kind === 'macvlan' ? [[`${key}.macvlan.mode`, 'bridge'] as const] : []),
    ...(nic.kind === 'ipvlan' ? [[`${key}.ipvlan.mode`, nic.mode ?? 'l3s'] as const] : []),
    ...(nic.inside?.addresses ?? []).map(
      // LXC would make the address of a single host that of all hosts as well.
      (address) =>
        address.includes(':')
          ? ([`${key}.ipv6.address`, address] as const)
          : ([`${key}.ipv4.address`, address.endsWith('/32') ? `${address} 0.0.0.0` : address] as const),
    ),
    ...Object.entries(nic.inside?.gateways ?? {}).map(([family, via]) => [`${key}.${family}.gateway`, via] as const),
    ...(nic.mtu === undefined ? [] : [[`${key}.mtu`, nic.mtu.toString()] as const]),
  ];
}

/** Comes with LXC; needs NVIDIA's container tools on the host. */
export const nvidiaHook = '/usr/share/lxc/hooks/nvidia';

/** Libraries of the host's NVIDIA driver. gpu devices add the cards themselves. */
function nvidia(run: RunConfig): readonly Line[] {
  const { config } = run;
  if (!isTrue(config['nvidia.runtime'])) return [];
  if (isPrivileged(run)) throw driverErrors.invalid('nvidia.runtime does not work in privileged containers');
  const variables: Readonly<Record<string, string | undefined>> = {
    NVIDIA_VISIBLE_DEVICES: 'none',
    NVIDIA_DRIVER_CAPABILITIES: config['nvidia.driver.capabilities'] || 'compute,utility',
    NVIDIA_REQUIRE_CUDA: config['nvidia.require.cuda'],
    NVIDIA_REQUIRE_DRIVER: config['nvidia.require.driver'],
  };
  return [
    ...Object.entries(variables).flatMap(([name, value]): readonly Line[] =>
      value === undefined || value === '' ? [] : [['lxc.environment', `${name}=${value}`]],
    ),
    ['lxc.hook.mount', nvidiaHook],
  ];
}

function environment(run: RunConfig): readonly Line[] {
  return Object.entries(run.config)
    .filter(([key]) => key.startsWith('environment.'))
    .map(([key, value]) => {
      const name = key.slice('environment.'.length);
      if (name === '' || name.includes('=')) throw driverErrors.invalid(`${key} does not name a variable`);
      if (hasControlCharacter(value)) {
        throw driverErrors.invalid(`${key} cannot be set for init: its value holds a control character`);
      }
      return ['lxc.environment', `${name}=${value}`];
    });
}

function rawLines(run: RunConfig): readonly string[] {
  const parsed = parseRawLxc(run.config['raw.lxc'] ?? '');
  if ('problem' in parsed) throw driverErrors.invalid(parsed.problem);
  return parsed;
}
