// Makes the parts of one set and connects them.
import { join } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetConfig } from '../config/config.ts';
import type { HostLink } from '../hosts/host-link.ts';
import { HostClaim } from '../hosts/host-claim.ts';
import type { Hub } from '../hub.ts';
import { batchesOf } from '../decide/rollout.ts';
import type { Operation, SetStatus } from '../contract/index.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { placeInRepository } from '../../core/ownership/place.ts';
import type { Source } from '../sources/source.ts';
import { DriftRules } from '../decide/drift-rules.ts';
import type { Hindrance } from '../decide/host-verdict.ts';
import type { Claimant } from '../decide/set-claim.ts';
import { Rollouts } from './rollouts.ts';
import { watchMetrics } from './checks/rollout-checks.ts';
import { KnownSecrets } from './hooks/known-secrets.ts';
import { SetHooks } from './hooks/set-hooks.ts';
import type { Run, RunStart } from './run.ts';
import { withEarlier, type AppliedRevision, type DigestSeal } from '../decide/set-state.ts';
import { SetOnHost } from './on-host/set-on-host.ts';
import { SetHosts } from './set-hosts.ts';
import type { SetNotice } from './set-notices.ts';
import { SetRecords } from './set-records.ts';
import { SetReports } from './set-reports.ts';
import { SetRevisions } from './set-revisions.ts';
import { StoredSet } from './stored-set.ts';
import { SetApprovals } from './set-approvals.ts';
import type { Asked } from './asked.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface SetDeps {
  readonly config: SetConfig;
  readonly source: Source;
  readonly links: readonly HostLink[];
  readonly asked: Asked;
  readonly hub: Hub;
  readonly isActive: () => boolean;
  /** Fires when this controller is no longer the active one. */
  readonly term: () => AbortSignal;
  /** This controller, as it claims sets on hosts. */
  readonly claimant: () => Claimant;
  /** Why a host must wait with a new revision. */
  readonly waitsFor: (set: SetConfig, host: string, revision: string) => Hindrance | undefined;
  readonly notice: (notice: SetNotice, set: SetConfig) => void;
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly controller: string;
  readonly stateDir: string;
  /** Seals digests in the state directory. */
  readonly seal: DigestSeal;
  readonly parallelism: number;
  readonly nowMs: () => number;
}

/** The set itself, as its parts see it. */
export interface PartsOwner {
  readonly status: SetStatus;
  sync(hosts: undefined, reason: string, by: string): Operation;
  changed(): void;
}

export class SetParts {
  readonly approvals: SetApprovals;
  readonly hosts: SetHosts;
  readonly stored: StoredSet;
  readonly records: SetRecords;
  readonly rollouts: Rollouts;
  readonly revisions: SetRevisions;
  readonly reports: SetReports;
  /** The author of its runs. */
  readonly self: string;
  /** Fires when the set ends; undefined until it runs. */
  end: AbortSignal | undefined;
  readonly #deps: SetDeps;
  readonly #set: PartsOwner;
  readonly #rules: DriftRules;
  readonly #hooks: SetHooks;

  constructor(deps: SetDeps, set: PartsOwner) {
    const { config, source, links, stateDir, hub, nowMs } = deps;
    this.#deps = deps;
    this.#set = set;
    this.self = `controller ${deps.controller}`;
    this.reports = new SetReports(config.name, hub, (notice) => deps.notice(notice, config));
    this.stored = new StoredSet(stateDir, config.name, { max: config.keepRevisions, seal: deps.seal, term: deps.term });
    this.records = new SetRecords(stateDir, config.name, hub);
    this.#rules = new DriftRules(config.mode, config.rules);
    this.approvals = new SetApprovals({
      config,
      source,
      asked: deps.asked,
      stored: this.stored,
      hosts: () => this.hosts.list,
      status: () => set.status,
      sync: (reason, by) => set.sync(undefined, reason, by),
      log: (message) => this.reports.log('info', message),
      nowMs,
    });
    const secrets = new KnownSecrets();
    this.#hooks = new SetHooks({
      set: config.name,
      hooks: config.hooks,
      ...(config.project === undefined ? {} : { project: config.project.name }),
      links: () => this.hosts.list.map(({ link }) => link),
      state: () => this.stored.state.hooks,
      store: (hooks) => this.stored.change({ hooks }),
      records: this.records.hooks,
      log: (level, message, host) => this.reports.log(level, message, host),
      hide: (text) => secrets.hide(text),
      nowMs,
    });
    this.hosts = new SetHosts({ links, make: (link) => this.#on(link), drift: () => this.records.allDrift() });
    this.rollouts = new Rollouts({
      rollout: config.rollout,
      batchesOf: (hosts) => batchesOf(config.rollout, hosts),
      hosts: this.hosts.list,
      owe: (delivery) => void this.#hooks.owe(delivery).catch((error: unknown) => this.logNotStored(error)),
      afterSync: (delivery, isNews) =>
        this.#hooks.afterSync(delivery, isNews, this.end ?? new AbortController().signal),
      onFailure: (delivery) => this.#hooks.onFailure(delivery, this.end ?? new AbortController().signal),
      check: (revision, on, overtaken) =>
        watchMetrics(config.rollout.checks, { set: config.name, revision, hosts: on }, overtaken),
      isUnchecked: (revision) => config.rollout.checks.length > 0 && this.stored.state.unchecked === revision,
      noteUnchecked: (revision, isUnchecked) => {
        if (config.rollout.checks.length > 0) this.#noteUnchecked(isUnchecked ? revision : undefined);
      },
      isActive: deps.isActive,
      appliedText: (host) => this.stored.state.hosts[host]?.text,
      noteGiven: (hosts, revision) =>
        void this.stored.noteGiven(hosts, revision).catch((error: unknown) => this.logNotStored(error)),
      begin: (start) => this.begin(start),
      hasEarlier: () => this.stored.lastGood !== undefined,
      goBack: (from) => this.revisions.goBack(from),
      onGood: (revision) => void this.stored.noteGood(revision).catch((error: unknown) => this.logNotStored(error)),
      onWithdrawn: (revision, message) => this.reports.withdrawn(revision, message),
      onError: (message) => this.reports.log('error', message),
      by: this.self,
      nowMs,
    });
    this.revisions = new SetRevisions({
      config,
      source,
      stored: this.stored,
      hosts: this.hosts.list,
      rollouts: this.rollouts,
      isActive: deps.isActive,
      seal: deps.seal,
      onLoaded: (loaded) => {
        if (Object.keys(config.hooks).length > 0) secrets.note(loaded);
      },
      onRefused: (revision, problems) => {
        this.reports.refused(revision, problems);
        this.stateChanged();
      },
      onError: (message) => this.reports.log('error', message),
      onWarning: (message) => this.reports.log('warn', message),
      nowMs,
    });
  }

  /** Its state, which others see, has changed. */
  stateChanged(): void {
    this.rollouts.wake();
    this.#set.changed();
    this.reports.status(() => this.#set.status);
  }

  begin(start: Omit<RunStart, 'revision'> & { readonly revision?: string }): Run {
    const revision = start.revision ?? this.stored.wanted ?? '';
    const before = this.stored.before(revision);
    return this.records.runs.begin(
      { ...start, revision, ...withoutUndefined({ previousRevision: before }) },
      this.#deps.nowMs(),
    );
  }

  logNotStored(error: unknown): void {
    this.reports.log('error', `its state cannot be stored: ${reasonOf(error)}`);
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
        term: deps.term,
        claim: new HostClaim({ set: setInProject(config.name, link.host.project), link, own: deps.claimant, nowMs }),
        stored: () => this.stored.flush(),
        noteGiven: (revision) => this.stored.noteGiven([link.host.name], revision),
        waitsFor: (host, revision) => deps.waitsFor(config, host, revision),
        isPruneApproved: (revision) => this.stored.state.pruneApproval?.revision === revision,
        approvals: () => deps.asked.approvalsOf(config.name, nowMs()),
        beginOwn: (planned, late) =>
          this.begin({ ...(late?.start ?? { kind: 'heal', reason: 'drift', by: this.self }), planned }),
        facts: async (target, run, isRepair) => ({
          who: this.self,
          message: run.start.message ?? run.start.reason,
          commit: target.revision,
          ...(target.run === run ? { rollout: run.id } : {}),
          ...(isRepair ? { onlyNew: true } : {}),
        }),
        journal: ({ host }) => ({ directory: join(stateDir, 'hosts', link.host.name), host }),
        limits: { parallelism: deps.parallelism, timeoutMs: config.timeoutMs },
        ...(hasHooks(config) ? { hooks: this.#hooks } : {}),
        onState: () => this.stateChanged(),
        onObjects: (changed, gone) => this.reports.objects(changed, gone),
        onDrift: (record) => {
          this.records.drift.put(record);
          this.reports.drift(record, this.stored.state.current?.revision);
        },
        onChanges: (changes) => this.records.noteChanges(changes),
        onApplied: (host, applied) => this.#noteApplied(host, applied),
        log: (level, message, host) => this.reports.log(level, message, host),
        turn: deps.turn,
        nowMs,
      },
      () => this.stored.state.hosts[link.host.name],
    );
  }

  #noteUnchecked(unchecked: string | undefined): void {
    void this.stored.change({ unchecked }).catch((error: unknown) => this.logNotStored(error));
  }

  #noteApplied(host: string, applied: AppliedRevision): void {
    const { hosts: all } = this.stored.state;
    const { approval } = this.#deps.config;
    const sinceMs = approval === undefined ? Infinity : this.#deps.nowMs() - approval.expiresMs;
    const hosts = { ...all, [host]: withEarlier(applied, all[host], sinceMs) };
    void this.stored.change({ hosts }).catch((error: unknown) => this.logNotStored(error));
  }
}

/** A set that leaves runs no hooks. */
const hasHooks = ({ hooks, isLeaving }: SetConfig): boolean => Object.keys(hooks).length > 0 && isLeaving !== true;
