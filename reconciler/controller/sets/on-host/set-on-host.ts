// One set on one host: its target, the times of its comparisons, and its status.
import type { Occasion } from '../../../engine/observe/watch.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import type { HostLink } from '../../hosts/host-link.ts';
import type { DriftRecord, ObjectSummary, SetHostStatus } from '../../contract/index.ts';
import type { WaitingPlan } from '../../decide/approval.ts';
import { claimMs } from '../../decide/set-claim.ts';
import { endsInMs } from '../../decide/suspensions.ts';
import type { AppliedRevision } from '../../decide/set-state.ts';
import { nameOf, type HostTarget, type SetOnHostDeps } from './host-target.ts';
import { HostDisplay, type HostState } from './host-display.ts';
import { LookLoop } from './look-loop.ts';
import { HostReconciler } from './reconcile.ts';

export class SetOnHost {
  readonly #deps: SetOnHostDeps;
  readonly #appliedOf: () => AppliedRevision | undefined;
  readonly #reconciler: HostReconciler;
  readonly #stopListening: () => void;
  readonly #display: HostDisplay;
  readonly #loop = new LookLoop();
  #target: HostTarget | undefined;

  /** `applied`: the stored revision of the host. */
  constructor(deps: SetOnHostDeps, applied: () => AppliedRevision | undefined) {
    this.#deps = deps;
    this.#appliedOf = applied;
    const display = new HostDisplay(deps.config.name, deps.link.host.name, deps.onObjects);
    this.#display = display;
    this.#reconciler = new HostReconciler({ ...deps, display, applied, look: () => this.look() });
    this.#stopListening = deps.link.listen((occasion) => this.#onOccasion(occasion));
  }

  get name(): string {
    return this.link.host.name;
  }

  get link(): HostLink {
    return this.#deps.link;
  }

  get status(): SetHostStatus {
    return this.#display.statusWith(this.#appliedOf(), this.link.status);
  }

  get objects(): ReadonlyMap<string, ObjectSummary> {
    return this.#display.objects;
  }

  get target(): HostTarget | undefined {
    return this.#target;
  }

  /** The last comparison. */
  get made(): MadePlan | undefined {
    return this.#display.made;
  }

  /** The outcome of the last comparison, and why. */
  get state(): HostState {
    return this.#display.state;
  }

  /** Objects whose deletion waits for an approval. */
  get heldByGate(): readonly string[] {
    return this.#display.heldByGate;
  }

  /** The plan that waits for somebody to approve it. */
  get awaitsApproval(): WaitingPlan | undefined {
    return this.#display.awaitsApproval;
  }

  /** When changes are next allowed; undefined: now. */
  get nextOpenMs(): number | undefined {
    return this.#reconciler.nextOpenMs;
  }

  /** The host cannot be reached, or a person suspended the set on it: rollouts do not wait, and it gets the revision later. */
  get isAway(): boolean {
    return this.link.status.status === 'offline' || this.#display.state.isAway === true;
  }

  /** The host has its target, or a first try has ended. */
  get isTried(): boolean {
    return this.#target !== undefined && this.#reconciler.attempts.tried === nameOf(this.#target);
  }

  /** Drift that is only reported, or left alone for now, belongs to no revision. */
  get isSynced(): boolean {
    return this.isTried && ['synced', 'drifted'].includes(this.#display.state.status);
  }

  get isFailed(): boolean {
    return this.isTried && this.#display.state.status === 'failed';
  }

  /** Why it failed. */
  get failure(): string | undefined {
    const { status, error } = this.#display.state;
    return status === 'failed' ? error : undefined;
  }

  /** The host is synced; to this revision, when one is named. */
  has(revision: string | undefined): boolean {
    return this.isSynced && (revision === undefined || this.#target?.revision === revision);
  }

  /** Drift that an earlier process found. */
  restoreDrift(records: Iterable<DriftRecord>): void {
    this.#reconciler.restoreDrift(records);
  }

  give(target: HostTarget): void {
    if (this.#target?.loaded.text !== target.loaded.text) {
      this.#display.forgetNeeds();
      this.#reconciler.attempts.forget();
    }
    this.#target = target;
    target.run?.include(this.name);
    this.look();
  }

  /** Compares soon; with `isNow` it does not wait for the next retry. */
  look(isNow = false): void {
    if (isNow) this.#reconciler.attempts.retryNow();
    this.#loop.ask();
  }

  /** Resolves at the end of the next comparison; at once when there can be none. */
  async looked(): Promise<void> {
    if (this.link.isOnline && this.#target !== undefined) await this.#loop.next();
  }

  /** Claims the set although another controller has: a person said that it no longer works on it. */
  async takeOver(): Promise<void> {
    await this.#deps.claim?.takeOver();
  }

  /** Releases the claim after the set has left the host. Never rejects, since the claim also expires. */
  async release(): Promise<void> {
    if (this.link.isOnline && this.#deps.isActive()) await this.#deps.claim?.release().catch(() => undefined);
  }

  /** Ends when `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    const beat = setInterval(() => void this.#renew(signal), claimMs / 10);
    const { nowMs } = this.#deps;
    await this.#loop.run({ look: (end) => this.#compare(end), dueMs: () => this.#dueMs(), nowMs }, signal);
    clearInterval(beat);
    this.#stopListening();
  }

  async #compare(signal: AbortSignal): Promise<boolean> {
    if (this.#target === undefined || !this.link.isOnline || !this.#deps.isActive()) return false;
    await this.#deps.stored();
    if (!(await this.#reconciler.run(this.#target, signal))) return false;
    this.#deps.onState();
    void this.#renew(signal);
    return true;
  }

  /** Renews the claim; a failure is ignored, since the next renewal follows soon. */
  async #renew(signal: AbortSignal): Promise<void> {
    if (!this.link.isOnline || !this.#deps.isActive()) return;
    await this.#deps.claim?.renew(signal).catch(() => undefined);
  }

  #onOccasion({ seen, isWhole }: Occasion): void {
    const declared = this.#target?.loaded.loaded.documents;
    const others = seen.filter(({ address }) => address !== 'server_config/server');
    this.#reconciler.noteChanges(others);
    // Each run writes its notes into the config of the server.
    const concerns = others.length > 0 || declared?.some(({ kind }) => kind === 'server_config') === true;
    if (isWhole || concerns) this.look();
  }

  #dueMs(): readonly number[] {
    const { suspensions, nowMs } = this.#deps;
    const { attempts, nextOpenMs = 0 } = this.#reconciler;
    const now = nowMs();
    const times = [attempts.waitMs(now), endsInMs(suspensions(), now) ?? 0];
    return [nextOpenMs, ...times.map((ms) => (ms === 0 ? 0 : now + ms))];
  }
}
