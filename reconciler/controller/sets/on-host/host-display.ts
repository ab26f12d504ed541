// What people see of a set on one host: its status, its objects, and the plan of its last comparison.
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import type { WaitingPlan } from '../../decide/approval.ts';
import { heldByGate } from '../../decide/prune-gate.ts';
import { countsOf } from '../../decide/object-status.ts';
import type { HostStatus, ObjectSummary, SetHostStatus, SetStatusName } from '../../contract/index.ts';
import type { Comparison } from './comparison.ts';
import type { AppliedRevision } from '../../decide/set-state.ts';
import { ObjectBoard } from './object-board.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

type OnObjects = (changed: readonly ObjectSummary[], gone: readonly ObjectSummary[]) => void;

export interface HostState {
  readonly status: SetStatusName;
  readonly error?: string;
  /** Rollouts continue without the host. */
  readonly isAway?: boolean;
  /** Another run, or a person, has the lock of the set. */
  readonly isLocked?: boolean;
}

export class HostDisplay {
  readonly #set: string;
  readonly #host: string;
  readonly #onObjects: OnObjects;
  readonly #board = new ObjectBoard();
  #made: MadePlan | undefined;
  #heldByGate: readonly string[] = [];
  /** The plan that waits for somebody to approve it. */
  awaitsApproval: WaitingPlan | undefined;
  state: HostState = { status: 'unknown' };

  constructor(set: string, host: string, onObjects: OnObjects) {
    this.#set = set;
    this.#host = host;
    this.#onObjects = onObjects;
  }

  get objects(): ReadonlyMap<string, ObjectSummary> {
    return this.#board.objects;
  }

  /** The last comparison. */
  get made(): MadePlan | undefined {
    return this.#made;
  }

  /** Objects whose deletion waits for an approval. */
  get heldByGate(): readonly string[] {
    return this.#heldByGate;
  }

  /** `link`: the connection to the host. */
  statusWith(applied: AppliedRevision | undefined, link: HostStatus): SetHostStatus {
    const { status } = this.state;
    const isOffline = link.status === 'offline';
    const error = this.state.error ?? (isOffline ? link.message : undefined);
    return {
      host: this.#host,
      status: isOffline && status !== 'suspended' ? 'unknown' : status,
      ...(applied === undefined ? {} : { appliedRevision: applied.revision, lastSyncAt: applied.at }),
      ...withoutUndefined({ error }),
      objects: countsOf(this.#board.objects.values()),
    };
  }

  /** Called for new documents. */
  forgetNeeds(): void {
    this.awaitsApproval = undefined;
    this.#board.forgetNeeds();
  }

  /** `failed`: why objects failed in the last run, by address. */
  show(compared: Comparison, failed: ReadonlyMap<string, string>, state: HostState): void {
    const { target, judged, suspended, suspendedDrift, calmMs, whole } = compared;
    this.state = state;
    this.#made = whole;
    this.#heldByGate = calmMs > 0 ? [] : heldByGate(whole.plan);
    const { changed, gone } = this.#board.show({
      set: this.#set,
      host: this.#host,
      plan: whole.plan,
      documents: target.loaded.loaded.documents,
      suspended,
      failed,
      reported: judged.reported,
      suspendedDrift,
      isCalm: calmMs > 0,
      isSyncing: state.status === 'syncing',
      ...(state.status === 'waiting' && state.error !== undefined ? { waits: state.error } : {}),
    });
    if (changed.length + gone.length > 0) this.#onObjects(changed, gone);
  }
}
