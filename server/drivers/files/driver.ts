// The contract for reading and writing inside a container's file tree: the tree, its ids, its entries. Implementation: beside this.
import type { Readable } from 'node:stream';

/** How ids of files as the daemon sees them become ids as the container sees them, and back. */
export interface FileIds {
  /** Undefined when the container cannot have that id. */
  toHost(kind: 'uid' | 'gid', id: number): number | undefined;
  toGuest(kind: 'uid' | 'gid', hostId: number): number;
  /** Set when files can only be made by this user (a tree mounted through an id map, or a container's own tmpfs). */
  readonly maker?: { readonly uid: number; readonly gid: number };
}

/** A tree that a hostile process may change while it is used. */
export interface FileRoot {
  /** Host path of its `/`. */
  readonly path: string;
  readonly ids: FileIds;
  /** For messages, such as `container web`. */
  readonly label: string;
  /** False once `path` may mean something else: the container it belongs to has stopped or restarted. */
  readonly isCurrent: () => boolean;
  /** True: a change is on the disk before it is acknowledged. */
  readonly isSynced?: boolean;
  /** True: a symbolic link anywhere in a path is refused instead of followed inside the tree. */
  readonly refuseLinks?: boolean;
}

export interface EntryFacts {
  /** As the container sees them. */
  readonly uid: number;
  readonly gid: number;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly modified: Date;
}

export type ReadEntry = EntryFacts &
  (
    | { readonly type: 'file'; readonly size: number; readonly content: Readable }
    | { readonly type: 'directory'; readonly names: readonly string[] }
    | { readonly type: 'symlink'; readonly target: Buffer }
  );

/** What an entry is to have; absent = as it is, or for a new entry the default. Ids as the container sees them. */
export interface EntryAttributes {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
}
