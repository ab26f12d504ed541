// The format of a controller backup: compressed JSON lines with a head, each file, and their count.

export const backupFormat = 'gantry-controller-state';
export const backupVersion = 1;

export interface BackupHead {
  readonly format: string;
  readonly version: number;
  /** Its name in gantry.yaml. */
  readonly controller: string;
  readonly at: string;
  /** The version of Gantry. */
  readonly gantry: string;
}

export interface BackupPart {
  /** Below the state directory. */
  readonly path: string;
  readonly sha256: string;
  /** In base64. */
  readonly data: string;
}
