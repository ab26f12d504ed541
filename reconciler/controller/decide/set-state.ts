// The persistent state of a set: its current, earlier and withdrawn revisions, and the revision of each host.
import type { HookState } from './hooks.ts';
import type { PruneApproval } from './prune-gate.ts';

/** The revision of a set that a host has. */
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
  /** A rollout of this revision ended without a failed host. */
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
  /** The revision whose rollout was stopped and rolled back. */
  readonly withdrawn?: string;
  readonly pin?: Pin;
  /** Lets one revision delete more than the limit; the next revision ends it. */
  readonly pruneApproval?: PruneApproval | undefined;
  /** Who asked for a sync to the current revision, or ended a rollback; the next revision clears it. */
  readonly askers?: readonly string[];
  /** The hooks that ran for the newest rolled-out revision. */
  readonly hooks?: HookState;
  /** The revision that each host has in full. */
  readonly hosts: Readonly<Record<string, AppliedRevision>>;
  /** The revision last applied to each host, perhaps in part; absent in older states. */
  readonly given: Readonly<Record<string, string>>;
}
