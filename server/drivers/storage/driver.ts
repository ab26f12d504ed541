// What every storage driver must do: keep volumes of a pool. Knows nothing of records, operations or HTTP.

export interface PoolSpec {
  readonly name: string;
  readonly driver: string;
  readonly config: Readonly<Record<string, string>>;
}

export interface VolumeRef {
  readonly type: 'container' | 'image' | 'custom';
  readonly name: string;
}

/** Files of an image as kept by the daemon: a unified tarball, or metadata and root file system apart. */
export interface ImageFiles {
  readonly fingerprint: string;
  readonly metadataPath: string;
  /** Absent for a unified tarball. */
  readonly rootfsPath?: string;
}

export interface UnpackOptions {
  /** True: owners, device-free special files, extended attributes and access lists as in the image. False: all is the daemon's own. */
  readonly asRoot: boolean;
  /** Human text such as `42%`. */
  readonly progress?: (text: string) => void;
}

/**
 * Fills the existing empty directory `targetDir` with `rootfs/`, `metadata.yaml` and maybe `templates/`. Received, not imported:
 * driver families do not know one another. On a throw the caller removes what is in the directory.
 */
export type UnpackImage = (
  image: ImageFiles,
  targetDir: string,
  options: UnpackOptions,
  signal: AbortSignal,
) => Promise<void>;

export type VolumeSource =
  | { readonly kind: 'empty' }
  | { readonly kind: 'image'; readonly image: ImageFiles }
  | { readonly kind: 'copy'; readonly from: VolumeRef };

export interface PoolResources {
  readonly space: { readonly used: number; readonly total: number };
  readonly inodes: { readonly used: number; readonly total: number };
}

export interface StorageCapabilities {
  /** Copies of a volume share its blocks. */
  readonly cheapCopies: boolean;
  /** Volumes can be limited in size. */
  readonly quotas: boolean;
}

export interface StorageDriver {
  readonly name: string;
  readonly capabilities: StorageCapabilities;
  /** The config with driver defaults filled in (for example `source`). Throws DriverError Invalid with path and remedy. */
  fillConfig(pool: PoolSpec): Promise<Record<string, string>>;
  /** Idempotent; refuses a source that holds foreign data (DriverError InUse). */
  createPool(pool: PoolSpec, signal: AbortSignal): Promise<void>;
  /** Removes only what createPool and volumes made. Idempotent. */
  deletePool(pool: PoolSpec): Promise<void>;
  /** At daemon start: makes the pool usable and removes half-made volumes of a crash (temporary names). */
  mountPool(pool: PoolSpec): Promise<void>;
  resources(pool: PoolSpec): Promise<PoolResources>;
  /** Host directory of the volume; containers have `rootfs/` (and maybe `metadata.yaml`, `templates/`) in it. */
  volumePath(pool: PoolSpec, volume: VolumeRef): string;
  hasVolume(pool: PoolSpec, volume: VolumeRef): Promise<boolean>;
  /** All or nothing: a volume that exists is complete. Exists already -> DriverError Exists. `progress`: human text. */
  createVolume(
    pool: PoolSpec,
    volume: VolumeRef,
    source: VolumeSource,
    progress: (text: string) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Idempotent. */
  deleteVolume(pool: PoolSpec, volume: VolumeRef): Promise<void>;
  /** Idempotent: done already (old absent, new there) is success. */
  renameVolume(pool: PoolSpec, volume: VolumeRef, newName: string): Promise<void>;
  listVolumes(pool: PoolSpec): Promise<readonly VolumeRef[]>;
}
