// One set on all its hosts: rolls out its revisions, corrects drift, and reports its status.
import { createHmac, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetConfig } from '../config/config.ts';
import type { HostLink } from '../hosts/host-link.ts';
import { HostClaim } from '../hosts/host-claim.ts';
import type { Hub } from '../hub.ts';
import { batchesOf } from '../decide/rollout.ts';
import type { DriftRecord, ObjectChange, Operation, RunRecord, SetStatus, Suspension } from '../contract/index.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { placeInRepository } from '../../core/ownership/place.ts';
import type { Source } from '../sources/source.ts';
import { untilAborted } from '../../../server/lib/shared/deadline.ts';
import { DriftRules } from '../decide/drift-rules.ts';
import type { Hindrance } from '../decide/host-verdict.ts';
import type { Claimant } from '../decide/set-claim.ts';
import type { LoadedRevision } from './load-revision.ts';
import { resync } from './resync.ts';
import { Rollouts, type StartPart } from './rollouts.ts';
import { watchMetrics } from './checks/rollout-checks.ts';
import { KnownSecrets } from './hooks/known-secrets.ts';
import { SetHooks } from './hooks/set-hooks.ts';
import type { Run, RunStart } from './run.ts';
import type { AppliedRevision, DigestSeal, KnownRevision } from '../decide/set-state.ts';
import { SetOnHost } from './on-host/set-on-host.ts';
import { SetHosts } from './set-hosts.ts';
import type { SetNotice } from './set-notices.ts';
import { SetRecords } from './set-records.ts';
import { SetReports } from './set-reports.ts';
import { SetRevisions, type RollbackOrder } from './set-revisions.ts';
import { StoredSet } from './stored-set.ts';
import { statusOfSet, suspensionOfPin } from '../decide/set-view.ts';
import { SetApprovals } from './set-approvals.ts';
import type { RecordLog } from './state-file.ts';
import type { Asked } from './asked.ts';

export interface ManagedSetDeps {
  readonly config: SetConfig;
  readonly source: Source;
  readonly links: readonly HostLink[];
  readonly asked: Asked;
  readonly hub: Hub;
  readonly isActive: () => boolean;
  /** This controller, as it claims sets on hosts. */
  readonly claimant: () => Claimant;
  /** Why a host must wait with a new revision. */
  readonly waitsFor: (set: SetConfig, host: string, revision: string) => Hindrance | undefined;
  readonly onChange: (set: ManagedSet) => void;
  readonly notice: (notice: SetNotice, set: SetConfig) => void;
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly controller: string;
  readonly stateDir: string;
  /** Seals digests in the state directory. */
  readonly seal: DigestSeal;
  readonly parallelism: number;
  readonly nowMs: () => number;
}

/** Random per process, so that nobody can guess the steps of a plan from its key. */
const planKey = randomBytes(32);
const planOf = (text: string): string => createHmac('sha256', planKey).update(text).digest('hex').slice(0, 16);

export class ManagedSet {
  readonly config: SetConfig;
  readonly approvals: SetApprovals;
  readonly #deps: ManagedSetDeps;
  readonly #rules: DriftRules;
  readonly #hosts: SetHosts;
  readonly #stored: StoredSet;
  readonly #records: SetRecords;
  readonly #rollouts: Rollouts;
  readonly #hooks: SetHooks;
  readonly #revisions: SetRevisions;
  readonly #reports: SetReports;
  /** The author of its runs. */
  readonly #self: string;
  #endReason: string | undefined;
  #end: AbortSignal | undefined;

  constructor(deps: ManagedSetDeps) {
    const { config, source, links, stateDir, hub, nowMs } = deps;
    this.config = config;
    this.#deps = deps;
    this.#self = `controller ${deps.controller}`;
    this.#reports = new SetReports(config.name, hub, (notice) => deps.notice(notice, config));
    this.#stored = new StoredSet(stateDir, config.name, { max: config.keepRevisions, seal: deps.seal });
    this.#records = new SetRecords(stateDir, config.name, hub);
    this.#rules = new DriftRules(config.mode, config.rules);
    this.approvals = new SetApprovals({
      config,
      source,
      asked: deps.asked,
      stored: this.#stored,
      hosts: () => this.hosts,
      status: () => this.status,
      sync: (reason, by) => this.sync(undefined, reason, by),
      log: (message) => this.#reports.log('info', message),
      nowMs,
    });
    const secrets = new KnownSecrets();
    this.#hooks = new SetHooks({
      set: config.name,
      hooks: config.hooks,
      ...(config.project === undefined ? {} : { project: config.project.name }),
      links: () => this.hosts.map(({ link }) => link),
      state: () => this.#stored.state.hooks,
      store: (hooks) => this.#stored.change({ hooks }),
      records: this.#records.hooks,
      log: (level, message, host) => this.#reports.log(level, message, host),
      hide: (text) => secrets.hide(text),
      nowMs,
    });
    this.#hosts = new SetHosts({ links, make: (link) => this.#on(link), drift: () => this.#records.allDrift() });
    this.#rollouts = new Rollouts({
      rollout: config.rollout,
      batchesOf: (hosts) => batchesOf(config.rollout, hosts),
      hosts: this.hosts,
      owe: (delivery) => void this.#hooks.owe(delivery).catch((error: unknown) => this.#logNotStored(error)),
      afterSync: (delivery, isNews) =>
        this.#hooks.afterSync(delivery, isNews, this.#end ?? new AbortController().signal),
      onFailure: (delivery) => this.#hooks.onFailure(delivery, this.#end ?? new AbortController().signal),
      check: (revision, on, overtaken) =>
        watchMetrics(config.rollout.checks, { set: config.name, revision, hosts: on }, overtaken),
      appliedText: (host) => this.#stored.state.hosts[host]?.text,
      noteGiven: (hosts, revision) =>
        void this.#stored.noteGiven(hosts, revision).catch((error: unknown) => this.#logNotStored(error)),
      begin: (start) => this.#begin(start),
      hasEarlier: () => this.#stored.lastGood !== undefined,
      goBack: (from) => this.#revisions.goBack(from),
      onGood: (revision) => void this.#stored.noteGood(revision).catch((error: unknown) => this.#logNotStored(error)),
      onWithdrawn: (revision, message) => this.#reports.withdrawn(revision, message),
      onError: (message) => this.#reports.log('error', message),
      by: this.#self,
      nowMs,
    });
    this.#revisions = new SetRevisions({
      config,
      source,
      stored: this.#stored,
      hosts: this.hosts,
      rollouts: this.#rollouts,
      isActive: deps.isActive,
      seal: deps.seal,
      onLoaded: (loaded) => {
        if (Object.keys(config.hooks).length > 0) secrets.note(loaded);
      },
      onRefused: (revision, problems) => {
        this.#reports.refused(revision, problems);
        this.#stateChanged();
      },
      onError: (message) => this.#reports.log('error', message),
      onWarning: (message) => this.#reports.log('warn', message),
      nowMs,
    });
  }

  #on(link: HostLink): SetOnHost {
    const deps = this.#deps;
    const { config, stateDir, nowMs } = deps;
    return new SetOnHost(
      {
        config,
        link,
        rules: this.#rules,
        // Only the controller decides which objects belong to its sets, so objects recorded with another place belong to it, too.
        place: { here: placeInRepository(deps.source.url, config.path === '.' ? '' : config.path), others: 'allow' },
        suspensions: () => deps.asked.of(config.name, nowMs()),
        isActive: deps.isActive,
        claim: new HostClaim({ set: setInProject(config.name, link.host.project), link, own: deps.claimant, nowMs }),
        stored: () => this.#stored.flush(),
        waitsFor: (host, revision) => deps.waitsFor(config, host, revision),
        isPruneApproved: (revision) => this.#stored.state.pruneApproval?.revision === revision,
        approvals: () => deps.asked.approvalsOf(config.name, nowMs()),
        beginOwn: (planned, late) =>
          this.#begin({ ...(late?.start ?? { kind: 'heal', reason: 'drift', by: this.#self }), planned }),
        facts: async (target, run, isRepair) => ({
          who: this.#self,
          message: run.start.message ?? run.start.reason,
          commit: target.revision,
          ...(target.run === run ? { rollout: run.id } : {}),
          ...(isRepair ? { onlyNew: true } : {}),
        }),
        journal: ({ host }) => ({ directory: join(stateDir, 'hosts', link.host.name), host }),
        limits: { parallelism: deps.parallelism, timeoutMs: config.timeoutMs },
        ...(hasHooks(config) ? { hooks: this.#hooks } : {}),
        onState: () => this.#stateChanged(),
        onObjects: (changed, gone) => this.#reports.objects(changed, gone),
        onDrift: (record) => {
          this.drift.put(record);
          this.#reports.drift(record, this.#stored.state.current?.revision);
        },
        onChanges: (changes) => this.#records.noteChanges(changes),
        onApplied: (host, applied) => this.#noteApplied(host, applied),
        log: (level, message, host) => this.#reports.log(level, message, host),
        turn: deps.turn,
        nowMs,
      },
      () => this.#stored.state.hosts[link.host.name],
    );
  }

  /** Reads the state, which another controller may have changed. Returns whether the revisions have changed. */
  async load(): Promise<boolean> {
    const [isOther] = await Promise.all([this.#stored.load(), this.#records.load()]);
    return isOther;
  }

  /** Called when this controller becomes active. The stored revision is in force at once, also while the source does not answer. */
  async takeOver(signal: AbortSignal): Promise<void> {
    const isOther = await this.load();
    if (this.#stored.isForeign) this.#reports.log('warn', foreignText);
    await this.#stored.renew().catch((error: unknown) => this.#logNotStored(error));
    this.#records.runs.closeOpen(this.#deps.nowMs());
    this.#hosts.restoreDrift();
    if (!isOther && this.hosts.every(({ target }) => target !== undefined)) return;
    await this.#revisions.begin({ kind: 'resync', reason: 'restart', by: this.#self }, signal);
  }

  /** A rollback holds it at a revision. */
  get isHeld(): boolean {
    return this.#stored.state.pin !== undefined;
  }

  /** The set leaves, and all its objects are gone. */
  get isGone(): boolean {
    if (this.config.isLeaving !== true) return false;
    const isEmpty = ({ target, isSynced }: SetOnHost): boolean =>
      isSynced && target?.loaded.loaded.documents.length === 0;
    return this.#stored.wanted === undefined || this.hosts.every(isEmpty);
  }

  /** Deletes its stored state. */
  async forget(): Promise<void> {
    const { stateDir } = this.#deps;
    await rm(join(stateDir, 'sets', this.config.name), { recursive: true, force: true });
  }

  get hosts(): readonly SetOnHost[] {
    return this.#hosts.list;
  }

  get drift(): RecordLog<DriftRecord> {
    return this.#records.drift;
  }

  /** Called before `signal` of `run` fires, when the set leaves the configuration or changes in it: running runs end as cancelled. */
  end(why: string): void {
    this.#endReason = why;
    this.#rollouts.stop(why);
  }

  /** Called when the set has left the configuration: lets another controller claim it. */
  async release(): Promise<void> {
    await this.#hosts.release();
  }

  /** Takes it from another controller on these hosts, or on all. */
  async takeFromOther(hosts: readonly string[] | undefined, by: string): Promise<void> {
    await this.#hosts.takeFromOther(hosts);
    this.#reports.log('info', `${by} took it over from another controller`);
  }

  /** Runs until `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    this.#end = signal;
    this.#hosts.begin(signal);
    const watching = this.#revisions.watchVault({ kind: 'sync', reason: 'secret rotated', by: this.#self }, signal);
    await untilAborted(signal);
    await this.#hosts.ended();
    await watching;
    await this.#revisions.close();
    if (this.#endReason !== undefined) {
      this.#rollouts.stop(this.#endReason);
      this.#records.runs.endAll(this.#endReason, this.#deps.nowMs());
    }
    await Promise.all([this.#stored.flush(), this.#records.flush()]);
  }

  /** Takes a new list of hosts. Hosts that stay are not interrupted; objects on hosts that leave stay there. */
  async changeHosts(links: readonly HostLink[]): Promise<void> {
    const why = 'The hosts of the set changed.';
    if (this.#hosts.leaving(links).length > 0) this.#rollouts.stop(why);
    await this.#hosts.change(links, why);
    const end = this.#end;
    if (end === undefined || end.aborted || !this.#deps.isActive()) return;
    await this.#revisions.rollOut({ kind: 'sync', reason: 'hosts changed', by: this.#self }, end, why);
    this.#stateChanged();
  }

  /** Takes a new revision of the source. One with problems changes nothing. */
  async offer(next: KnownRevision, signal: AbortSignal): Promise<void> {
    await this.#revisions.offer(next, signal);
  }

  /** The manifests of another revision; nothing is applied. */
  async preview(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    return this.#revisions.load(revision, signal);
  }

  /** Goes back to a revision and stays there until the set is resumed. */
  async rollback(order: RollbackOrder, signal: AbortSignal): Promise<Operation> {
    const { revision, run } = await this.#revisions.rollback(order, signal);
    this.#stateChanged();
    const { reason, by } = order;
    return (run ?? this.#begin({ kind: 'rollback', reason, by, revision })).operation;
  }

  /** Ends a rollback: the newest revision is in force again. */
  async unpin(by: string, signal: AbortSignal): Promise<boolean> {
    return this.#revisions.unpin(by, signal);
  }

  /** Compares and applies now. */
  sync(hosts: readonly string[] | undefined, reason: string, by: string): Operation {
    const chosen = this.hosts.filter(({ name }) => hosts === undefined || hosts.includes(name));
    if (this.#rollouts.isStopped) void this.#restartRollout({ kind: 'resync', reason, by });
    const run = this.#begin({ kind: 'resync', reason, by });
    void resync(run, chosen, this.#deps.nowMs);
    return run.operation;
  }

  get status(): SetStatus {
    const { config, hosts, suspensions } = this;
    const { state } = this.#stored;
    const { problems } = this.#revisions;
    const { message } = this.#rollouts;
    return statusOfSet({
      config,
      state,
      hosts,
      suspensions,
      problems,
      message,
      approvals: this.#deps.asked.approvalsOf(config.name, this.#deps.nowMs()),
      planOf,
      isStopped: this.#rollouts.isStopped,
    });
  }

  get suspensions(): readonly Suspension[] {
    const { name } = this.config;
    return [...this.#deps.asked.of(name, this.#deps.nowMs()), ...suspensionOfPin(name, this.#stored.state)];
  }

  get operations(): readonly Operation[] {
    return this.#records.runs.operations();
  }

  history(limit: number): readonly RunRecord[] {
    const kept = new Set(this.#stored.known);
    return this.#records.runs.history(limit).map((run) => (kept.has(run.revision) ? { ...run, isKept: true } : run));
  }

  /** What its runs did to one object, newest first. */
  changesOf(host: string, address: string): readonly ObjectChange[] {
    return this.#records.changesOf(host, address);
  }

  /** Revisions whose files must stay. */
  get revisions(): readonly string[] {
    return this.#stored.revisions;
  }

  lookAll(): void {
    for (const host of this.hosts) host.look();
  }

  /** Hosts that wait for another set compare again. */
  lookWaiting(): void {
    for (const host of this.hosts) if (host.status.status === 'waiting') host.look();
  }

  /** Starts a rollout again that a check or a hook stopped. */
  async #restartRollout(start: StartPart): Promise<void> {
    const end = this.#end;
    if (end !== undefined && !end.aborted) await this.#revisions.rollOut(start, end, 'It begins again.');
  }

  #begin(start: Omit<RunStart, 'revision'> & { readonly revision?: string }): Run {
    const revision = start.revision ?? this.#stored.wanted ?? '';
    const before = this.#stored.before(revision);
    return this.#records.runs.begin(
      { ...start, revision, ...(before === undefined ? {} : { previousRevision: before }) },
      this.#deps.nowMs(),
    );
  }

  #noteApplied(host: string, applied: AppliedRevision): void {
    const hosts = { ...this.#stored.state.hosts, [host]: applied };
    void this.#stored.change({ hosts }).catch((error: unknown) => this.#logNotStored(error));
  }

  #logNotStored(error: unknown): void {
    this.#reports.log('error', `its state cannot be stored: ${reasonOf(error)}`);
  }

  #stateChanged(): void {
    this.#rollouts.hostChanged();
    this.#deps.onChange(this);
    this.#reports.status(() => this.status);
  }
}

const foreignText =
  'another key sealed the digests in its state (controller.stateKey): its hosts are compared again, and hooks that ran for their revision count as run, also if a secret was rotated meanwhile';

/** A set that leaves runs no hooks. */
const hasHooks = ({ hooks, isLeaving }: SetConfig): boolean => Object.keys(hooks).length > 0 && isLeaving !== true;
