// The persistent state of a set: its current, earlier and withdrawn revisions, and the revision of each host.
import { deliveryKey, unknownSecrets, type HookState } from './hooks.ts';
import type { PruneApproval } from './prune-gate.ts';

/** The revision of a set that a host has. */
export interface AppliedRevision {
  readonly revision: string;
  /** The sealed digest of the documents, which have the values of secrets. */
  readonly text: string;
  readonly at: string;
  /** When the host got revisions before this one, as long as approvals of them are valid. */
  readonly earlier?: Readonly<Record<string, string>>;
}

/** `next` with the times of what the host had before. Times before `sinceMs` are forgotten. */
export function withEarlier(
  next: AppliedRevision,
  before: AppliedRevision | undefined,
  sinceMs: number,
): AppliedRevision {
  if (before === undefined) return next;
  const times = Object.entries({ ...before.earlier, [before.revision]: before.at });
  const earlier = times.filter(([revision, at]) => revision !== next.revision && Date.parse(at) > sinceMs);
  return earlier.length === 0 ? next : { ...next, earlier: Object.fromEntries(earlier) };
}

/** When the host last got the revision in full; undefined: not within the known times. */
export const appliedAt = (stored: AppliedRevision | undefined, revision: string): string | undefined =>
  stored?.revision === revision ? stored.at : stored?.earlier?.[revision];

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
  readonly withdrawn?: string | undefined;
  readonly pin?: Pin | undefined;
  /** Lets one revision delete more than the limit; the next revision ends it. */
  readonly pruneApproval?: PruneApproval | undefined;
  /** Who asked for a sync to the current revision, or ended a rollback; the next revision clears it. */
  readonly askers?: readonly string[];
  /** The revision whose rollout began and whose last check has not passed. */
  readonly unchecked?: string | undefined;
  /** The hooks that ran for the newest rolled-out revision. */
  readonly hooks?: HookState;
  /** The revision that each host has in full. */
  readonly hosts: Readonly<Record<string, AppliedRevision>>;
  /** The revision last applied to each host, perhaps in part; absent in older states. */
  readonly given: Readonly<Record<string, string>>;
}

/** Seals digests of values that a reader of the state could guess. */
export interface DigestSeal {
  readonly of: (digest: string) => string;
  readonly isOwn: (text: string) => boolean;
}

/** Older versions stored the digests unsealed. */
const isPlain = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/**
 * A stored state with all its digests sealed. Those of older versions are the input of the seal, so they stay equal to what they were
 * equal to. Digests of another key (`isForeign`) equal nothing; hooks count as run then, rather than run twice.
 */
export function sealedState(
  state: SetState,
  seal: DigestSeal,
): { readonly state: SetState; readonly isForeign: boolean } {
  const sealed = (text: string): string => (isPlain(text) ? seal.of(text) : text);
  const hosts = Object.entries(state.hosts).map(([host, one]) => [host, { ...one, text: sealed(one.text) }] as const);
  const all = { ...state, hosts: Object.fromEntries(hosts) };
  const [revision = '', secrets] = state.hooks?.revision.split(' ') ?? [];
  const isOfOther = secrets !== undefined && !isPlain(secrets) && !seal.isOwn(secrets);
  const isForeign = isOfOther || hosts.some(([, { text }]) => !seal.isOwn(text));
  if (state.hooks === undefined || secrets === undefined) return { state: all, isForeign };
  const known = isOfOther ? unknownSecrets : sealed(secrets);
  return {
    state: { ...all, hooks: { ...state.hooks, revision: deliveryKey({ revision, secrets: known }) } },
    isForeign,
  };
}
