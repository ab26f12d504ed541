// One set on one host: compares at each report of the host, and makes the changes that revision, drift rules, windows, suspensions and
// retries allow. Its comparisons never overlap.
import { join } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Seen } from '../../core/drift/lifecycle-changes.ts';
import { findDrift } from '../../core/drift/drift.ts';
import { buildGraph } from '../../core/graph/graph.ts';
import { normalizeDocuments } from '../../core/graph/normalize.ts';
import type { Observed } from '../../core/documents/observed.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { observeAll } from '../../engine/observe/observe-all.ts';
import type { Occasion } from '../../engine/observe/watch.ts';
import { LockedError } from '../../engine/runs/lock.ts';
import type { MadePlan } from '../../engine/runs/make-plan.ts';
import { RepairLog } from '../../engine/runs/repair-log.ts';
import { resumeOperations } from '../../engine/runs/resume-operations.ts';
import { OvertakenError } from '../../engine/runs/set-run.ts';
import type { HostLink } from '../hosts/host-link.ts';
import type { DriftRecord, ObjectSummary, SetHostStatus, SetStatusName, Suspension } from '../http/contract.ts';
import { Alarm } from './alarm.ts';
import { DriftBook } from './drift-book.ts';
import { joinedRestraint, judgeDrift, suspendedOn, type Judged } from '../decide/judge-drift.ts';
import type { Applied, HostTarget, SetOnHostDeps } from './host-target.ts';
import { changedObjects, countsOf, objectsOf } from '../decide/object-status.ts';
import { changesOn } from './object-history.ts';
import { planTarget } from './plan-target.ts';
import { refusalText, type Restraint } from '../decide/restrain.ts';
import { retryPauseMs } from '../decide/retry.ts';
import { runPlan } from './run-plan.ts';
import { endsInMs, ofHost } from './suspensions.ts';
import { opensInMs } from '../decide/windows.ts';

type State = Pick<SetHostStatus, 'status'> & { readonly error?: string };

export class SetOnHost {
  readonly #deps: SetOnHostDeps;
  readonly #appliedOf: () => Applied | undefined;
  #looked: (() => void)[] = [];
  readonly #drift: DriftBook;
  readonly #repairs = new RepairLog();
  readonly #seen = new Map<string, Seen>();
  readonly #failed = new Map<string, string>();
  #target: HostTarget | undefined;
  #needs: ReadonlyMap<string, readonly string[]> | undefined;
  #state: State = { status: 'unknown' };
  #tried: string | undefined;
  #objects: ReadonlyMap<string, ObjectSummary> = new Map();
  #made: MadePlan | undefined;
  #failures = 0;
  #retryAtMs = 0;
  #isDue = false;
  #isResumed = false;
  readonly #alarm = new Alarm();
  #nextOpenMs: number | undefined;

  /** `applied`: what is stored. */
  constructor(deps: SetOnHostDeps, applied: () => Applied | undefined) {
    this.#deps = deps;
    this.#appliedOf = applied;
    this.#drift = new DriftBook(deps.link.host.name, deps.onDrift);
    deps.link.listen((occasion) => this.#heard(occasion));
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
      objects: countsOf(this.#objects.values()),
    };
  }

  get objects(): ReadonlyMap<string, ObjectSummary> {
    return this.#objects;
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
    return this.#target !== undefined && this.#tried === this.#target.revision;
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
      this.#needs = undefined;
      this.#failures = 0;
      this.#retryAtMs = 0;
      this.#failed.clear();
    }
    this.#target = target;
    target.run?.include(this.name);
    this.look();
  }

  /** Compares soon; `isNow`: without waiting for a retry. */
  look(isNow = false): void {
    if (isNow) this.#retryAtMs = 0;
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
    const times = [this.#retryAtMs - now, (this.#nextOpenMs ?? 0) - now, endsInMs(suspensions(), now) ?? 0];
    if (await this.#alarm.wait(times)) this.#isDue = true;
  }

  async #reconcile(target: HostTarget, signal: AbortSignal): Promise<void> {
    const { config, link, suspensions, nowMs, rules } = this.#deps;
    const isNew = this.#applied?.text !== target.loaded.text;
    const documents = target.loaded.loaded.documents;
    await this.#resumeOnce(signal);
    this.#repairs.declare(documents);
    const observed = await this.#deps.turn(() => this.#observe(target, signal));
    const asked = suspensions();
    const suspended = suspendedOn(
      asked,
      this.name,
      documents.map(({ address }) => address),
    );
    const calmMs = opensInMs(config.disruptive, nowMs());
    const basis: Partial<Restraint> = {
      ...suspended,
      isCalm: calmMs > 0,
      skipsWaits: !config.health.wait,
      ...(config.health.timeoutMs === undefined ? {} : { waitMs: config.health.timeoutMs }),
    };
    const first = this.#plan(target, observed, joinedRestraint(basis));
    const report = findDrift({ ...first, ignore: [] });
    const judged = judgeDrift({
      report,
      rules,
      host: link.host,
      isNew,
      wasDrift: (...path) => this.#drift.isReported(...path),
    });
    await this.#noteDrift(judged, asked, signal);
    const isHeld = judged.held.objects.size + judged.held.paths.size > 0;
    const resting = this.#restingIn(first);
    const made =
      isHeld || resting.objects.size > 0
        ? this.#plan(target, observed, joinedRestraint(basis, judged.held, resting))
        : first;
    this.#nextOpenMs = undefined;
    const { plan } = made;
    const show = (status: SetStatusName, error?: string): void => {
      this.#state = { status, ...(error === undefined ? {} : { error }) };
      this.#show(isHeld ? first : made, target, judged, suspended.objects);
    };
    const whole = ofHost(asked, this.name);
    if (whole !== undefined) return show('suspended', whole.reason);
    if (config.suspended !== undefined) return show('suspended', config.suspended);
    const refused = plan.guards.map((guard) => refusalText(guard, calmMs > 0));
    const canApply = plan.steps.length > 0 && (refused.length === 0 || config.allowsPartial);
    if (!canApply) return this.#settled(target, judged, refused, calmMs, show);
    const stop = this.#hindrance(isNew, nowMs());
    if (stop !== undefined) return show(stop.status, stop.why);
    show('syncing');
    this.#deps.onState();
    await this.#apply(made, target, isNew, signal);
  }

  #settled(
    target: HostTarget,
    judged: Judged,
    refused: readonly string[],
    calmMs: number,
    show: (status: SetStatusName, error?: string) => void,
  ): void {
    this.#failed.clear();
    this.#failures = 0;
    this.#tried = target.revision;
    if (refused.length > 0) {
      if (calmMs > 0) this.#nextOpenMs = this.#deps.nowMs() + calmMs;
      const text = `Refused: ${refused.slice(0, 3).join('; ')}`;
      return show(calmMs > 0 ? 'waiting' : 'failed', text);
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
    if (nowMs < this.#retryAtMs)
      return { status: 'failed', why: this.#state.error ?? 'It failed and is tried again later.' };
    return undefined;
  }

  async #apply(made: MadePlan, target: HostTarget, isNew: boolean, signal: AbortSignal): Promise<void> {
    const { config, link, beginRepair, who, stateDir, parallelism, nowMs, log } = this.#deps;
    const rollout = isNew && target.run?.isEnded === false ? target.run : undefined;
    const run = rollout ?? beginRepair(this.name);
    run.hostBegan(this.name, made.plan);
    let failure: string | undefined = 'It was not carried out.';
    try {
      const result = await runPlan(
        {
          client: link.client,
          made,
          loaded: target.loaded,
          revision: target.revision,
          who,
          message: run.start.message ?? run.start.reason,
          isRepair: !isNew,
          ...(rollout === undefined ? {} : { rollout: rollout.id }),
          stateDir: join(stateDir, 'hosts', this.name),
          parallelism,
          timeoutMs: config.timeoutMs,
          nowMs,
          emit: (event) => run.event(this.name, event),
          warn: (text) => log('warn', text, this.name),
          stop: signal,
        },
        signal,
      );
      const { failures } = result;
      failure =
        failures.length === 0
          ? undefined
          : failures
              .map(({ what, why }) => `${what}: ${why}`)
              .slice(0, 3)
              .join('; ');
      run.hostEnded(this.name, made.plan, result, failure);
      const changes = changesOn(this.name, run.id, made.plan, result, nowMs());
      if (changes !== undefined) this.#deps.onChanges(changes);
      this.#failed.clear();
      for (const one of failures) this.#failed.set(one.address, `${one.what}: ${one.why}`);
      for (const one of failures) this.#drift.failed(one.address, one.why);
      if (!isNew) this.#repairs.note(new Set(made.plan.steps.map(({ address }) => address)), nowMs());
      if (signal.aborted) return;
      if (failure === undefined) this.#succeeded(target, made);
      else this.#notDone(new Error(failure), target.revision);
    } catch (error) {
      failure = reasonOf(error);
      run.hostEnded(this.name, undefined, undefined, failure);
      throw error;
    } finally {
      link.forgetLists();
      if (rollout === undefined) run.end(failure === undefined ? 'done' : 'failed', nowMs(), failure);
    }
  }

  #succeeded(target: HostTarget, { plan }: MadePlan): void {
    this.#failures = 0;
    this.#retryAtMs = 0;
    if (plan.guards.length === 0) this.#noteApplied(target);
    // The next comparison shows what the changes led to.
    this.#isDue = true;
  }

  #noteApplied({ revision, loaded }: HostTarget): void {
    this.#tried = revision;
    this.#deps.onApplied(this.name, { revision, text: loaded.text, at: new Date(this.#deps.nowMs()).toISOString() });
  }

  #notDone(error: unknown, revision = this.#target?.revision): void {
    const { config, nowMs, log, link } = this.#deps;
    if (error instanceof OvertakenError) {
      link.forgetLists();
      this.#isDue = true;
      return;
    }
    const text = reasonOf(error);
    const isLocked = error instanceof LockedError;
    if (!isLocked) this.#failures += 1;
    const rest = isLocked ? 5000 : retryPauseMs(config.retry, this.#failures, Math.random());
    this.#retryAtMs = nowMs() + rest;
    if (!isLocked) this.#tried = revision;
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

  #plan({ loaded }: HostTarget, observed: Observed, restraint: Restraint): MadePlan {
    const { config, nowMs } = this.#deps;
    return planTarget(observed, { loaded, set: this.#setName(), options: config.plan, restraint, nowMs: nowMs() });
  }

  /** Objects that something keeps changing back. */
  #restingIn({ plan }: MadePlan): { readonly objects: ReadonlyMap<string, string> } {
    const nowMs = this.#deps.nowMs();
    const resting = this.#repairs.resting(new Set(plan.steps.map(({ address }) => address)), nowMs);
    const first = Math.min(...resting.values());
    if (resting.size > 0) setTimeout(() => this.look(), first + 5).unref();
    return {
      objects: new Map(
        [...resting.keys()].map((address) => [address, 'something keeps changing it back; it is repaired later']),
      ),
    };
  }

  async #noteDrift(judged: Judged, suspensions: readonly Suspension[], signal: AbortSignal): Promise<void> {
    const { nowMs, link } = this.#deps;
    if (judged.drift.length === 0 && this.#drift.isEmpty) return;
    const addresses = new Set<string>(judged.drift.map(({ object }) => object.address));
    const events = [...this.#seen.values()].filter(({ address }) => addresses.has(address));
    const named = await link.named(events, signal);
    const found =
      ofHost(suspensions, this.name) === undefined
        ? judged.drift
        : judged.drift.map((one) => ({ ...one, action: 'suspended' as const }));
    this.#drift.update(found, new Map(named.map((one) => [one.address as string, one])), nowMs());
    if (this.#seen.size > 2000) this.#seen.clear();
  }

  #show(made: MadePlan, target: HostTarget, judged: Judged, suspended: ReadonlyMap<string, string>): void {
    this.#made = made;
    const { documents } = target.loaded.loaded;
    this.#needs ??= buildGraph(normalizeDocuments(documents).objects, undefined).needs;
    const before = this.#objects;
    this.#objects = objectsOf({
      host: this.name,
      plan: made.plan,
      documents,
      needs: this.#needs,
      suspended,
      failed: this.#failed,
      reported: judged.reported,
      isSyncing: this.#state.status === 'syncing',
    });
    const { changed, gone } = changedObjects(before, this.#objects);
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
