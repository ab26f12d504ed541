// Settings for reading the inside of a container, common to its entries. Types only.
import type { FileEntry } from '../../core/documents/inside.ts';

export interface InsideSetting {
  /** The folder to which local paths are relative. */
  readonly folder: string;
  /** False: local files must exist but are not read. */
  readonly read: boolean;
}

/** The written attributes of an entry, without its content. */
export interface EntrySpec {
  readonly type: FileEntry['type'];
  readonly mode?: string;
  readonly uid?: number;
  readonly gid?: number;
}
