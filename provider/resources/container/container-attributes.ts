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
} from '../../framework/attribute.ts';
import type { StateOf } from '../../framework/attribute.ts';
import { durationCheck } from '../../framework/duration.ts';
import { timeoutsAttribute } from '../../framework/timeouts.ts';
import { isGiven } from '../shared/config-maps.ts';
import {
  containerConfigAttribute,
  descriptionAttribute,
  devicesAttribute,
  nameAttribute,
} from '../shared/common-attributes.ts';

export const oneOf =
  (...words: readonly string[]) =>
  (value: string): string | undefined =>
    words.includes(value) ? undefined : `must be one of ${words.join(', ')}`;

export const fileMode = (value: string): string | undefined =>
  /^0?[0-7]{3,4}$/.test(value) ? undefined : 'must be an octal file mode such as 0644';
/** `600` and `0600` are one mode. */
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

export const commandCheck = ([program]: readonly string[]): string | undefined =>
  program === undefined || program === '' ? 'must begin with the program to run' : undefined;

export const sourceAttributes = {
  type: text({
    doc: '`image`, `copy`, `backup` or `none`.',
    required: true,
    check: oneOf('image', 'copy', 'backup', 'none'),
  }),
  alias: text({ doc: 'image: alias of the image.' }),
  fingerprint: text({ doc: 'image: fingerprint of the image.' }),
  server: text({
    doc: 'image: URL of the server that has the image; without it the image is in the store of this server.',
  }),
  protocol: text({ doc: 'image: protocol of `server`.' }),
  certificate: text({
    doc: 'image: certificate of `server`, as PEM, when no authority vouches for it.',
    check: (pem: string) => (pem === '' ? undefined : pemCheck(pem)),
  }),
  mode: text({ doc: 'image: `local` or `pull`.' }),
  source: text({ doc: 'copy: name of the container to copy.' }),
  snapshot: text({
    doc: 'copy: name of a snapshot of it: the copy begins as the container was then. When both are renamed the copy stays.',
  }),
  container_only: flag({ doc: 'copy: without its snapshots.' }),
  file: text({
    doc: 'backup: path of a backup file, as `gantry backup export` and `lxc export` write it. Another content makes another container; once it is made the file may go. What the backup has beyond the configuration (config, devices) goes at creation; its snapshots stay, and its profiles unless `profiles` is given.',
  }),
  allow_host_access: flag({
    doc: 'backup: whether it is taken although it brings access to the host (privileged, `raw.*`, paths and devices of the host).',
  }),
  sha256: text({ doc: 'backup: hash of the file.', computed: true }),
} as const;

const waitTypes = ['running', 'ipv4', 'ipv6', 'command', 'tcp', 'file', 'cloud-init', 'delay'] as const;

const waitAttributes = {
  type: text({
    doc: '`running`; `ipv4` or `ipv6`: an address others can reach; `command`: exits with 0; `tcp`: something accepts connections; `file`: it is there; `cloud-init`: is done; `delay`: that time has passed.',
    required: true,
    check: oneOf(...waitTypes),
  }),
  nic: text({ doc: 'Interface inside that has to have the address; any when left out.' }),
  command: texts({ doc: 'Command and arguments.' }),
  port: integer({
    doc: 'Port to connect to, from where Terraform runs.',
    check: (port: number) => (port >= 1 && port <= 65_535 ? undefined : 'must be from 1 to 65535'),
  }),
  host: text({ doc: 'Where the port is; the first address of the container when left out.' }),
  path: text({ doc: 'Absolute path inside.', check: absolutePath }),
  delay: text({ doc: 'delay: how long to wait in any case, such as `5s`.', check: durationCheck }),
  timeout: text({ doc: 'How long to wait.', default: '60s', check: durationCheck }),
} as const;

const fileAttributes = {
  content: text({ doc: 'The content, as text.' }),
  source: text({ doc: 'Path of a local file with the content.' }),
  mode: text({ doc: 'Permissions, octal.', default: '0644', check: fileMode, same: isSameMode }),
  uid: integer({ doc: 'Owner, as the container sees it.', default: 0 }),
  gid: integer({ doc: 'Group, as the container sees it.', default: 0 }),
  sha256: text({ doc: 'Hash of the content as it is in the container.', computed: true }),
} as const;

const execAttributes = {
  command: texts({ doc: 'Command and arguments.', required: true, check: commandCheck }),
  environment: textMap({ doc: 'Environment, over that of the container.' }),
  cwd: text({ doc: 'Directory to run in.', check: absolutePath }),
  user: integer({ doc: 'User id inside.', default: 0 }),
  group: integer({ doc: 'Group id inside.', default: 0 }),
  on: text({
    doc: '`create`: once, as soon as it runs; `change`: also when this entry changes; `start`: also after every start by Terraform.',
    default: 'change',
    check: oneOf('create', 'change', 'start'),
  }),
  enabled: flag({ doc: 'Whether it runs at all.', default: true }),
  fail_on_error: flag({ doc: 'Whether another exit code than 0 fails the apply.', default: true }),
  record_output: flag({ doc: 'Whether what it writes is kept in the state.', default: true }),
  timeout: text({ doc: 'Limit of the run.', default: '5m', check: durationCheck }),
  exit_code: integer({ doc: 'Exit code of the last run; null when it did not run yet.', computed: true }),
  stdout: text({ doc: 'What it wrote, at most 64 KiB.', computed: true }),
  stderr: text({ doc: 'Its errors, at most 64 KiB.', computed: true }),
} as const;

const snapshotsAttributes = {
  schedule: text({ doc: 'When, as five cron fields: `snapshots.schedule`.' }),
  pattern: text({ doc: 'Names: `snapshots.pattern`.' }),
  expiry: text({ doc: 'Life of a snapshot, such as `2w`: `snapshots.expiry`.' }),
  stopped: flag({ doc: 'Also while it is stopped: `snapshots.schedule.stopped`.' }),
} as const;

const interfaceAttributes = {
  mac_address: text({ doc: 'MAC address.', computed: true }),
  ipv4_addresses: texts({ doc: 'IPv4 addresses others can reach.', computed: true }),
  ipv6_addresses: texts({ doc: 'IPv6 addresses others can reach.', computed: true }),
} as const;

export const containerAttributes = {
  name: nameAttribute('Name, at most 64 characters.', containerName),
  description: descriptionAttribute,
  source: object(sourceAttributes, {
    doc: 'What it is made from; an empty container when left out. Another source makes another container.',
    optional: true,
    computed: true,
    keep: true,
  }),
  architecture: text({
    doc: 'Kernel architecture, such as x86_64.',
    optional: true,
    computed: true,
    keep: true,
    replace: true,
    check: architectureRule,
    same: (before: string, after: string) => architectureName(before) === (architectureName(after) ?? after),
  }),
  instance_type: text({
    doc: 'Sets limits after a type of some cloud, at creation.',
    replace: isGiven,
  }),
  target: text({ doc: 'Cluster member to make it on.', replace: isGiven }),
  profiles: texts({
    doc: 'Applied in order, later ones win. Left out: `default` at creation (of a copy what the server gives it, of a backup those in it), later as they are. `[]`: none.',
    optional: true,
    computed: true,
    keep: true,
  }),
  ephemeral: flag({ doc: 'Deleted when it stops.', default: false }),
  config: containerConfigAttribute(false),
  devices: devicesAttribute,
  snapshots: object(snapshotsAttributes, {
    doc: 'The policy of automatic snapshots: a form of the config keys `snapshots.*`, which then are not in `config`.',
  }),
  running: flag({ doc: 'Whether it is to run.', default: true }),
  allow_restart: flag({
    doc: 'Whether changes that take effect at a start may restart it. Without, such a change is refused while it runs.',
    default: true,
  }),
  stop_timeout: integer({
    doc: 'Seconds for a clean stop; after that it is killed.',
    default: 30,
    check: (seconds: number) => (seconds >= 0 && seconds <= 3600 ? undefined : 'must be from 0 to 3600'),
  }),
  wait_for: objects(waitAttributes, { doc: 'What to wait for after each start, in order. Nothing unless given.' }),
  files: objectMap(fileAttributes, {
    doc: 'Files inside, by path. They are written before the first start, and compared by content, mode and owner.',
    check: (files: Readonly<Record<string, unknown>>) =>
      Object.keys(files)
        .filter((path) => !absolute(path))
        .map((path) => ({ path: [{ key: path }], message: 'must be an absolute path without .. in it' })),
  }),
  exec: objectMap(execAttributes, { doc: 'Commands to run inside once it runs, in the order of their names.' }),
  status: text({ doc: 'Running, Stopped, Frozen.', computed: true }),
  location: text({ doc: 'Cluster member it is on.', computed: true, keep: true }),
  created_at: text({ doc: 'When it was made.', computed: true, keep: true }),
  ipv4_address: text({ doc: 'Its first IPv4 address others can reach.', computed: true }),
  ipv6_address: text({ doc: 'Its first IPv6 address others can reach.', computed: true }),
  mac_address: text({ doc: 'MAC address of its first interface.', computed: true }),
  interfaces: objectMap(interfaceAttributes, { doc: 'Its interfaces, by their names inside.', computed: true }),
  expanded_config: textMap({
    doc: 'Config of its profiles and its own, merged. Sensitive, for what is sensitive in `config` is in it too.',
    computed: true,
    sensitive: true,
  }),
  expanded_devices: shownTextMaps({
    doc: 'Devices of its profiles and its own, merged, without those of gantry_container_device.',
    computed: true,
  }),
  timeouts: timeoutsAttribute,
} as const;

export type ContainerAttributes = typeof containerAttributes;
export type ContainerState = StateOf<ContainerAttributes>;
export type WaitFor = StateOf<typeof waitAttributes>;
export type FileSpec = StateOf<typeof fileAttributes>;
export type ExecSpec = StateOf<typeof execAttributes>;
export type Source = StateOf<typeof sourceAttributes>;
