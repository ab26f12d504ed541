// The restrictions of a project: what its containers, profiles, snapshots and backups may not have. Pure.
import { deviceSchemas, isRoot, type DeviceTypeName } from '../devices/index.ts';
import type { ConfigMap } from '../schema/common-schemas.ts';
import { isTrue, shown } from '../text/value-checks.ts';
import { uncoveredIdMapLines } from './host-ids.ts';
import type { ProjectContents, ProjectMember, ProjectProblem } from './project-contents.ts';
import { projectConfigKeys } from './project-config.ts';
import { defaultProject } from './project-names.ts';

/** Resolves a host path through every symbolic link; undefined: it leads nowhere. */
export type ResolvePath = (path: string) => string | undefined;

type RestrictionKey = Extract<keyof typeof projectConfigKeys, `restricted.${string}`>;

export const isRestricted = (config: ConfigMap): boolean => isTrue(config['restricted']);

export function restriction(config: ConfigMap, key: RestrictionKey): string {
  const row: { readonly default?: string } = projectConfigKeys[key];
  return config[key] || (row.default ?? '');
}

/** Keys that reach beyond the container: into LXC, the kernel's modules, the host's ids. */
const lowLevelKeys: ReadonlySet<string> = new Set([
  'boot.host_shutdown_timeout',
  'linux.kernel_modules',
  'linux.kernel_modules.load',
  'raw.apparmor',
  'raw.lxc',
  'raw.seccomp',
  'security.devlxd.images',
  'security.idmap.base',
  'security.idmap.size',
]);
const interceptable: ReadonlySet<string> = new Set(
  'bpf bpf.devices mknod mount mount.fuse setxattr sysinfo'
    .split(' ')
    .map((name) => `security.syscalls.intercept.${name}`),
);
const isInterception = (key: string): boolean => key.startsWith('security.syscalls.intercept');

export function restrictionProblems(contents: ProjectContents, resolve: ResolvePath): readonly ProjectProblem[] {
  if (!isRestricted(contents.config)) return [];
  return [
    ...contents.containers.flatMap((member) => memberProblems(contents, 'container', member, resolve)),
    ...contents.profiles.flatMap((member) => memberProblems(contents, 'profile', member, resolve)),
    ...barredObjects(contents, 'snapshot', 'restricted.snapshots', contents.snapshots),
    ...barredObjects(contents, 'backup', 'restricted.backups', contents.backups),
  ];
}

function barredObjects(
  contents: ProjectContents,
  kind: 'snapshot' | 'backup',
  key: 'restricted.snapshots' | 'restricted.backups',
  names: readonly string[],
): readonly ProjectProblem[] {
  if (restriction(contents.config, key) === 'allow') return [];
  return names.map((name) => ({ subject: { kind, name }, path: '', message: refusal(contents, key) }));
}

const refusal = ({ name, config }: ProjectContents, key: RestrictionKey): string =>
  `is not allowed in the project ${name} (${key} is ${restriction(config, key) || 'not set'})`;

function memberProblems(
  contents: ProjectContents,
  kind: 'container' | 'profile',
  member: ProjectMember,
  resolve: ResolvePath,
): readonly ProjectProblem[] {
  const subject = { kind, name: member.name };
  const config = Object.entries(member.config).flatMap(([key, value]) => {
    const message = value === '' ? undefined : configProblem(contents, key, value);
    return message === undefined ? [] : [{ subject, path: `config.${key}`, message }];
  });
  const devices = Object.entries(member.devices).flatMap(([name, device]) =>
    deviceProblems(contents, device, resolve).map(({ path, message }) => ({
      subject,
      path: `devices.${name}${path}`,
      message,
    })),
  );
  return [...config, ...isolation(contents, kind, member), ...devices];
}

function configProblem(contents: ProjectContents, key: string, value: string): string | undefined {
  const { config } = contents;
  if (key === 'security.nesting' && isTrue(value) && restriction(config, 'restricted.containers.nesting') !== 'allow')
    return refusal(contents, 'restricted.containers.nesting');
  if (
    key === 'security.privileged' &&
    isTrue(value) &&
    restriction(config, 'restricted.containers.privilege') !== 'allow'
  )
    return refusal(contents, 'restricted.containers.privilege');
  if (interceptable.has(key))
    return isTrue(value) && !['allow', 'full'].includes(restriction(config, 'restricted.containers.interception'))
      ? refusal(contents, 'restricted.containers.interception')
      : undefined;
  if (restriction(config, 'restricted.containers.lowlevel') === 'allow') return undefined;
  if (key === 'raw.idmap') return idMapProblem(contents, value);
  // Where containers may be privileged they would be parameters of the host.
  const isSysctl =
    key.startsWith('linux.sysctl.') && restriction(config, 'restricted.containers.privilege') === 'allow';
  return lowLevelKeys.has(key) || isSysctl || isInterception(key)
    ? refusal(contents, 'restricted.containers.lowlevel')
    : undefined;
}

function idMapProblem({ name, config }: ProjectContents, value: string): string | undefined {
  const [first] = uncoveredIdMapLines(
    value,
    config['restricted.idmap.uid'] ?? '',
    config['restricted.idmap.gid'] ?? '',
  );
  if (first === undefined) return undefined;
  return `has the line ${shown(first)}, whose ids of the host the project ${name} does not have (restricted.idmap.uid and restricted.idmap.gid list them)`;
}

/** A profile need not set it: only the container's final config matters. */
function isolation(contents: ProjectContents, kind: 'container' | 'profile', { name, config }: ProjectMember) {
  const key = 'restricted.containers.privilege';
  if (kind === 'profile' || restriction(contents.config, key) !== 'isolated') return [];
  if (isTrue(config['security.idmap.isolated'])) return [];
  const message = `must be true in the project ${contents.name} (${key} is isolated)`;
  return [{ subject: { kind, name }, path: 'config.security.idmap.isolated', message }];
}

interface DeviceProblem {
  /** Below the device: empty or `.PROPERTY`. */
  readonly path: string;
  readonly message: string;
}

type DeviceRule = (contents: ProjectContents, device: ConfigMap, resolve: ResolvePath) => readonly DeviceProblem[];

const barredUnlessAllowed =
  (key: RestrictionKey): DeviceRule =>
  (contents) =>
    restriction(contents.config, key) === 'allow' ? [] : [{ path: '', message: refusal(contents, key) }];

const deviceRules: Readonly<Record<DeviceTypeName, DeviceRule>> = {
  none: () => [],
  nic: nicProblems,
  disk: diskProblems,
  'unix-char': barredUnlessAllowed('restricted.devices.unix-char'),
  'unix-block': barredUnlessAllowed('restricted.devices.unix-block'),
  usb: barredUnlessAllowed('restricted.devices.usb'),
  gpu: barredUnlessAllowed('restricted.devices.gpu'),
  infiniband: barredUnlessAllowed('restricted.devices.infiniband'),
  proxy: barredUnlessAllowed('restricted.devices.proxy'),
};

function deviceProblems(contents: ProjectContents, device: ConfigMap, resolve: ResolvePath): readonly DeviceProblem[] {
  const { type = '' } = device;
  if (!Object.hasOwn(deviceSchemas, type))
    return [
      { path: '.type', message: `${shown(type)} is not known, so the project ${contents.name} does not allow it` },
    ];
  return deviceRules[type as DeviceTypeName](contents, device, resolve);
}

function nicProblems(contents: ProjectContents, device: ConfigMap): readonly DeviceProblem[] {
  const found = accessProblems(contents, device);
  if (restriction(contents.config, 'restricted.networks.spoofing') === 'allow') return found;
  const off = filterProperties.filter((property) => (device[property] ?? '') !== '' && !isTrue(device[property]));
  const message = `cannot be off: sending with addresses of others ${refusal(contents, 'restricted.networks.spoofing')}`;
  return [...found, ...off.map((property) => ({ path: `.${property}`, message }))];
}

const filterProperties = ['security.mac_filtering', 'security.ipv4_filtering', 'security.ipv6_filtering'] as const;

function accessProblems(contents: ProjectContents, device: ConfigMap): readonly DeviceProblem[] {
  const key = 'restricted.devices.nic';
  const value = restriction(contents.config, key);
  const { network = '', parent = '' } = device;
  if (value !== 'allow' && value !== 'managed') return [{ path: '', message: refusal(contents, key) }];
  if (value === 'managed' && network === '')
    return [
      {
        path: '.network',
        message: `is required: the project ${contents.name} allows managed networks only (${key} is managed)`,
      },
    ];
  const access = listOf(contents.config['restricted.networks.access']);
  const used = network === '' ? parent : network;
  const barred: DeviceProblem[] = [];
  if (access.length > 0 && used !== '' && !access.includes(used)) {
    const path = network === '' ? '.parent' : '.network';
    barred.push({ path, message: `${shown(used)} ${refusal(contents, 'restricted.networks.access')}` });
  }
  if (value === 'allow') return barred;
  // Routes on the host reach beyond the network, and a taken name reveals other interfaces of the host.
  const onHost = ['ipv4.routes', 'ipv6.routes', 'host_name'].filter((property) => (device[property] ?? '') !== '');
  return [...barred, ...onHost.map((property) => ({ path: `.${property}`, message: refusal(contents, key) }))];
}

function diskProblems(contents: ProjectContents, device: ConfigMap, resolve: ResolvePath): readonly DeviceProblem[] {
  const key = 'restricted.devices.disk';
  const { pool = '', source = '' } = device;
  if (isRoot(device) && pool !== '') return [];
  const value = restriction(contents.config, key);
  if (value !== 'allow' && value !== 'managed') return [{ path: '', message: refusal(contents, key) }];
  if (pool !== '') return sharedVolumeProblems(contents, device);
  if (value === 'managed') return [{ path: '.source', message: `${shown(source)} ${refusal(contents, key)}` }];
  const found: DeviceProblem[] = [];
  if (!isAllowedPath(listOf(contents.config['restricted.devices.disk.paths']), source, resolve))
    found.push({ path: '.source', message: `${shown(source)} ${refusal(contents, 'restricted.devices.disk.paths')}` });
  if (isTrue(device['shift']) && restriction(contents.config, 'restricted.containers.lowlevel') !== 'allow')
    found.push({ path: '.shift', message: refusal(contents, 'restricted.containers.lowlevel') });
  return found;
}

/** A project without its own volumes uses those of `default`, like other projects. */
function sharedVolumeProblems(
  { name, config }: ProjectContents,
  { source = '', readonly = '' }: ConfigMap,
): readonly DeviceProblem[] {
  const key = 'restricted.storage.shared';
  const value = restriction(config, key);
  if (name === defaultProject || isTrue(config['features.storage.volumes']) || value === 'allow') return [];
  const whose = `${shown(source)} is a volume of the project default (${key} of the project ${name} is ${value})`;
  if (value !== 'readonly') return [{ path: '.source', message: `is not allowed: ${whose}` }];
  return isTrue(readonly) ? [] : [{ path: '.readonly', message: `must be true: ${whose}` }];
}

/** No list: every path. Both the path as written and the resolved path must be below a listed one. */
export function isAllowedPath(allowed: readonly string[], source: string, resolve: ResolvePath): boolean {
  if (allowed.length === 0) return true;
  const written = cleanPath(source);
  const led = resolve(source);
  return outermostPaths(allowed).some(
    (path) => isBelow(written, path) && (led === undefined || isBelow(led, resolve(path) ?? path)),
  );
}

/** Clean paths of a list. Omits paths below others: a user who can write in the outer one could replace the inner one with a link. */
export function outermostPaths(allowed: readonly string[]): readonly string[] {
  const clean = [...new Set(allowed.map(cleanPath))];
  return clean.filter((path) => !clean.some((other) => other !== path && isBelow(path, other)));
}

export const isBelow = (path: string, parent: string): boolean =>
  parent === '/' || path === parent || path.startsWith(`${parent}/`);

/** Removes `.`, `..`, and doubled slashes. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

export const listOf = (text: string | undefined): readonly string[] =>
  (text ?? '').split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));

export function mayUseNetwork(config: ConfigMap, network: string): boolean {
  if (!isRestricted(config)) return true;
  const access = listOf(config['restricted.networks.access']);
  return restriction(config, 'restricted.devices.nic') !== 'block' && (access.length === 0 || access.includes(network));
}
