// The AppArmor profile of one container as text. Pure.
import { driverErrors } from '../../driver-error.ts';
import { allBut } from './all-but.ts';

export interface ProfileFacts {
  /** The name of the profile, and of the namespace for the container's own profiles. */
  readonly name: string;
  readonly privileged: boolean;
  readonly nesting: boolean;
  /** The value of raw.apparmor. */
  readonly raw: string;
}

const quoted = (text: string): string => `"${text}"`;

/** The label of a container's process: its profile on the host, stacked with any of its own namespace. */
export const labelOf = (name: string): string => `${name}//&:${name}:`;

export function renderProfile(facts: ProfileFacts): string {
  checkRaw(facts.raw);
  const sections: readonly (readonly [about: string, rules: readonly string[]])[] = [
    ['User namespace, capabilities, seccomp and control groups decide about these.', general],
    ['Signals and traces stay inside; the host may send and look.', peers(facts.name)],
    ['Profiles that the container loads live in a namespace of its own.', namespace(facts.name)],
    ['Mounts.', mounts(facts)],
    ['Interfaces of the kernel that belong to the host.', kernelInterfaces],
    ['The same in a copy of the tree.', facts.privileged && !facts.nesting ? copiesOfInterfaces : []],
    ['raw.apparmor', facts.raw.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))],
  ];
  const body = sections
    .filter(([, rules]) => rules.length > 0)
    .map(([about, rules]) => [`  # ${about}`, ...rules.map((rule) => `  ${rule}`)].join('\n'));
  const flags = 'flags=(attach_disconnected,mediate_deleted)';
  return `# Written by gantryd at each start of the container.\nprofile ${quoted(facts.name)} ${flags} {\n${body.join('\n\n')}\n}\n`;
}

/** A surplus brace would end the profile and start another one. */
function checkRaw(raw: string): void {
  let depth = 0;
  for (const letter of raw) {
    if (letter === '{') depth += 1;
    if (letter === '}') depth -= 1;
    if (depth < 0) break;
  }
  if (depth !== 0) throw driverErrors.invalid('raw.apparmor has braces that do not match');
}

const general = ['capability,', 'dbus,', 'file,', 'network,', 'unix,', 'umount,', 'pivot_root,'];

function peers(name: string): readonly string[] {
  // Each part of a peer's label must match: the profile on the host, and the one in the container's namespace.
  const own = [quoted(name), quoted(`${name}//&:${name}:**`), quoted(`:${name}:**`)];
  return [
    'signal (receive),',
    'ptrace (readby, tracedby),',
    ...own.flatMap((peer) => [`signal (send) peer=${peer},`, `ptrace (read, trace) peer=${peer},`]),
  ];
}

const namespace = (name: string): readonly string[] =>
  ['*', '//*'].map((inner) => `change_profile -> ${quoted(`:${name}:${inner}`)},`);

/** File systems that expose or change the host's kernel wherever they are mounted. */
const hostFileSystems = ['debugfs', 'tracefs', 'efivarfs', 'pstore', 'configfs'];

/** A bind mount of the whole tree repeats the same folders further down. */
const anywhere = '/{,**/}';

function mounts({ privileged, nesting }: ProfileFacts): readonly string[] {
  const denied = hostFileSystems.map((type) => `deny mount fstype=${type},`);
  // Without a user namespace mount points matter: rules about /proc and /sys know only these paths.
  if (!privileged || nesting) return ['mount,', 'remount,', ...denied];
  return [
    ...denied,
    ...deniedMounts,
    ...['tmpfs', 'ramfs', 'devpts', 'mqueue', 'hugetlbfs', 'fuse', 'fuse.*', 'overlay'].map(
      (type) => `mount fstype=${type},`,
    ),
    'mount fstype=proc -> /proc/,',
    'mount fstype=sysfs -> /sys/,',
    ...['cgroup', 'cgroup2'].map((type) => `mount fstype=${type} -> /sys/fs/cgroup/{,**},`),
    ...['slave', 'shared', 'private', 'unbindable'].flatMap((kind) =>
      [kind, `r${kind}`].flatMap((flag) => flagRules(flag, '-> /{,**}')),
    ),
    ...['bind', 'rbind', 'move'].flatMap((flag) =>
      ['/', ...boundSources].flatMap((from) => flagRules(flag, `${from} -> /**`)),
    ),
    ...guestSocket,
    'remount,',
  ];
}

/** The folder of the guest socket is read-only: the daemon recreates the socket in it. */
const guestSocket = [`deny remount ${anywhere}lxd/,`, `deny mount ${anywhere}dev/lxd/ -> /**,`];

/** busybox passes the silent flag with each mount. */
const flagRules = (flag: string, places: string): readonly string[] =>
  [flag, `${flag},silent`].map((flags) => `mount options=(rw,${flags}) ${places},`);
const boundSources = [...allBut('', ['proc', 'sys']), '/sys/fs/cgroup{,/{,**}}'];

/** Parsers before AppArmor 4 let rules about propagation allow any mount (CVE-2016-1585), so critical mounts are denied explicitly. */
const deniedMounts = [
  ...allBut('', ['proc']).map((place) => `deny mount fstype=proc -> ${place},`),
  ...allBut('', ['sys']).map((place) => `deny mount fstype=sysfs -> ${place},`),
  ...[`${anywhere}proc{,/{,**}}`, `${anywhere}sys{,/}`, ...allBut(`${anywhere}sys`, ['fs/cgroup'])].map(
    (source) => `deny mount ${source} -> /**,`,
  ),
];
const writable = 'wklx';
const deny = (path: string, permissions: string): string => `deny ${path} ${permissions},`;
const ownOfContainer =
  'net fs/mqueue kernel/hostname kernel/domainname kernel/ns_last_pid kernel/msg* kernel/sem* kernel/shm*'.split(' ');
const kernelInterfaces = [
  ...allBut('/proc/sys', ownOfContainer).map((path) => deny(path, writable)),
  ...['acpi', 'bus', 'irq', 'scsi'].map((name) => deny(`/proc/${name}/**`, writable)),
  ...['sysrq-trigger', 'kcore', 'kmem', 'mem'].map((name) => deny(`/proc/${name}`, `r${writable}`)),
  ...allBut('/sys', ['fs/cgroup', 'class/net', 'devices/virtual/net', 'kernel/security/apparmor']).map((path) =>
    deny(path, writable),
  ),
  ...['firmware/efi/efivars', 'kernel/debug', 'kernel/tracing'].map((name) => deny(`/sys/${name}/**`, `r${writable}`)),
];

/** Paths that a bind mount of the whole tree shows further down. Other folders called sys, such as header files, stay writable. */
const copiesOfInterfaces = [
  deny('/**/proc/sys/**', writable),
  ...['sysrq-trigger', 'kcore'].map((name) => deny(`/**/proc/${name}`, `r${writable}`)),
  deny('/**/sys/{block,bus,dev,devices,firmware,hypervisor,kernel,module,power}/**', writable),
];
