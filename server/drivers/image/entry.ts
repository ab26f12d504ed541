// The facts about a member of an archive, whatever its format.

export type EntryKind =
  | 'file'
  | 'directory'
  | 'symbolic link'
  | 'hard link'
  | 'character device'
  | 'block device'
  | 'fifo'
  | 'socket';

export interface ArchiveEntry {
  /** As in the archive, one character a byte. */
  readonly name: string;
  readonly kind: EntryKind;
  /** Target of a link; empty for others. */
  readonly link: string;
  /** Bytes after unpacking, holes counted. */
  readonly size: number;
}
