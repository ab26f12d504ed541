// One set on one host: compares at each report of the host, and makes the changes that revision, drift rules, windows, suspensions and
// retries allow. Its comparisons never overlap.
import { join } from 'node:path';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Seen } from '../../../core/drift/lifecycle-changes.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import { setInProject } from '../../../core/ownership/project-notes.ts';
import { observeAll } from '../../../engine/observe/observe-all.ts';
import type { Occasion } from '../../../engine/observe/watch.ts';
import { LockedError } from '../../../engine/runs/lock.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import { RepairLog } from '../../../engine/runs/repair-log.ts';
import { resumeOperations } from '../../../engine/runs/resume-operations.ts';
import { OvertakenError } from '../../../engine/runs/set-run.ts';
import type { HostLink } from '../../hosts/host-link.ts';
import type { DriftRecord, ObjectSummary, SetHostStatus, SetStatusName } from '../../http/contract.ts';
import type { Judged } from '../../decide/judge-drift.ts';
import { countsOf } from '../../decide/object-status.ts';
import { opensInMs } from '../../decide/windows.ts';
import { Alarm } from './alarm.ts';
import { Attempts } from './attempts.ts';
import { carryOut, type Failures, type HostWork } from './carry-out.ts';
import { Comparison } from './comparison.ts';
import { DriftBook } from './drift-book.ts';
import { rolloutOf, type Applied, type HostTarget, type SetOnHostDeps } from './host-target.ts';
import { ObjectBoard } from './object-board.ts';
import { endsInMs, ofHost } from '../suspensions.ts';

type State = Pick<SetHostStatus, 'status'> & { readonly error?: string };

export class SetOnHost {
  readonly #deps: SetOnHostDeps;
  readonly #appliedOf: () => Applied | undefined;
  #looked: (() => void)[] = [];
  readonly #drift: DriftBook;
  readonly #repairs = new RepairLog();
  readonly #seen = new Map<string, Seen>();
  readonly #attempts: Attempts;
  readonly #stopListening: () => void;
  readonly #board = new ObjectBoard();
  #target: HostTarget | undefined;
  #state: State = { status: 'unknown' };
  #made: MadePlan | undefined;
  #isDue = false;
  #isResumed = false;
  readonly #alarm = new Alarm();
  #nextOpenMs: number | undefined;

  /** `applied`: what is stored. */
  constructor(deps: SetOnHostDeps, applied: () => Applied | undefined) {
    this.#deps = deps;
    this.#appliedOf = applied;
    this.#attempts = new Attempts(deps.config.retry);
    this.#drift = new DriftBook(deps.link.host.name, deps.onDrift);
    this.#stopListening = deps.link.listen((occasion) => this.#heard(occasion));
  }

  get #applied(): Applied | undefined {
    return this.#appliedOf();
  }

  get link(): HostLink {
    return this.#deps.link;
  }

  /** The host cannot be reached, or it may not get a revision now: it gets it later. */
  get isAway(): boolean {
    return !this.link.isOnline || this.#state.status === 'waiting' || this.#state.status === 'suspended';
  }

  /** Resolves at the end of the next comparison; at once when there can be none. */
  looked(): Promise<void> {
    if (!this.link.isOnline || this.#target === undefined) return Promise.resolve();
    return new Promise((resolve) => void this.#looked.push(resolve));
  }

  get name(): string {
    return this.#deps.link.host.name;
  }

  get status(): SetHostStatus {
    const applied = this.#applied;
    const isOffline = this.#deps.link.status.status === 'offline';
    const error = this.#state.error ?? (isOffline ? this.#deps.link.status.message : undefined);
    return {
      host: this.name,
      status: isOffline && this.#state.status !== 'suspended' ? 'unknown' : this.#state.status,
      ...(applied === undefined ? {} : { appliedRevision: applied.revision, lastSyncAt: applied.at }),
      ...(error === undefined ? {} : { error }),
      objects: countsOf(this.#board.objects.values()),
    };
  }

  get objects(): ReadonlyMap<string, ObjectSummary> {
    return this.#board.objects;
  }

  get target(): HostTarget | undefined {
    return this.#target;
  }

  /** The last comparison. */
  get made(): MadePlan | undefined {
    return this.#made;
  }

  /** When changes are next allowed; undefined: now. */
  get nextOpenMs(): number | undefined {
    return this.#nextOpenMs;
  }

  /** The host has its target, or a first try to bring it there ended. */
  get isTried(): boolean {
    return this.#target !== undefined && this.#attempts.tried === this.#target.revision;
  }

  get isSynced(): boolean {
    return this.isTried && this.#state.status === 'synced';
  }

  get isFailed(): boolean {
    return this.isTried && this.#state.status === 'failed';
  }

  /** Drift that an earlier process found. */
  restoreDrift(records: Iterable<DriftRecord>): void {
    this.#drift.restore(records);
  }

  give(target: HostTarget): void {
    if (this.#target?.loaded.text !== target.loaded.text) {
      this.#board.forgetNeeds();
      this.#attempts.forget();
    }
    this.#target = target;
    target.run?.include(this.name);
    this.look();
  }

  /** Compares soon; `isNow`: without waiting for a retry. */
  look(isNow = false): void {
    if (isNow) this.#attempts.retryNow();
    this.#isDue = true;
    this.#alarm.call();
  }

  /** Ends when `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    const wake = this.#alarm.call;
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      if (!this.#isDue) await this.#sleep();
      if (signal.aborted || !this.#isDue) continue;
      this.#isDue = false;
      if (this.#target === undefined || !this.#deps.link.isOnline || !this.#deps.isActive()) continue;
      try {
        await this.#reconcile(this.#target, signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#notDone(error);
      }
      this.#deps.onState();
      if (!this.#isDue) for (const done of this.#looked.splice(0)) done();
    }
    for (const done of this.#looked.splice(0)) done();
    signal.removeEventListener('abort', wake);
    this.#stopListening();
  }

  #heard({ seen, isWhole }: Occasion): void {
    const declared = this.#target?.loaded.loaded.documents;
    const others = seen.filter(({ address }) => address !== 'server_config/server');
    for (const one of others) this.#seen.set(one.address, one);
    // Each run writes its notes into the config of the server.
    const concerns = others.length > 0 || declared?.some(({ kind }) => kind === 'server_config') === true;
    if (isWhole || concerns) this.look();
  }

  async #sleep(): Promise<void> {
    const { suspensions, nowMs } = this.#deps;
    const now = nowMs();
    const times = [this.#attempts.againAtMs - now, (this.#nextOpenMs ?? 0) - now, endsInMs(suspensions(), now) ?? 0];
    if (await this.#alarm.wait(times)) this.#isDue = true;
  }

  async #reconcile(target: HostTarget, signal: AbortSignal): Promise<void> {
    const { config, nowMs } = this.#deps;
    const isNew = this.#applied?.text !== target.loaded.text;
    await this.#resumeOnce(signal);
    this.#repairs.declare(target.loaded.loaded.documents);
    const compare = () => this.#compare(target, isNew, signal);
    const { compared, asked } = await (rolloutOf(target, isNew)?.planning(this.name, compare) ?? compare());
    await this.#noteDrift(compared.judged, signal);
    const made = compared.allowed(this.#restingIn(compared.whole));
    this.#nextOpenMs = undefined;
    const show = (status: SetStatusName, error?: string): void => {
      this.#state = { status, ...(error === undefined ? {} : { error }) };
      this.#show(compared.isHeld ? compared.whole : made, compared);
    };
    const whole = ofHost(asked, this.name);
    if (whole !== undefined) return show('suspended', whole.reason);
    if (config.suspended !== undefined) return show('suspended', config.suspended);
    const refused = compared.refusals(made);
    const canApply = made.plan.steps.length > 0 && (refused.length === 0 || config.allowsPartial);
    if (!canApply) return this.#settled(compared, made, show);
    const stop = this.#hindrance(isNew, nowMs());
    if (stop !== undefined) return show(stop.status, stop.why);
    show('syncing');
    this.#deps.onState();
    await this.#apply({ made, target, isNew }, signal);
  }

  async #compare(target: HostTarget, isNew: boolean, signal: AbortSignal) {
    const observed = await this.#deps.turn(() => this.#observe(target, signal));
    const asked = this.#deps.suspensions();
    const wasDrift = (...path: readonly [string, string]): boolean => this.#drift.isReported(...path);
    const compared = new Comparison(this.#deps, { target, observed, set: this.#setName(), isNew, asked, wasDrift });
    return { compared, asked };
  }

  #settled(compared: Comparison, made: MadePlan, show: (status: SetStatusName, error?: string) => void): void {
    const { target, judged, calmMs } = compared;
    const refused = compared.refusals(made);
    this.#attempts.settled(target.revision);
    if (refused.length > 0) {
      if (Number.isFinite(calmMs) && calmMs > 0) this.#nextOpenMs = this.#deps.nowMs() + calmMs;
      const why = refused.slice(0, 3).join('; ');
      if (compared.waitsForWindow(made)) return show('waiting', `Waits for a window for disruptive changes: ${why}`);
      return show('failed', `Refused: ${why}`);
    }
    if (this.#applied?.revision !== target.revision || this.#applied.text !== target.loaded.text)
      this.#noteApplied(target);
    show(judged.reported.size > 0 ? 'drifted' : 'synced');
  }

  /** Why nothing may be changed right now. */
  #hindrance(isNew: boolean, nowMs: number): { readonly status: SetStatusName; readonly why: string } | undefined {
    const { config, waitsFor } = this.#deps;
    const closedMs = opensInMs(config.windows, nowMs);
    if (closedMs > 0) {
      this.#nextOpenMs = Number.isFinite(closedMs) ? nowMs + closedMs : undefined;
      return { status: 'waiting', why: 'No window for changes is open.' };
    }
    const needed = isNew ? waitsFor(this.name) : undefined;
    if (needed !== undefined) return { status: 'waiting', why: needed };
    if (nowMs < this.#attempts.againAtMs)
      return { status: 'failed', why: this.#state.error ?? 'It failed and is tried again later.' };
    return undefined;
  }

  async #apply(work: HostWork, signal: AbortSignal): Promise<void> {
    const { made, target, isNew } = work;
    const onEnd = (failures: Failures, failure: string | undefined): void => {
      this.#attempts.ran(failures);
      for (const one of failures) this.#drift.failed(one.address, one.why);
      if (!isNew) this.#repairs.note(new Set(made.plan.steps.map(({ address }) => address)), this.#deps.nowMs());
      if (signal.aborted) return;
      if (failure === undefined) this.#succeeded(target, made);
      else this.#notDone(new Error(failure), target.revision);
    };
    await carryOut(this.#deps, work, onEnd, signal);
  }

  #succeeded(target: HostTarget, { plan }: MadePlan): void {
    this.#attempts.succeeded();
    if (plan.guards.length === 0) this.#noteApplied(target);
    // The next comparison shows what the changes led to.
    this.#isDue = true;
  }

  #noteApplied({ revision, loaded }: HostTarget): void {
    this.#attempts.isApplied(revision);
    this.#deps.onApplied(this.name, { revision, text: loaded.text, at: new Date(this.#deps.nowMs()).toISOString() });
  }

  #notDone(error: unknown, revision = this.#target?.revision): void {
    const { nowMs, log, link } = this.#deps;
    if (error instanceof OvertakenError) {
      link.forgetLists();
      this.#isDue = true;
      return;
    }
    const text = reasonOf(error);
    const isLocked = error instanceof LockedError;
    if (isLocked) this.#attempts.wasLocked(nowMs());
    else this.#attempts.notDone(revision, nowMs());
    const isTold = this.#state.error === text;
    this.#state = { status: isLocked ? 'waiting' : 'failed', error: text };
    if (!isTold) log(isLocked ? 'info' : 'error', text, this.name);
  }

  async #observe({ loaded }: HostTarget, signal: AbortSignal): Promise<Observed> {
    const { link, nowMs } = this.#deps;
    const asked = { documents: loaded.loaded.documents, set: this.#setName(), nowMs: nowMs() };
    return observeAll(link.reader(), asked, signal, link.host.project);
  }

  #setName(): string {
    return setInProject(this.#deps.config.name, this.#deps.link.host.project);
  }

  /** Objects that something keeps changing back. */
  #restingIn({ plan }: MadePlan): ReadonlyMap<string, string> {
    const nowMs = this.#deps.nowMs();
    const resting = this.#repairs.resting(new Set(plan.steps.map(({ address }) => address)), nowMs);
    const first = Math.min(...resting.values());
    if (resting.size > 0) setTimeout(() => this.look(), first + 5).unref();
    const reason = 'something keeps changing it back; it is repaired later';
    return new Map([...resting.keys()].map((address) => [address, reason]));
  }

  async #noteDrift({ drift }: Judged, signal: AbortSignal): Promise<void> {
    const { nowMs, link } = this.#deps;
    if (drift.length === 0 && this.#drift.isEmpty) return;
    const addresses = new Set<string>(drift.map(({ object }) => object.address));
    const events = [...this.#seen.values()].filter(({ address }) => addresses.has(address));
    const named = await link.named(events, signal);
    this.#drift.update(drift, new Map(named.map((one) => [one.address as string, one])), nowMs());
    if (this.#seen.size > 2000) this.#seen.clear();
  }

  #show(made: MadePlan, { target, judged, suspended, suspendedDrift, calmMs }: Comparison): void {
    this.#made = made;
    const { changed, gone } = this.#board.show({
      host: this.name,
      plan: made.plan,
      documents: target.loaded.loaded.documents,
      suspended,
      failed: this.#attempts.failed,
      reported: judged.reported,
      suspendedDrift,
      isCalm: calmMs > 0,
      isSyncing: this.#state.status === 'syncing',
    });
    if (changed.length + gone.length > 0) this.#deps.onObjects(changed, gone);
  }

  /** Operations that a run of an earlier process left running. */
  async #resumeOnce(signal: AbortSignal): Promise<void> {
    if (this.#isResumed) return;
    const { link, log, stateDir } = this.#deps;
    const place = { directory: join(stateDir, 'hosts', this.name), set: this.#setName(), host: link.client.host };
    const note = (text: string): void => log('info', `an earlier run started ${text}: waiting for it`, this.name);
    await resumeOperations(link.client, place, note, signal);
    this.#isResumed = true;
  }
}
