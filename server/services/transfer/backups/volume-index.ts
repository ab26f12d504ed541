// The description of a custom volume in the index of its backup, written and read.
import { errors } from '../../../api/errors.ts';
import { never } from '../../../api/schema/common-schemas.ts';
import { validateBody } from '../../../api/schema/validate-json.ts';
import { BackupVolumeParts } from '../../../api/storage/volume-backup.ts';
import type { VolumeDocument } from '../../../records/documents.ts';
import type { OwnedRecord } from '../../shared/owned-records.ts';
import { headOf, plainSnapshot, textsOf, timeOf, type DescribedContent, type RenderedIndex } from './index-head.ts';

export interface VolumeContent extends DescribedContent {
  /** Without its project. */
  readonly name: string;
  readonly project: string;
  readonly document: VolumeDocument;
  readonly snapshots: readonly OwnedRecord<'volumeSnapshots'>[];
}

/** Field names and their order are those of the real system, which reads it. */
export async function renderVolumeIndex(content: VolumeContent): Promise<RenderedIndex> {
  const { renderYaml } = await import('../../../drivers/image/yaml-parser.ts');
  const { name, project, document, snapshots } = content;
  const volume = {
    config: document.config,
    description: document.description,
    name,
    type: 'custom',
    used_by: [],
    location: 'none',
    content_type: 'filesystem',
    project,
    created_at: document.createdAt,
  };
  const volumeSnapshots = snapshots.map(({ name: snapshot, document: of }) => ({
    description: of.description,
    expires_at: of.expiresAt ?? never.expires,
    name: snapshot,
    config: of.config,
    content_type: 'filesystem',
    created_at: of.createdAt,
  }));
  const config = { volume, ...(snapshots.length === 0 ? {} : { volume_snapshots: volumeSnapshots }) };
  return { index: renderYaml({ ...headOf(name, 'custom', content), config }) };
}

export interface SavedVolume {
  readonly description: string;
  readonly config: Readonly<Record<string, string>>;
  readonly snapshots: readonly SavedVolumeSnapshot[];
}

export interface SavedVolumeSnapshot {
  readonly name: string;
  readonly description: string;
  readonly config: Readonly<Record<string, string>>;
  /** Absent: unknown. */
  readonly createdAt?: string;
  readonly expiresAt: string;
}

/** `config` of an index. Throws AppError badRequest with all problems. */
export function savedVolume(config: unknown): SavedVolume {
  const problems = validateBody(BackupVolumeParts, config ?? {});
  if (problems.length > 0) {
    const below = problems.map((problem) => ({ ...problem, path: `config.${problem.path}` }));
    throw errors.invalid('backup: backup/index.yaml', below);
  }
  const { volume, volume_snapshots: snapshots } = config as BackupVolumeParts;
  if ((volume.content_type || 'filesystem') !== 'filesystem')
    throw errors.badRequest(
      `The backup is of a volume with content_type ${volume.content_type}, which is for virtual machines; volumes here hold files`,
    );
  return {
    description: volume.description ?? '',
    config: textsOf(volume.config ?? {}),
    snapshots: (snapshots ?? []).map((one) => {
      const createdAt = timeOf(one.created_at);
      return {
        name: plainSnapshot(one.name),
        description: one.description ?? '',
        config: textsOf(one.config ?? {}),
        // LXD writes the zero time for an unknown one.
        ...(createdAt === undefined || createdAt === never.expires ? {} : { createdAt }),
        expiresAt: timeOf(one.expires_at) ?? never.expires,
      };
    }),
  };
}
