// The URLs of storage volumes. Pure.
import type { VolumeId } from '../../records/record-names.ts';
import { urlInProject } from '../../api/project/project-names.ts';

/** `parts` are path segments below the volume, such as `snapshots`, `NAME`. */
export const volumeUrl = (pool: string, type: string, qualified: string, ...parts: readonly string[]): string =>
  urlInProject(`/1.0/storage-pools/${encodeURIComponent(pool)}/volumes/${type}`, qualified, ...parts);

export const customUrl = ({ pool, name }: VolumeId, ...parts: readonly string[]): string =>
  volumeUrl(pool, 'custom', name, ...parts);
