// One set on all its hosts: rolls out its revisions, corrects drift, and reports its status.
import { createHmac, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SetConfig } from '../config/config.ts';
import type { HostLink } from '../hosts/host-link.ts';
import type { DriftRecord, ObjectChange, Operation, RunRecord, SetStatus, Suspension } from '../contract/index.ts';
import { untilAborted } from '../../../server/lib/shared/deadline.ts';
import type { LoadedRevision } from './load-revision.ts';
import { resync } from './resync.ts';
import type { StartPart } from './rollouts.ts';
import type { KnownRevision } from '../decide/set-state.ts';
import { suspensionOfPin, statusOfSet } from '../decide/set-view.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import type { RollbackOrder } from './set-revisions.ts';
import type { SetApprovals } from './set-approvals.ts';
import type { RecordLog } from './state-file.ts';
import { SetParts, type SetDeps } from './set-parts.ts';

export interface ManagedSetDeps extends SetDeps {
  readonly onChange: (set: ManagedSet) => void;
}

/** Random per process, so that nobody can guess the steps of a plan from its key. */
const planKey = randomBytes(32);
const planOf = (text: string): string => createHmac('sha256', planKey).update(text).digest('hex').slice(0, 16);

export class ManagedSet {
  readonly config: SetConfig;
  readonly #deps: ManagedSetDeps;
  readonly #parts: SetParts;
  #endReason: string | undefined;

  constructor(deps: ManagedSetDeps) {
    this.config = deps.config;
    this.#deps = deps;
    this.#parts = new SetParts(deps, this);
  }

  get approvals(): SetApprovals {
    return this.#parts.approvals;
  }

  /** Reads the state, which another controller may have changed. Returns whether the revisions have changed. */
  async load(): Promise<boolean> {
    const [isOther] = await Promise.all([this.#parts.stored.load(), this.#parts.records.load()]);
    return isOther;
  }

  /** Called when this controller becomes active. The stored revision is in force at once, also while the source does not answer. */
  async takeOver(signal: AbortSignal): Promise<void> {
    const isOther = await this.load();
    if (this.#parts.stored.isForeign) this.#parts.reports.log('warn', foreignText);
    await this.#parts.stored.renew().catch((error: unknown) => this.#parts.logNotStored(error));
    this.#parts.records.runs.closeOpen(this.#deps.nowMs());
    this.#parts.hosts.restoreDrift();
    if (!isOther && this.hosts.every(({ target }) => target !== undefined))
      return this.#parts.revisions.catchUp(signal);
    await this.#parts.revisions.begin({ kind: 'resync', reason: 'restart', by: this.#parts.self }, signal);
  }

  /** A rollback holds it at a revision. */
  get isHeld(): boolean {
    return this.#parts.stored.state.pin !== undefined;
  }

  /** The set leaves, and all its objects are gone. */
  get isGone(): boolean {
    if (this.config.isLeaving !== true) return false;
    // What is suspended waits for its deletion.
    const isEmpty = ({ target, isSynced, made }: SetOnHost): boolean =>
      isSynced && target?.loaded.loaded.documents.length === 0 && (made?.plan.changes.length ?? 0) === 0;
    return this.#parts.stored.wanted === undefined || this.hosts.every(isEmpty);
  }

  /** Deletes its stored state. */
  async forget(): Promise<void> {
    const { stateDir } = this.#deps;
    await rm(join(stateDir, 'sets', this.config.name), { recursive: true, force: true });
  }

  get hosts(): readonly SetOnHost[] {
    return this.#parts.hosts.list;
  }

  get drift(): RecordLog<DriftRecord> {
    return this.#parts.records.drift;
  }

  /** Called before `signal` of `run` fires, when the set leaves the configuration or changes in it: running runs end as cancelled. */
  end(why: string): void {
    this.#endReason = why;
    this.#parts.rollouts.stop(why);
  }

  /** Called when the set has left the configuration: lets another controller claim it. */
  async release(): Promise<void> {
    await this.#parts.hosts.release();
  }

  /** Takes it from another controller on these hosts, or on all. */
  async takeFromOther(hosts: readonly string[] | undefined, by: string): Promise<void> {
    await this.#parts.hosts.takeFromOther(hosts);
    this.#parts.reports.log('info', `${by} took it over from another controller`);
  }

  /** Runs until `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    this.#parts.end = signal;
    this.#parts.hosts.begin(signal);
    const watching = this.#parts.revisions.watchVault(
      { kind: 'sync', reason: 'secret rotated', by: this.#parts.self },
      signal,
    );
    await untilAborted(signal);
    await this.#parts.hosts.ended();
    await watching;
    await this.#parts.revisions.close();
    if (this.#endReason !== undefined) {
      this.#parts.rollouts.stop(this.#endReason);
      this.#parts.records.runs.endAll(this.#endReason, this.#deps.nowMs());
    }
    await Promise.all([this.#parts.stored.flush(), this.#parts.records.flush()]);
  }

  /** Takes a new list of hosts. Hosts that stay are not interrupted; objects on hosts that leave stay there. */
  async changeHosts(links: readonly HostLink[]): Promise<void> {
    const why = 'The hosts of the set changed.';
    if (this.#parts.hosts.leaving(links).length > 0) this.#parts.rollouts.stop(why);
    await this.#parts.hosts.change(links, why);
    const end = this.#parts.end;
    if (end === undefined || end.aborted || !this.#deps.isActive()) return;
    await this.#parts.revisions.rollOut({ kind: 'sync', reason: 'hosts changed', by: this.#parts.self }, end, why);
    this.#parts.stateChanged();
  }

  /** Takes a new revision of the source. One with problems changes nothing. */
  async offer(next: KnownRevision, signal: AbortSignal): Promise<void> {
    await this.#parts.revisions.offer(next, signal);
  }

  /** The manifests of another revision; nothing is applied. */
  async preview(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    return this.#parts.revisions.load(revision, signal);
  }

  /** Goes back to a revision and stays there until the set is resumed. */
  async rollback(order: RollbackOrder, signal: AbortSignal): Promise<Operation> {
    const { revision, run } = await this.#parts.revisions.rollback(order, signal);
    this.#parts.stateChanged();
    const { reason, by } = order;
    return (run ?? this.#parts.begin({ kind: 'rollback', reason, by, revision })).operation;
  }

  /** Ends a rollback: the newest revision is in force again. */
  async unpin(by: string, signal: AbortSignal): Promise<boolean> {
    return this.#parts.revisions.unpin(by, signal);
  }

  /** Compares and applies now. */
  sync(hosts: readonly string[] | undefined, reason: string, by: string): Operation {
    const chosen = this.hosts.filter(({ name }) => hosts === undefined || hosts.includes(name));
    if (this.#parts.rollouts.isStopped) void this.#restartRollout({ kind: 'resync', reason, by });
    const run = this.#parts.begin({ kind: 'resync', reason, by });
    void resync(run, chosen, this.#deps.nowMs);
    return run.operation;
  }

  get status(): SetStatus {
    const { config, hosts, suspensions } = this;
    const { state } = this.#parts.stored;
    const { problems } = this.#parts.revisions;
    const { message } = this.#parts.rollouts;
    return statusOfSet({
      config,
      state,
      hosts,
      suspensions,
      problems,
      message,
      approvals: this.#deps.asked.approvalsOf(config.name, this.#deps.nowMs()),
      planOf,
      isStopped: this.#parts.rollouts.isStopped,
    });
  }

  get suspensions(): readonly Suspension[] {
    const { name } = this.config;
    return [...this.#deps.asked.of(name, this.#deps.nowMs()), ...suspensionOfPin(name, this.#parts.stored.state)];
  }

  get operations(): readonly Operation[] {
    return this.#parts.records.runs.operations();
  }

  history(limit: number): readonly RunRecord[] {
    const kept = new Set(this.#parts.stored.known);
    return this.#parts.records.runs
      .history(limit)
      .map((run) => (kept.has(run.revision) ? { ...run, isKept: true } : run));
  }

  /** What its runs did to one object, newest first. */
  changesOf(host: string, address: string): readonly ObjectChange[] {
    return this.#parts.records.changesOf(host, address);
  }

  /** Revisions whose files must stay. */
  get revisions(): readonly string[] {
    return this.#parts.stored.revisions;
  }

  lookAll(): void {
    for (const host of this.hosts) host.look();
    this.#parts.rollouts.wake();
  }

  /** Hosts that wait for another set compare again. */
  lookWaiting(): void {
    for (const host of this.hosts) if (host.status.status === 'waiting') host.look();
  }

  /** Starts a rollout again that a check or a hook stopped. */
  async #restartRollout(start: StartPart): Promise<void> {
    const end = this.#parts.end;
    if (end !== undefined && !end.aborted) await this.#parts.revisions.rollOut(start, end, 'It begins again.');
  }

  /** Called by its parts when its state, which others see, has changed. */
  changed(): void {
    this.#deps.onChange(this);
  }
}

const foreignText =
  'another key sealed the digests in its state (controller.stateKey): its hosts are compared again, and hooks that ran for their revision count as run, also if a secret was rotated meanwhile';
