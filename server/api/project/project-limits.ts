// The limits of a project: how much its objects use, and which limits they break. Pure.
import { rootDisk } from '../devices/index.ts';
import { formatBinary, parseBytes } from '../text/byte-size.ts';
import type { ConfigMap } from '../schema/common-schemas.ts';
import type { ProjectContents, ProjectMember, ProjectProblem } from './project-contents.ts';

/** Each container needs the key if the project limits it: without it its use is unlimited. */
const summed = ['limits.cpu', 'limits.memory', 'limits.processes'] as const;
const counted = ['limits.containers', 'limits.instances', 'limits.networks', 'limits.virtual-machines'] as const;
export const limitKeys = [...counted, ...summed, 'limits.disk'] as const;

type SummedKey = (typeof summed)[number];
export type LimitKey = (typeof limitKeys)[number] | `limits.disk.pool.${string}`;

const poolPrefix = 'limits.disk.pool.';
export const poolOfLimit = (key: string): string | undefined =>
  key.startsWith(poolPrefix) ? key.slice(poolPrefix.length) : undefined;

export const setLimits = (config: ConfigMap): readonly LimitKey[] =>
  Object.keys(config).filter(
    (key): key is LimitKey =>
      config[key] !== '' && ((limitKeys as readonly string[]).includes(key) || (poolOfLimit(key) ?? '') !== ''),
  );

const isSize = (key: string): boolean => key === 'limits.memory' || key.startsWith('limits.disk');

/** Undefined: no limit. An unreadable one allows nothing. */
export function limitOf(config: ConfigMap, key: LimitKey): number | undefined {
  const value = config[key] ?? '';
  if (value === '') return undefined;
  const limit = isSize(key) ? parseBytes(value) : Number(value);
  return limit === undefined || Number.isNaN(limit) ? 0 : limit;
}

/** The use of a limit; objects without a countable value add nothing. */
export function useOf(contents: ProjectContents, key: LimitKey): number {
  switch (key) {
    case 'limits.containers':
    case 'limits.instances':
      return contents.containers.length;
    case 'limits.virtual-machines':
      return 0;
    case 'limits.networks':
      return contents.networks.length;
    case 'limits.cpu':
    case 'limits.memory':
    case 'limits.processes':
      return sum(contents.containers.map(({ config }) => amountOf(key, config[key] ?? '') ?? 0));
    case 'limits.disk':
    default:
      return diskUse(contents, poolOfLimit(key));
  }
}

/** Sizes of root disks, custom volumes and snapshots (of one pool), of images and of backups. */
function diskUse(contents: ProjectContents, pool: string | undefined): number {
  const { containers, volumes, images, snapshotSizes, backupBytes } = contents;
  const isThere = (name: string): boolean => pool === undefined || name === pool;
  const roots = containers.flatMap(({ devices }) => {
    const root = rootOf(devices);
    return root !== undefined && isThere(root.pool) ? [parseBytes(root.size) ?? 0] : [];
  });
  const custom = volumes
    .filter((volume) => isThere(volume.pool))
    .map(({ config }) => parseBytes(config['size'] ?? '') ?? 0);
  const sizes = snapshotSizes.filter((snapshot) => isThere(snapshot.pool)).map(({ bytes }) => bytes);
  return sum([...roots, ...custom, ...sizes, ...(pool === undefined ? [...Object.values(images), backupBytes] : [])]);
}

export function limitProblems(contents: ProjectContents): readonly ProjectProblem[] {
  const keys = setLimits(contents.config);
  const disks = keys.filter((key) => key.startsWith('limits.disk'));
  return [
    ...keys.flatMap((key) => totalProblem(contents, key)),
    ...contents.containers.flatMap((container) => [
      ...summed.filter((key) => keys.includes(key)).flatMap((key) => valueProblem(contents, container, key)),
      ...sizelessRoot(contents, container, disks),
    ]),
    ...contents.volumes.flatMap((volume) => {
      const key = limitOn(disks, volume.pool);
      if (key === undefined || (parseBytes(volume.config['size'] ?? '') ?? 0) > 0) return [];
      const subject = { kind: 'volume', name: `${volume.pool}/${volume.name}` } as const;
      return [{ subject, path: 'config.size', message: needed(contents, key) }];
    }),
  ];
}

function totalProblem(contents: ProjectContents, key: LimitKey): readonly ProjectProblem[] {
  const limit = limitOf(contents.config, key);
  const use = useOf(contents, key);
  if (limit === undefined || use <= limit) return [];
  const text = (value: number): string => (isSize(key) ? formatBinary(value) : String(value));
  const message = `would be ${text(use)}, and the project ${contents.name} has at most ${text(limit)}`;
  return [{ path: key, message, total: { key, use, limit } }];
}

function valueProblem(contents: ProjectContents, container: ProjectMember, key: SummedKey): readonly ProjectProblem[] {
  const value = container.config[key] ?? '';
  if (amountOf(key, value) !== undefined) return [];
  const subject = { kind: 'container', name: container.name } as const;
  const message =
    value === ''
      ? needed(contents, key)
      : `cannot be ${JSON.stringify(value)}: it must be ${forms[key]}, since the project ${contents.name} limits ${key} to ${contents.config[key]}`;
  return [{ subject, path: `config.${key}`, message }];
}

const forms: Readonly<Record<SummedKey, string>> = {
  'limits.cpu': 'a number of processors, neither a list of them nor 0, which means all',
  'limits.memory': 'a size, not a share of the host',
  'limits.processes': 'a number',
};

const needed = ({ name, config }: ProjectContents, key: LimitKey): string =>
  `is required: the project ${name} limits ${key} to ${config[key]}`;

function sizelessRoot(
  contents: ProjectContents,
  { name, devices }: ProjectMember,
  limits: readonly LimitKey[],
): readonly ProjectProblem[] {
  const root = rootOf(devices);
  const key = limitOn(limits, root?.pool ?? '');
  if (root === undefined || key === undefined || (parseBytes(root.size) ?? 0) > 0) return [];
  return [{ subject: { kind: 'container', name }, path: `devices.${root.name}.size`, message: needed(contents, key) }];
}

const limitOn = (limits: readonly LimitKey[], pool: string): LimitKey | undefined =>
  limits.find((key) => key === 'limits.disk' || poolOfLimit(key) === pool);

function rootOf(devices: ProjectMember['devices']) {
  const root = rootDisk(devices);
  return root === undefined ? undefined : { ...root, size: devices[root.name]?.['size'] ?? '' };
}

/** Undefined: the value cannot be summed. */
function amountOf(key: SummedKey, value: string): number | undefined {
  if (key === 'limits.memory') return value === '' ? undefined : parseBytes(value);
  const number = /^[0-9]+$/.test(value) ? Number(value) : undefined;
  // Zero processors mean all of them.
  return key === 'limits.cpu' && number === 0 ? undefined : number;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
