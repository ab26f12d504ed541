// The contents of a project that its limits and restrictions concern. Pure data.
import type { Problem } from '../problem.ts';
import type { ConfigMap, DeviceMap } from '../schema/common-schemas.ts';

/** A container with its profiles applied, or a profile. */
export interface ProjectMember {
  /** Plain name. */
  readonly name: string;
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
}

export interface ProjectVolume {
  readonly pool: string;
  readonly name: string;
  readonly config: ConfigMap;
}

export interface ProjectContents {
  readonly name: string;
  readonly config: ConfigMap;
  readonly containers: readonly ProjectMember[];
  readonly profiles: readonly ProjectMember[];
  readonly volumes: readonly ProjectVolume[];
  readonly networks: readonly string[];
  /** Sizes of the images that belong to it, by fingerprint. */
  readonly images: Readonly<Record<string, number>>;
  /** Keys of snapshots of its containers and volumes. */
  readonly snapshots: readonly string[];
  readonly backups: readonly string[];
  /** Sizes of snapshots, by pool. */
  readonly snapshotSizes: readonly { readonly pool: string; readonly bytes: number }[];
  /** Size of all backup files together. */
  readonly backupBytes: number;
}

export type SubjectKind = 'container' | 'profile' | 'volume' | 'image' | 'snapshot' | 'backup';

export interface ProjectProblem extends Problem {
  /** The object that breaks it; absent: all of them together. `path` is a path in it. */
  readonly subject?: { readonly kind: SubjectKind; readonly name: string };
  /** A limit that all of them together break. */
  readonly total?: { readonly key: string; readonly use: number; readonly limit: number };
}

export const emptyContents = (name: string, config: ConfigMap): ProjectContents => ({
  name,
  config,
  containers: [],
  profiles: [],
  volumes: [],
  networks: [],
  images: {},
  snapshots: [],
  backups: [],
  snapshotSizes: [],
  backupBytes: 0,
});
