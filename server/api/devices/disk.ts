// Device type disk: the root file system, storage volumes and host directories. Drivers mount them.
import type { Problem } from '../problem.ts';
import * as is from '../text/value-checks.ts';
import {
  bootPriorityDoc,
  isSet,
  live,
  problem,
  type DeviceConfig,
  type Devices,
  type DeviceSchema,
} from './device-schema.ts';
import { fileSystemOptions, mountFlags, mountOptions } from './mount-flags.ts';

const propagations = [
  'private',
  'shared',
  'slave',
  'unbindable',
  'rprivate',
  'rshared',
  'rslave',
  'runbindable',
] as const;

export const disk: DeviceSchema = {
  doc: 'The root file system (path /), a storage volume, or a file or directory of the host.',
  hotplug: true,
  adjustable: /^(limits\.(read|write|max)|optional|required)$/,
  resolve: fromRoot,
  home: (device) => (isRoot(device) ? 'any' : isSet(device, 'pool') || !isSet(device, 'source') ? 'alike' : 'host'),
  references: (device) => {
    const { pool = '', source = '' } = device;
    if (pool === '') return [];
    const volume = {
      kind: 'storage_volume',
      name: `${pool}/${source}`,
      property: 'source',
      mayBeHosts: false,
    } as const;
    return [
      { kind: 'storage_pool', name: pool, property: 'pool', mayBeHosts: false },
      ...(source === '' || isRoot(device) ? [] : [volume]),
    ];
  },
  hostAccess: (device) => (isSet(device, 'pool') || isRoot(device) ? undefined : hostPath(device)),
  properties: {
    path: live(is.mountPath, 'Where it is mounted in the container; without a leading slash as with one.', {
      required: true,
    }),
    source: live(
      is.any,
      'Path on the host, or with pool the name of a volume. Of a block device the file system on it is mounted. Not for the root.',
    ),
    pool: { check: is.any, effect: 'live', doc: 'Storage pool of the volume, or of the root file system.' },
    size: live(is.sizeOrZero, 'Size of the root file system. Unset or 0: as the pool has it.'),
    readonly: live(is.bool, 'Mount it read-only.', { default: 'false' }),
    required: live(is.bool, 'Refuse to start while the source is missing; false: start without it.', {
      default: 'true',
    }),
    optional: live(is.bool, 'Older name: true says the same as required: false.', { default: 'false' }),
    recursive: live(is.bool, 'Also bring what is mounted below the source.', { default: 'false' }),
    propagation: live(is.oneOf(...propagations), 'How mounts made later are shared.', { default: 'private' }),
    shift: live(is.bool, 'Files on disk have the ids that the container sees: mount through its id map.', {
      default: 'false',
    }),
    'raw.mount.options': live(
      mountOptions,
      `Options of the mount, separated by commas: ${mountFlags.join(', ')}; with a block device also those of its file system.`,
    ),
    'boot.priority': live(is.uint32, bootPriorityDoc),
    'limits.read': live(is.diskRate, 'Most bytes a second, or operations (500iops), when reading.'),
    'limits.write': live(is.diskRate, 'Most bytes a second, or operations (500iops), when writing.'),
    'limits.max': live(is.diskRate, 'Both limits at once; the others then have no effect.'),
  },
  rules: (device) => (isRoot(device) ? rootRules(device) : mountRules(device)),
};

function fromRoot(device: DeviceConfig): DeviceConfig {
  const { path = '' } = device;
  return path === '' || path.startsWith('/') ? device : { ...device, path: `/${path}` };
}

const hostPath = ({ source = '' }: DeviceConfig): string => `the path ${source.slice(0, 100)} of the host`;

/** Whether a start is refused while the source is missing. */
export const isRequired = (device: DeviceConfig): boolean =>
  isSet(device, 'required') ? is.isTrue(device['required']) : !is.isTrue(device['optional']);

export const isDisk = ({ type }: DeviceConfig): boolean => type === 'disk';

export const isRoot = (device: DeviceConfig): boolean => isDisk(device) && device['path'] === '/';

export interface Mount {
  readonly device: string;
  readonly path: string;
}

/** The disk device that has `path` on it, its mount point included; undefined: the root file system has it. */
export function mountOf(path: string, devices: Devices): Mount | undefined {
  const place = `${is.canonicalPath(path)}/`;
  return Object.entries(devices)
    .filter(([, device]) => isDisk(device) && !isRoot(device) && (device['path'] ?? '') !== '')
    .map(([device, properties]) => ({ device, path: is.canonicalPath(properties['path'] ?? '') }))
    .filter((mount) => place.startsWith(`${mount.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];
}

/** The disk with the root file system. Of several, which is a problem, the first by name. */
export function rootDisk(devices: Devices): { readonly name: string; readonly pool: string } | undefined {
  const [name] = rootDisks(devices);
  return name === undefined ? undefined : { name, pool: devices[name]?.['pool'] ?? '' };
}

const rootDisks = (devices: Devices): string[] =>
  Object.keys(devices)
    .filter((name) => isRoot(devices[name] ?? {}))
    .toSorted();

interface SharedPath {
  readonly name: string;
  readonly owner: string;
  readonly place: string;
}

/** Disks with the same mount path, `/` included: each but the first by name, with the first. */
export function disksOnOnePath(devices: Devices): readonly SharedPath[] {
  const owners = new Map<string, string>();
  const found: SharedPath[] = [];
  for (const name of Object.keys(devices).toSorted()) {
    const { type, path = '' } = devices[name] ?? {};
    if (type !== 'disk' || path === '' || is.judge(is.mountPath, path, 'word') !== undefined) continue;
    const place = is.canonicalPath(path);
    const owner = owners.get(place);
    if (owner === undefined) owners.set(place, name);
    else found.push({ name, owner, place });
  }
  return found;
}

export const sharedPaths = (devices: Devices): Problem[] =>
  disksOnOnePath(devices).map(({ name, owner, place }) => {
    const why = place === '/' ? ': a container has exactly one root disk' : '';
    return problem(`devices.${name}.path`, `is ${place} like that of ${owner}${why}`);
  });

function rootRules(device: DeviceConfig): Problem[] {
  const problems: Problem[] = [];
  if (!isSet(device, 'pool')) problems.push(problem('pool', 'is required for the root disk (path /)'));
  if (isSet(device, 'source')) {
    problems.push(problem('source', 'is not for the root disk (path /): its pool says where it lives'));
  }
  if (is.isTrue(device['shift'])) problems.push(problem('shift', 'is not for the root disk (path /), which is always'));
  if (isSet(device, 'raw.mount.options')) {
    problems.push(problem('raw.mount.options', 'is not for the root disk (path /): readonly is'));
  }
  if (is.isTrue(device['recursive'])) problems.push(problem('recursive', 'is not for the root disk (path /)'));
  return problems;
}

function mountRules(device: DeviceConfig): Problem[] {
  const problems: Problem[] = [];
  const source = device['source'] ?? '';
  if (source === '') {
    problems.push(problem('source', 'is required: a path on the host, or with pool the name of a volume'));
  } else if (isSet(device, 'pool')) {
    if (source.startsWith('/'))
      problems.push(problem('source', `is the name of a volume when pool is set, is ${is.shown(source)}`));
  } else {
    const broken = is.judge(is.absolutePath, source, 'word');
    if (broken !== undefined) problems.push(problem('source', `${broken}; the name of a volume needs pool`));
  }
  const [option] = fileSystemOptions(device['raw.mount.options']);
  if (option !== undefined && (isSet(device, 'pool') || !source.startsWith('/dev/')))
    problems.push(
      problem(
        'raw.mount.options',
        `has ${is.shown(option)}, which is none of ${mountFlags.join(', ')}: options of a file system are for sources below /dev`,
      ),
    );
  if (isSet(device, 'size')) problems.push(problem('size', 'is only for the root disk (path /): set it on the volume'));
  if (isSet(device, 'required') && isSet(device, 'optional') && isRequired(device) === is.isTrue(device['optional'])) {
    problems.push(problem('required', 'contradicts optional, its older name: give one of them'));
  }
  return problems;
}
