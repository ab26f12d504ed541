// The contract for reading and writing inside a container's file tree: the tree, its ids, its entries. Implementation: in this folder.
import type { Readable } from 'node:stream';

/** Maps file ids between the daemon's and the container's view. */
export interface FileIds {
  /** Undefined if the container cannot have that id. */
  toHost(kind: 'uid' | 'gid', id: number): number | undefined;
  toGuest(kind: 'uid' | 'gid', hostId: number): number;
  /** Set if only this user can make files (a tree mounted through an id map, or a container's own tmpfs). */
  readonly maker?: { readonly uid: number; readonly gid: number };
}

/** A tree that a hostile process may change during its use. */
export interface FileRoot {
  /** Host path of its `/`. */
  readonly path: string;
  readonly ids: FileIds;
  /** For messages, such as `container web`. */
  readonly label: string;
  /** False once `path` may mean something else: its container has stopped or restarted. */
  readonly isCurrent: () => boolean;
  /** Why a change made now may be lost. Undefined: it stays. Asked before and after each change. */
  readonly lossOf?: () => string | undefined;
  /** True: a change is synced before it is acknowledged. */
  readonly isSynced?: boolean;
  /** True: refuses a symbolic link anywhere in a path instead of following it inside the tree. */
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

/** Wanted attributes of an entry; absent: unchanged, or the default for a new entry. Ids as the container sees them. */
export interface EntryAttributes {
  readonly uid?: number;
  readonly gid?: number;
  readonly mode?: number;
}
