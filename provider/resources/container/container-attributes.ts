// The attributes of gantry_container.
import { X509Certificate } from 'node:crypto';
import { architectureName, architectureRule } from '../../../server/api/image/architectures.ts';
import { containerName } from '../../../server/api/names.ts';
import {
  flag,
  integer,
  object,
  objectMap,
  objects,
  text,
  shownTextMaps,
  textMap,
  texts,
  serverDefault,
} from '../../framework/attribute.ts';
import type { StateOf } from '../../framework/attribute.ts';
import { durationCheck } from '../../framework/duration.ts';
import { isGiven } from '../shared/config-maps.ts';
import {
  containerConfigAttribute,
  descriptionAttribute,
  devicesAttribute,
  nameAttribute,
  notEmpty,
  writeOnlyConfigAttributes,
} from '../shared/common-attributes.ts';

export const oneOf =
  (...words: readonly string[]) =>
  (value: string): string | undefined =>
    words.includes(value) ? undefined : `must be one of ${words.join(', ')}`;

export const fileMode = (value: string): string | undefined =>
  /^0?[0-7]{3,4}$/.test(value) ? undefined : 'must be an octal file mode such as 0644';
/** `600` and `0600` are the same mode. */
export const isSameMode = (before: string, after: string): boolean =>
  Number.parseInt(before, 8) === Number.parseInt(after, 8);
const absolute = (path: string): boolean => path.startsWith('/') && !path.split('/').includes('..');
export const absolutePath = (path: string): string | undefined =>
  absolute(path) ? undefined : 'must be an absolute path without .. in it';

export function pemCheck(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).raw.length > 0 ? undefined : 'must not be empty';
  } catch {
    return 'must be an X.509 certificate in PEM form';
  }
}

/** `amd64` and `x86_64` are the same. */
export const isSameArchitecture = (before: string, after: string): boolean =>
  (architectureName(before) ?? before) === (architectureName(after) ?? after);

export const commandCheck = ([program]: readonly string[]): string | undefined =>
  program === undefined || program === '' ? 'must begin with the program to run' : undefined;

/** Seconds for a clean stop. */
export const longestStop = 3600;
export const stopSeconds = (seconds: number): string | undefined =>
  seconds >= 0 && seconds <= longestStop ? undefined : `must be from 0 to ${longestStop}`;

export const sourceAttributes = {
  type: text({
    doc: '`image`, `copy`, `backup` or `none`.',
    required: true,
    check: oneOf('image', 'copy', 'backup', 'none'),
  }),
  alias: text({ doc: 'image: alias of the image.' }),
  fingerprint: text({ doc: 'image: fingerprint of the image.' }),
  server: text({ doc: 'image: URL of the server that has the image. Default: the image store of this server.' }),
  protocol: text({ doc: 'image: protocol of `server`.' }),
  certificate: text({
    doc: 'image: certificate of `server`, as PEM, if no trusted authority signed it.',
    check: (pem: string) => (pem === '' ? undefined : pemCheck(pem)),
  }),
  mode: text({ doc: 'image: `local` or `pull`.' }),
  source: text({ doc: 'copy: name of the container to copy.' }),
  snapshot: text({ doc: 'copy: name of a snapshot of that container to copy. A rename of both keeps the copy.' }),
  container_only: flag({ doc: 'copy: whether to leave out its snapshots.' }),
  file: text({
    doc: 'backup: path of a backup file from `gantry backup export` or `lxc export`. Changed content replaces the container; after creation the file may be deleted. Creation removes config and devices of the backup that are not configured; its snapshots stay, and its profiles unless `profiles` is given.',
  }),
  allow_host_access: flag({
    doc: 'backup: whether to accept a backup with access to the host (privileged, `raw.*`, paths and devices of the host).',
  }),
  sha256: text({ doc: 'backup: SHA-256 of the file.', computed: true }),
} as const;

const waitTypes = ['running', 'ipv4', 'ipv6', 'command', 'tcp', 'file', 'cloud-init', 'delay'] as const;

const waitAttributes = {
  type: text({
    doc: '`running`; `ipv4` or `ipv6`: has a reachable address; `command`: exits with 0; `tcp`: the port accepts connections; `file`: exists; `cloud-init`: has finished; `delay`: the time has passed.',
    required: true,
    check: oneOf(...waitTypes),
  }),
  nic: text({ doc: 'Interface in the container that must have the address. Default: any.' }),
  command: texts({ doc: 'Command and arguments.' }),
  port: integer({
    doc: 'Port to connect to, from the machine that runs Terraform.',
    check: (port: number) => (port >= 1 && port <= 65_535 ? undefined : 'must be from 1 to 65535'),
  }),
  host: text({ doc: 'Host of the port. Default: the first address of the container.' }),
  path: text({ doc: 'Absolute path in the container.', check: absolutePath }),
  delay: text({ doc: 'delay: time to wait, such as `5s`.', check: durationCheck }),
  timeout: text({ doc: 'Time limit of the wait.', default: '60s', check: durationCheck }),
} as const;

const fileAttributes = {
  content: text({ doc: 'The content, as text.' }),
  source: text({ doc: 'Path of a local file with the content.', check: notEmpty }),
  mode: text({ doc: 'Permissions, octal.', default: '0644', check: fileMode, same: isSameMode }),
  uid: integer({ doc: 'User id of the owner, in the container.', default: 0 }),
  gid: integer({ doc: 'Group id, in the container.', default: 0 }),
  sha256: text({ doc: 'SHA-256 of the content in the container.', computed: true }),
} as const;

const execAttributes = {
  command: texts({ doc: 'Command and arguments.', required: true, check: commandCheck }),
  environment: textMap({ doc: 'Environment variables, in addition to those of the container.' }),
  cwd: text({ doc: 'Directory to run in.', check: absolutePath }),
  user: integer({ doc: 'User id in the container.', default: 0 }),
  group: integer({ doc: 'Group id in the container.', default: 0 }),
  on: text({
    doc: '`create`: once, when the container first runs; `change`: also when this entry changes; `start`: also after every start by Terraform.',
    default: 'change',
    check: oneOf('create', 'change', 'start'),
  }),
  enabled: flag({ doc: 'Whether to run the command.', default: true }),
  fail_on_error: flag({ doc: 'Whether an exit code other than 0 fails the apply.', default: true }),
  record_output: flag({
    doc: 'Whether the state keeps its output (`stdout`, `stderr`), in which secrets may be.',
    default: false,
  }),
  timeout: text({ doc: 'Time limit of the run.', default: '5m', check: durationCheck }),
  exit_code: integer({ doc: 'Exit code of the last run; null before the first run.', computed: true }),
  stdout: text({ doc: 'Its standard output, at most 64 KiB.', computed: true }),
  stderr: text({ doc: 'Its standard error, at most 64 KiB.', computed: true }),
} as const;

const snapshotsAttributes = {
  schedule: text({ doc: 'Schedule as five cron fields: `snapshots.schedule`.' }),
  pattern: text({ doc: 'Pattern of names: `snapshots.pattern`.' }),
  expiry: text({ doc: 'Lifetime of a snapshot, such as `2w`: `snapshots.expiry`.' }),
  stopped: flag({ doc: 'Whether to take snapshots of a stopped container: `snapshots.schedule.stopped`.' }),
} as const;

const interfaceAttributes = {
  mac_address: text({ doc: 'MAC address.', computed: true }),
  ipv4_addresses: texts({ doc: 'Reachable IPv4 addresses.', computed: true }),
  ipv6_addresses: texts({ doc: 'Reachable IPv6 addresses.', computed: true }),
} as const;

export const containerAttributes = {
  name: nameAttribute('Name, at most 64 characters.', containerName),
  description: descriptionAttribute,
  source: object(sourceAttributes, {
    doc: 'Source of the container. Default: an empty container. Another source replaces the container.',
    ...serverDefault,
  }),
  architecture: text({
    doc: 'Kernel architecture, such as x86_64.',
    ...serverDefault,
    replace: true,
    check: architectureRule,
    same: isSameArchitecture,
  }),
  instance_type: text({ doc: 'Sets limits like an instance type of a cloud, at creation.', replace: isGiven }),
  target: text({
    doc: 'Cluster member for the container, or `@group` for any member of a group. Another one moves the container, which stops for it. Default: the server chooses, and a later move is no difference.',
    ...serverDefault,
  }),
  profiles: texts({
    doc: 'Profiles in order; later ones win. Default: `default` at creation (a copy gets those of the server, a backup its own), later unchanged. `[]`: none.',
    ...serverDefault,
  }),
  ephemeral: flag({ doc: 'Whether it is deleted when it stops.', default: false }),
  config: containerConfigAttribute(false),
  ...writeOnlyConfigAttributes,
  devices: devicesAttribute,
  snapshots: object(snapshotsAttributes, {
    doc: 'The policy of automatic snapshots. It sets the config keys `snapshots.*`, which must then not be in `config`.',
  }),
  running: flag({ doc: 'Whether the container should run.', default: true }),
  allow_restart: flag({
    doc: 'Whether changes that take effect at a start may restart it. If false, such a change is refused while it runs.',
    default: true,
  }),
  stop_timeout: integer({
    doc: 'Seconds for a clean stop, after which it is killed.',
    default: 30,
    check: stopSeconds,
  }),
  wait_for: objects(waitAttributes, { doc: 'Conditions to wait for after each start, in order. Default: none.' }),
  files: objectMap(fileAttributes, {
    doc: 'Files in the container, by path. They are written before the first start, and compared by content, mode and owner.',
    check: (files: Readonly<Record<string, unknown>>) =>
      Object.keys(files)
        .filter((path) => !absolute(path))
        .map((path) => ({ path: [{ key: path }], message: 'must be an absolute path without .. in it' })),
  }),
  exec: objectMap(execAttributes, { doc: 'Commands to run in the running container, in the order of their names.' }),
  status: text({ doc: 'Running, Stopped, Frozen.', computed: true }),
  restart_pending: flag({
    doc: 'Whether it runs without a change that takes effect at a start, since its restart failed or `allow_restart` is false. The next apply restarts it where `allow_restart` permits.',
    computed: true,
    keep: true,
  }),
  location: text({ doc: 'Cluster member of the container.', computed: true, keep: true }),
  created_at: text({ doc: 'Time of creation.', computed: true, keep: true }),
  ipv4_address: text({ doc: 'Its first reachable IPv4 address.', computed: true }),
  ipv6_address: text({ doc: 'Its first reachable IPv6 address.', computed: true }),
  mac_address: text({ doc: 'MAC address of its first interface.', computed: true }),
  interfaces: objectMap(interfaceAttributes, {
    doc: 'Its interfaces, by their names in the container.',
    computed: true,
  }),
  expanded_config: textMap({
    doc: 'Config of its profiles and its own, merged. Sensitive, because it repeats `config`.',
    computed: true,
    sensitive: true,
  }),
  // Not sensitive: Terraform 1.11 sees a change at every refresh of a resource that has two sensitive attributes.
  expanded_devices: shownTextMaps({
    doc: 'Devices of its profiles and its own, merged, without those of gantry_container_device.',
    computed: true,
  }),
} as const;

export type ContainerAttributes = typeof containerAttributes;
export type ContainerState = StateOf<ContainerAttributes>;
export type WaitFor = StateOf<typeof waitAttributes>;
export type FileSpec = StateOf<typeof fileAttributes>;
export type ExecSpec = StateOf<typeof execAttributes>;
export type Source = StateOf<typeof sourceAttributes>;
