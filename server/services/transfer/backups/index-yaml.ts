// The first member of a backup, index.yaml: the description of the container or volume, written and read. volume-index.ts handles volumes.
import { BackupHead, BackupParts, type BackupMachine } from '../../../api/container/backup.ts';
import type { Container } from '../../../api/container/container.ts';
import { never } from '../../../api/schema/common-schemas.ts';
import { errors } from '../../../api/errors.ts';
import { validateBody } from '../../../api/schema/validate-json.ts';
import { headOf, plainSnapshot, textsOf, timeOf, type DescribedContent, type RenderedIndex } from './index-head.ts';
import { backupTypes, type BackupType } from './layout.ts';
import { savedVolume, type SavedVolume } from './volume-index.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';
import { volumeCopy } from '../../storage/root-volume.ts';
import { readYaml } from '../../../drivers/image/read-yaml.ts';
import type { Snapshot } from '../../../api/container/snapshot.ts';
import type { ProfileDocument, RootVolumeDocument } from '../../../records/documents.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface BackupContent extends DescribedContent {
  readonly container: Container;
  readonly project: string;
  readonly snapshots: readonly Snapshot[];
  /** Values set on its root volume, and on those of its snapshots. */
  readonly written: RootVolumeDocument | undefined;
  readonly writtenOf: ReadonlyMap<string, RootVolumeDocument>;
  readonly profiles: readonly { readonly name: string; readonly document: ProfileDocument }[];
}

/** Field names and their order are those of the real system (section 11), which reads it. */
export async function renderIndex(content: BackupContent): Promise<RenderedIndex> {
  const { renderYaml } = await import('../../../drivers/image/yaml-parser.ts');
  const config = configOf(content);
  const index = { ...headOf(content.container.name, 'container', content), config };
  return { index: renderYaml(index), beside: renderYaml(config) };
}

function configOf({ container, project, snapshots, pool, profiles, written, writtenOf, optimized }: BackupContent) {
  const owned = (config: Readonly<Record<string, string>>) => (optimized ? config : withOwnIds(config));
  return {
    container: { ...container, config: owned(container.config), type: 'container', project },
    snapshots: snapshots.map((snapshot) => ({ ...snapshot, config: owned(snapshot.config), size: -1 })),
    pool: {
      config: pool.document.config,
      description: pool.document.description,
      name: pool.name,
      driver: pool.document.driver,
      used_by: [],
      status: 'Created',
      locations: ['none'],
    },
    profiles: profiles.map(({ name, document }) => ({
      config: document.config,
      description: document.description,
      devices: document.devices,
      name,
      used_by: [],
    })),
    volume: {
      config: written?.config ?? {},
      description: written?.description ?? '',
      name: container.name,
      type: 'container',
      used_by: [],
      location: 'none',
      content_type: 'filesystem',
      project,
      created_at: never.expires,
    },
    volume_snapshots: snapshots.map(({ name, expires_at, created_at }) => ({
      description: writtenOf.get(name)?.description ?? '',
      expires_at,
      name,
      config: writtenOf.get(name)?.config ?? {},
      content_type: 'filesystem',
      created_at,
    })),
  };
}

/** Files are packed with the owners that the container sees, whatever is on the disk; a file system stream has the disk's owners. */
const withOwnIds = (config: Readonly<Record<string, string>>): Record<string, string> =>
  config[idMapKeys.files] === undefined ? config : { ...config, [idMapKeys.files]: '[]' };

/** A container or snapshot in a backup's description. */
export interface SavedMachine {
  readonly architecture: string;
  readonly config: Readonly<Record<string, string>>;
  readonly devices: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly profiles: readonly string[];
  readonly ephemeral: boolean;
  readonly description: string;
  /** Absent: unknown. */
  readonly createdAt?: string;
  readonly lastUsedAt?: string;
  readonly volume?: RootVolumeDocument;
}

export interface SavedParts {
  readonly container: SavedMachine;
  readonly snapshots: readonly (SavedMachine & { readonly name: string; readonly expiresAt: string })[];
}

export interface BackupIndex {
  readonly type: BackupType;
  readonly name: string;
  /** Driver of the pool it comes from. */
  readonly backend: string;
  readonly pool: string;
  readonly snapshots: readonly string[];
  readonly optimized: boolean;
  /** Absent in backups of old releases, which have it only in backup.yaml, and in those of volumes. */
  readonly parts?: SavedParts;
  readonly volume?: SavedVolume;
}

/** Ignores unknown members: every release adds some. Throws AppError badRequest naming the wrong members. */
export async function parseIndex(text: string): Promise<BackupIndex> {
  const value = await parse(text, 'backup/index.yaml');
  const problems = validateBody(BackupHead, value);
  if (problems.length > 0) throw errors.invalid('backup: backup/index.yaml', problems);
  const head = value as BackupHead & { config?: unknown };
  const type = backupTypes.find((each) => each === (head.type || 'container'));
  if (type === undefined)
    throw errors.badRequest(
      `The backup is of a ${head.type}; only those of containers and custom volumes can be restored here`,
    );
  const config = head.config ?? undefined;
  const parts = type === 'custom' || config === undefined ? undefined : partsOf(config, 'backup/index.yaml', 'config.');
  const volume = type === 'custom' ? savedVolume(config) : undefined;
  const snapshots = head.snapshots ?? [];
  if (new Set(snapshots).size < snapshots.length)
    throw errors.badRequest('Invalid backup: backup/index.yaml: snapshots: a name is there twice');
  return {
    type,
    name: head.name,
    backend: head.backend ?? '',
    pool: head.pool ?? '',
    snapshots,
    optimized: head.optimized ?? false,
    ...(parts === undefined ? {} : { parts: onlyListed(parts, snapshots) }),
    ...withoutUndefined({ volume }),
  };
}

/** Without snapshots whose files the backup lacks: some releases describe omitted ones, too. */
export function onlyListed(parts: SavedParts, names: readonly string[]): SavedParts {
  return {
    ...parts,
    snapshots: names.flatMap((name) => parts.snapshots.find((snapshot) => snapshot.name === name) ?? []),
  };
}

/** backup.yaml: the same as `config` of an index. */
export async function parseBackupYaml(text: string): Promise<SavedParts> {
  return partsOf(await parse(text, 'backup.yaml'), 'backup.yaml', '');
}

async function parse(text: string, what: string): Promise<unknown> {
  try {
    return await readYaml(text, what);
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw errors.badRequest(`Invalid backup: ${why}`);
  }
}

function partsOf(value: unknown, file: string, path: string): SavedParts {
  const problems = validateBody(BackupParts, value);
  if (problems.length > 0) {
    const below = problems.map((problem) => ({ ...problem, path: `${path}${problem.path}` }));
    throw errors.invalid(`backup: ${file}`, below);
  }
  const { container, snapshots, volume, volume_snapshots } = value as BackupParts;
  return {
    container: { ...machineOf(container), ...writtenIn(volume) },
    snapshots: (snapshots ?? []).map((snapshot) => ({
      ...machineOf(snapshot),
      ...writtenIn(volume_snapshots?.find((one) => plainSnapshot(one.name) === plainSnapshot(snapshot.name))),
      name: plainSnapshot(snapshot.name),
      expiresAt: timeOf(snapshot.expires_at) ?? never.expires,
    })),
  };
}

const writtenIn = (volume: BackupParts['volume']): ReturnType<typeof volumeCopy> =>
  volumeCopy({ description: volume?.description ?? '', config: textsOf(volume?.config ?? {}) });

function machineOf(saved: BackupMachine): SavedMachine {
  const [createdAt, lastUsedAt] = [timeOf(saved.created_at), timeOf(saved.last_used_at)];
  const devices = Object.entries(saved.devices ?? {}).map(([name, device]) => [name, textsOf(device)] as const);
  return {
    architecture: saved.architecture,
    config: textsOf(saved.config ?? {}),
    devices: Object.fromEntries(devices),
    profiles: saved.profiles ?? [],
    ephemeral: saved.ephemeral ?? false,
    description: saved.description ?? '',
    ...withoutUndefined({ createdAt, lastUsedAt }),
  };
}
