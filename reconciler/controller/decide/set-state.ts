// The state of a set, kept over restarts: the revision in use, those before it, the refused one, and the revision of each host.
import type { HookState } from './hooks.ts';
import type { PruneApproval } from './prune-gate.ts';

/** What a host has of a set, kept over restarts. */
export interface AppliedRevision {
  readonly revision: string;
  /** The text of the documents. */
  readonly text: string;
  readonly at: string;
}

export interface KnownRevision {
  readonly revision: string;
  readonly at: string;
  readonly who?: string;
  readonly message?: string;
  /** A rollout of it ended without a failed host. */
  readonly isGood?: true;
}

/** A rollback holds the set at a revision. */
export interface Pin {
  readonly revision: string;
  readonly reason: string;
  readonly by: string;
  readonly since: string;
  /** Default: all; the others stay at what they have. */
  readonly hosts?: readonly string[];
}

export interface SetState {
  /** The newest good revision: hosts have it or get it. */
  readonly current?: KnownRevision;
  /** Newest first, without `current`. */
  readonly earlier: readonly KnownRevision[];
  /** The rollout of this revision was stopped and taken back. */
  readonly withdrawn?: string;
  readonly pin?: Pin;
  /** A revision may delete more than the limit; another revision ends it. */
  readonly pruneApproval?: PruneApproval | undefined;
  /** Who asked for a sync, or the end of a rollback, to the revision in use; another revision ends it. */
  readonly askers?: readonly string[];
  /** Which hooks ran for the newest revision that hosts got. */
  readonly hooks?: HookState;
  /** What each host has in full. */
  readonly hosts: Readonly<Record<string, AppliedRevision>>;
  /** The revision that each host was given last, which it may have in part; older states do not have it. */
  readonly given: Readonly<Record<string, string>>;
}
