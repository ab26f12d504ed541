// Brings one host to the target of its set: compares, decides whether to make changes now, makes them, and records the result.
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import { setInProject } from '../../../core/ownership/project-notes.ts';
import { observeAll } from '../../../engine/observe/observe-all.ts';
import { LockedError } from '../../../engine/notes/lock.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { resumeOperations } from '../../../engine/runs/resume-operations.ts';
import { OvertakenError } from '../../../engine/runs/set-run.ts';
import type { DriftRecord } from '../../contract/index.ts';
import { approvalText, unapproved, type AskedStep } from '../../decide/approval.ts';
import { verdictOn, type Hindrance, type Verdict } from '../../decide/host-verdict.ts';
import type { DriftJudgement } from '../../decide/judge-drift.ts';
import { cleaned } from '../../decide/withhold.ts';
import { opensInMs } from '../../decide/windows.ts';
import { Attempts } from './attempts.ts';
import { carryOut, type Failures, type HostWork } from './carry-out.ts';
import { Comparison } from './comparison.ts';
import { ContestedObjects, type ContestedDeps, type RestingObjects } from './contested-objects.ts';
import { DriftBook } from './drift-book.ts';
import { appliedAt, type AppliedRevision } from '../../decide/set-state.ts';
import { nameOf, rolloutOf, type HostTarget, type SetOnHostDeps } from './host-target.ts';
import type { HostState, HostDisplay } from './host-display.ts';
import { ReportedChanges } from './reported-changes.ts';
import { ofHost } from '../../decide/suspensions.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface ReconcilerDeps extends SetOnHostDeps, ContestedDeps {
  readonly display: HostDisplay;
  /** The stored revision of the host. */
  readonly applied: () => AppliedRevision | undefined;
}

export class HostReconciler {
  readonly attempts: Attempts;
  readonly #deps: ReconcilerDeps;
  readonly #host: string;
  readonly #drift: DriftBook;
  readonly #contested: ContestedObjects;
  readonly #reported: ReportedChanges;
  #isResumed = false;
  #nextOpenMs: number | undefined;
  /** The last failure in the log, so that the same failure is logged only once. */
  #logged: string | undefined;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#host = deps.link.host.name;
    this.#contested = new ContestedObjects(deps, this.#host);
    this.attempts = new Attempts(deps.config.retry);
    this.#drift = new DriftBook(this.#host, deps.onDrift);
    this.#reported = new ReportedChanges(deps.link);
  }

  /** When changes are next allowed; undefined: now. */
  get nextOpenMs(): number | undefined {
    return this.#nextOpenMs;
  }

  /** Drift that an earlier process found. */
  restoreDrift(records: Iterable<DriftRecord>): void {
    this.#drift.restore(records);
  }

  noteChanges(seen: readonly LifecycleChange[]): void {
    this.#reported.note(seen);
  }

  /** Compares, and makes the changes that may be made now. Records failures. Returns false when `signal` interrupted it. */
  async run(target: HostTarget, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.noteGiven?.(target.revision);
      await this.#reconcile(target, signal);
    } catch (error) {
      if (signal.aborted) return false;
      this.#noteFailure(error, target, this.#neededFor(target));
    }
    return true;
  }

  async #reconcile(target: HostTarget, signal: AbortSignal): Promise<void> {
    const { applied, onState, display, nowMs } = this.#deps;
    const isNew = applied()?.text !== target.loaded.text;
    await this.#resumeOnce(signal);
    this.#contested.declare(target.loaded.loaded.documents);
    const compare = (): Promise<Comparison> => this.#compare(target, isNew, signal);
    const fromMs = nowMs();
    const compared = await (rolloutOf(target, isNew)?.planning(this.#host, compare) ?? compare());
    const planned = { host: this.#host, fromMs, toMs: nowMs() };
    await this.#noteDrift(compared.judged, signal);
    const resting = this.#contested.restingIn(compared.whole);
    const made = compared.allowed(resting);
    const steps = this.#toApprove(compared, made, resting);
    const verdict = verdictOn(this.#factsOf(compared, made, steps, resting));
    const isForApproval = verdict.kind === 'hindered' && verdict.isForApproval === true;
    display.awaitsApproval = isForApproval ? { revision: target.revision, steps } : undefined;
    const show = (state: HostState): void => display.show(compared, this.attempts.failed, state);
    if (verdict.kind === 'settled' && isNew && !(await this.#isFollowed(target, show, signal))) return;
    this.#applyVerdict(verdict, target);
    const isAsBefore = verdict.kind === 'hindered' && verdict.isRetry === true && display.state.isLocked === true;
    if (verdict.kind !== 'apply') return show(isAsBefore ? display.state : stateOf(verdict));
    show({ status: 'syncing' });
    onState();
    if (isNew) await this.#prepare(target, signal);
    await this.#apply({ made, target, isNew, planned }, signal);
  }

  /** Runs the hooks before a revision, unless another controller has claimed the host. */
  async #prepare(target: HostTarget, signal: AbortSignal): Promise<void> {
    const { hooks, claim, link } = this.#deps;
    if (hooks === undefined) return;
    await claim?.check(signal);
    await hooks.before(link, target, signal);
  }

  /** Runs the hooks after the host has a new revision in full. Returns false when one failed and is tried again later. */
  async #isFollowed(target: HostTarget, show: (state: HostState) => void, signal: AbortSignal): Promise<boolean> {
    const { hooks, link, display, nowMs } = this.#deps;
    if (hooks === undefined) return true;
    if (this.attempts.waitMs(nowMs()) > 0) {
      show(display.state);
      return false;
    }
    await hooks.after(link, target, signal);
    return true;
  }

  async #compare(target: HostTarget, isNew: boolean, signal: AbortSignal): Promise<Comparison> {
    const observed = await this.#deps.turn(() => this.#observe(target, signal));
    const asked = this.#deps.suspensions();
    const wasDrift = (...path: readonly [string, string]): boolean => this.#drift.isReported(...path);
    const isPruneApproved = this.#deps.isPruneApproved(target.revision);
    const found = { target, observed, set: this.#setName(), isNew, asked, wasDrift, isPruneApproved };
    return new Comparison(this.#deps, found);
  }

  async #observe({ loaded }: HostTarget, signal: AbortSignal): Promise<Observed> {
    const { link, nowMs } = this.#deps;
    const asked = { documents: loaded.loaded.documents, set: this.#setName(), nowMs: nowMs() };
    return observeAll(link.reader(), asked, signal, link.host.project);
  }

  /** The steps that nobody has approved yet. */
  #toApprove(compared: Comparison, made: MadePlan, resting: RestingObjects): readonly AskedStep[] {
    const { config, approvals, applied } = this.#deps;
    if (config.approval === undefined) return [];
    const { revision } = compared.target;
    const steps = compared.toApprove(made, config.approval.level, resting);
    return unapproved(steps, approvals(), {
      host: this.#host,
      revision,
      appliedAt: appliedAt(applied(), revision),
    });
  }

  #factsOf(
    compared: Comparison,
    made: MadePlan,
    steps: readonly AskedStep[],
    resting: RestingObjects,
  ): Parameters<typeof verdictOn>[0] {
    const { config, nowMs, display } = this.#deps;
    const now = nowMs();
    return {
      suspended: this.#suspension(compared.asked),
      steps: made.plan.steps.length,
      refusals: compared.refusals(made),
      errors: made.plan.guards.filter(({ code }) => code === 'invalid').map(({ message }) => message),
      allowsPartial: config.allowsPartial,
      waitsForWindow: compared.waitsForWindow(made),
      waitsForOther: compared.waitsForOther(made),
      awaitsApproval: steps.length === 0 ? undefined : approvalText(steps, config.name),
      hasReportedDrift: compared.judged.reported.size > 0,
      resting: [...resting].map(([address, why]) => `${address}: ${why}`)[0],
      calmMs: compared.calmMs,
      closedMs: () => opensInMs(config.windows, now),
      waitsFor: () => this.#neededFor(compared.target),
      retryMs: this.attempts.waitMs(now),
      lastError: display.state.error,
    };
  }

  /** The suspension of the whole set on this host. */
  #suspension(asked = this.#deps.suspensions()): Hindrance | undefined {
    const { suspended } = this.#deps.config;
    if (suspended !== undefined) return { why: suspended, isAway: false };
    const whole = ofHost(asked, this.#host);
    return whole === undefined ? undefined : { why: whole.reason, isAway: whole.host !== undefined };
  }

  /** Applies a verdict to the next comparison and the stored state. */
  #applyVerdict(verdict: Verdict, target: HostTarget): void {
    const { applied, nowMs } = this.#deps;
    this.#nextOpenMs = undefined;
    if (verdict.kind === 'apply') return;
    if (verdict.kind === 'settled') this.#logged = undefined;
    if (verdict.opensInMs !== undefined) this.#nextOpenMs = nowMs() + verdict.opensInMs;
    if (verdict.kind === 'settled' || verdict.kind === 'refused') this.attempts.noteDone(nameOf(target));
    const stored = applied();
    const isStored = stored?.revision === target.revision && stored.text === target.loaded.text;
    if (verdict.kind === 'settled' && !isStored) this.#noteApplied(target);
  }

  async #apply(work: HostWork, signal: AbortSignal): Promise<void> {
    const { made, target, isNew } = work;
    const onEnd = (failures: Failures, failure: string | undefined): void => {
      this.attempts.ran(failures);
      for (const one of failures) this.#drift.failed(one.address, one.why);
      if (!isNew) this.#contested.repaired(made);
      if (signal.aborted) return;
      if (failure === undefined) this.#succeeded(target, made);
      else this.#noteFailure(new Error(failure), target);
    };
    await carryOut(this.#deps, work, onEnd, signal);
  }

  #succeeded(target: HostTarget, { plan }: MadePlan): void {
    this.attempts.succeeded();
    // Hooks follow the comparison that finds nothing left to change.
    if (plan.guards.length === 0 && this.#deps.hooks === undefined) this.#noteApplied(target);
    // The next comparison shows the result of the changes.
    this.#deps.look();
  }

  #noteApplied(target: HostTarget): void {
    const { revision, loaded } = target;
    this.attempts.isApplied(nameOf(target));
    this.#deps.onApplied(this.#host, { revision, text: loaded.text, at: new Date(this.#deps.nowMs()).toISOString() });
  }

  /** Sets that must be synced before a host takes documents that it does not have. */
  #neededFor({ revision, loaded }: HostTarget): Hindrance | undefined {
    const isNew = this.#deps.applied()?.text !== loaded.text;
    return isNew ? this.#deps.waitsFor(this.#host, revision) : undefined;
  }

  #noteFailure(error: unknown, target: HostTarget, needed?: Hindrance): void {
    const { loaded } = target.loaded;
    const { nowMs, log, link, look, display } = this.#deps;
    if (error instanceof OvertakenError) {
      link.forgetLists();
      look();
      return;
    }
    // Waiting for a lock or for another set is no failure.
    const isLocked = error instanceof LockedError;
    const waits = isLocked || needed !== undefined;
    const held = this.#suspension();
    const text = `${held === undefined ? '' : `${held.why}; `}${needed?.why ?? cleaned(reasonOf(error), loaded.documents)}`;
    if (waits) this.attempts.hasToWait(nowMs());
    else this.attempts.notDone(nameOf(target), nowMs());
    const status = waits ? 'waiting' : held === undefined ? 'failed' : 'suspended';
    display.state = { status, error: text, isAway: (held ?? needed)?.isAway ?? isLocked, isLocked };
    if (this.#logged !== text) log(waits ? 'info' : 'error', text, this.#host);
    this.#logged = text;
  }

  async #noteDrift({ drift }: DriftJudgement, signal: AbortSignal): Promise<void> {
    if (drift.length === 0 && this.#drift.isEmpty) return;
    const addresses = new Set<string>(drift.map(({ object }) => object.address));
    this.#drift.update(drift, await this.#reported.of(addresses, signal), this.#deps.nowMs());
  }

  /** Waits for operations that a run of an earlier process left running. */
  async #resumeOnce(signal: AbortSignal): Promise<void> {
    if (this.#isResumed) return;
    const { link, log, journal } = this.#deps;
    const place = { ...journal(link.client), set: this.#setName() };
    const note = (text: string): void => log('warn', `an earlier run started ${text}: waiting for it`, this.#host);
    await resumeOperations(link.client, place, note, signal);
    this.#isResumed = true;
  }

  #setName(): string {
    return setInProject(this.#deps.config.name, this.#deps.link.host.project);
  }
}

const stateOf = ({ status, why, isAway }: Exclude<Verdict, { kind: 'apply' }>): HostState => ({
  status,
  isAway: isAway === true,
  ...withoutUndefined({ error: why }),
});
