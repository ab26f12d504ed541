// What a set on one host gets from its set: the target, and its dependencies.
import type { Client } from '../../../../server/client/client.ts';
import type { SetPlace } from '../../../core/ownership/place.ts';
import type { PlanOptions } from '../../../core/plan/plan.ts';
import type { JournalPlace } from '../../../engine/runs/journal.ts';
import type { RevisionFacts } from '../../../engine/runs/notes-of.ts';
import type { SetConfig } from '../../config/config.ts';
import type { HostClaim } from '../../hosts/host-claim.ts';
import type { HostLink } from '../../hosts/host-link.ts';
import type { DriftRecord, ObjectSummary, Suspension } from '../../contract/index.ts';
import type { Hindrance } from '../../decide/host-verdict.ts';
import type { Approval } from '../../decide/approval.ts';
import type { DriftRules } from '../../decide/drift-rules.ts';
import type { AppliedRevision } from '../../decide/set-state.ts';
import type { LoadedSet } from '../load-revision.ts';
import type { SetHooks } from '../hooks/set-hooks.ts';
import type { HostChanges } from '../object-history.ts';
import type { ComparisonTime } from '../../traces/run-trace.ts';
import type { Run } from '../run.ts';
import type { PlanLimits } from './run-plan.ts';

/** What a set says about each of its hosts. */
export type HostSetConfig = Pick<
  SetConfig,
  | 'name'
  | 'tenant'
  | 'project'
  | 'allowsPartial'
  | 'approval'
  | 'retry'
  | 'health'
  | 'windows'
  | 'disruptive'
  | 'suspended'
> & { readonly plan: PlanOptions };

export interface HostTarget {
  readonly revision: string;
  readonly loaded: LoadedSet;
  /** The sealed digest of the values of Vault in the documents of all hosts. */
  readonly secrets?: string | undefined;
  /** The run that brings the revision to the hosts. */
  readonly run?: Run;
}

export interface SetOnHostDeps {
  readonly config: HostSetConfig;
  readonly link: HostLink;
  readonly rules: DriftRules;
  /** Where the set is declared, as it is recorded on its objects. */
  readonly place: SetPlace;
  readonly suspensions: () => readonly Suspension[];
  /** False while another controller is the active one. */
  readonly isActive: () => boolean;
  /** Fires when this controller is no longer the active one; absent where no controller runs. */
  readonly term?: () => AbortSignal;
  /** Absent where no controller runs. */
  readonly claim?: HostClaim;
  /** Resolves when no write of the state is pending. */
  readonly stored: () => Promise<void>;
  /** Stores that this host gets the revision, where that failed before. Rejects when it fails again. */
  readonly noteGiven?: (revision: string) => Promise<void>;
  /** Why the host must wait with a new revision: sets that this one needs. */
  readonly waitsFor: (host: string, revision: string) => Hindrance | undefined;
  /** A person allowed this revision to delete more than the limit. */
  readonly isPruneApproved: (revision: string) => boolean;
  /** The valid approvals of the set. */
  readonly approvals: () => readonly Approval[];
  /** Begins a run of this host alone: a repair, or the rest of a rollout that the host missed (`late`). */
  readonly beginOwn: (planned: ComparisonTime, late: Run | undefined) => Run;
  /** Commands around a new revision; they reject when one fails. */
  readonly hooks?: Pick<SetHooks, 'before' | 'beforeWave' | 'after'>;
  readonly onState: () => void;
  readonly onObjects: (changed: readonly ObjectSummary[], gone: readonly ObjectSummary[]) => void;
  readonly onDrift: (record: DriftRecord) => void;
  /** What a run did to the objects of the host. */
  readonly onChanges: (changes: HostChanges) => void;
  readonly onApplied: (host: string, applied: AppliedRevision) => void;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, host: string) => void;
  /** Limits how many hosts are planned at a time. */
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The revision that a run adds to the history of the set on the host. */
  readonly facts: (target: HostTarget, run: Run, isRepair: boolean) => Promise<RevisionFacts>;
  readonly journal: (client: Client) => Omit<JournalPlace, 'set'>;
  readonly limits: PlanLimits;
  readonly nowMs: () => number;
}

/** Names a target: one revision has other documents when a secret was rotated, or the host is described otherwise. */
export const nameOf = ({ revision, loaded }: HostTarget): string => `${revision} ${loaded.text}`;

/** The run that brings the target to the host, while it continues. */
export const rolloutOf = ({ run }: HostTarget, isNew: boolean): Run | undefined =>
  isNew && run?.isEnded === false ? run : undefined;
