// One set on all its hosts: takes revisions of its source, checks them as a whole, rolls them out in batches, and goes back.
import { join } from 'node:path';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetConfig } from '../config/config.ts';
import type { HostLink } from '../hosts/host-link.ts';
import type { Hub } from '../hub.ts';
import { ControllerError } from '../controller.ts';
import type { DriftRecord, ObjectChange, Operation, RunRecord, SetStatus, Suspension } from '../http/contract.ts';
import type { Source } from '../sources/source.ts';
import { firing, Task } from '../reload/task.ts';
import { DriftRules } from '../decide/drift-rules.ts';
import { loadRevision, type LoadedRevision } from './load-revision.ts';
import { changesOf, type HostChanges } from './object-history.ts';
import { resync } from './resync.ts';
import { Rollouts, type StartPart } from './rollouts.ts';
import { RunBook, type Run, type RunStart } from './run-book.ts';
import type { Applied } from './on-host/host-target.ts';
import { SetOnHost } from './on-host/set-on-host.ts';
import { SetNotices, type SetNotice } from './set-notices.ts';
import { StoredSet, type KnownRevision } from './set-state.ts';
import { statusOfSet, suspensionOfPin } from '../decide/set-view.ts';
import { short } from '../decide/short-revision.ts';
import { RecordLog } from './state-file.ts';
import type { Suspensions } from './suspensions.ts';

export interface ManagedSetDeps {
  readonly config: SetConfig;
  readonly source: Source;
  readonly links: readonly HostLink[];
  readonly suspensions: Suspensions;
  readonly hub: Hub;
  readonly isActive: () => boolean;
  /** Why a host must wait with a new revision. */
  readonly waitsFor: (set: SetConfig, host: string) => string | undefined;
  readonly onChange: (set: ManagedSet) => void;
  readonly notice: (notice: SetNotice, set: SetConfig) => void;
  readonly turn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly controller: string;
  readonly stateDir: string;
  readonly parallelism: number;
  readonly nowMs: () => number;
}

const publishMs = 100;

export class ManagedSet {
  readonly config: SetConfig;
  readonly drift: RecordLog<DriftRecord>;
  readonly #deps: ManagedSetDeps;
  readonly #rules: DriftRules;
  /** The rollouts see what joins and leaves. */
  readonly #hosts: SetOnHost[] = [];
  readonly #tasks = new Map<SetOnHost, Task>();
  #links: readonly HostLink[];
  #whyEnded: string | undefined;
  /** As it signs its runs. */
  readonly #self: string;
  readonly #stored: StoredSet;
  readonly #runs: RunBook;
  readonly #rollouts: Rollouts;
  readonly #history: RecordLog<RunRecord>;
  readonly #changes: RecordLog<HostChanges>;
  #end: AbortSignal | undefined;
  #problems: readonly string[] = [];
  #offered: string | undefined;
  #working: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  readonly #notices: SetNotices;

  constructor(deps: ManagedSetDeps) {
    const { config, stateDir, hub, nowMs } = deps;
    this.config = config;
    this.#deps = deps;
    this.#self = `controller ${deps.controller}`;
    this.#notices = new SetNotices((notice) => deps.notice(notice, config));
    const folder = join(stateDir, 'sets', config.name);
    this.#stored = new StoredSet(stateDir, config.name);
    this.#history = new RecordLog(join(folder, 'history.ndjson'), 1000);
    this.#changes = new RecordLog(join(folder, 'changes.ndjson'), Math.max(200, 10 * deps.links.length));
    this.drift = new RecordLog(join(folder, 'drift.ndjson'), 5000);
    this.#runs = new RunBook(config.name, this.#history, hub);
    this.#rules = new DriftRules(config.mode, config.rules);
    this.#links = deps.links;
    this.#hosts.push(...deps.links.map((link) => this.#on(link)));
    this.#rollouts = new Rollouts({
      rollout: config.rollout,
      hosts: this.#hosts,
      appliedText: (host) => this.#stored.state.hosts[host]?.text,
      begin: (start) => this.#begin(start),
      hasEarlier: () => this.#stored.state.earlier.length > 0,
      goBack: (from) => this.#goBack(from),
      onWithdrawn: (revision, message) => this.#notices.withdrawn(revision, message),
      onError: (message) => this.#say('error', message),
      by: this.#self,
      nowMs,
    });
  }

  #on(link: HostLink): SetOnHost {
    const deps = this.#deps;
    const { config, stateDir, hub, nowMs } = deps;
    const rules = this.#rules;
    return new SetOnHost(
      {
        config,
        link,
        rules,
        suspensions: () => deps.suspensions.of(config.name, nowMs()),
        isActive: deps.isActive,
        waitsFor: (host) => deps.waitsFor(config, host),
        beginRepair: () => this.#begin({ kind: 'heal', reason: 'drift', by: this.#self }),
        onState: () => this.#stateChanged(),
        onObjects: (changed, gone) => {
          if (!hub.isHeard) return;
          for (const object of changed) hub.emit({ type: 'object', set: config.name, object });
          for (const object of gone) hub.emit({ type: 'object', set: config.name, object, isGone: true });
        },
        onDrift: (record) => this.#noteDrift(record),
        onChanges: (changes) => this.#changes.put(changes),
        onApplied: (host, applied) => this.#noteApplied(host, applied),
        log: (level, message, host) => hub.log(level, message, { set: config.name, host }),
        turn: deps.turn,
        who: this.#self,
        stateDir,
        parallelism: deps.parallelism,
        nowMs,
      },
      () => this.#stored.state.hosts[link.host.name],
    );
  }

  /** Reads its state. The last good revision is in force at once, also while its source does not answer. */
  async load(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#stored.load(), this.#history.load(), this.#changes.load(), this.drift.load()]);
    this.#runs.closeOpen(this.#deps.nowMs());
    const drift = this.drift.list(Number.MAX_SAFE_INTEGER);
    for (const host of this.hosts) host.restoreDrift(drift);
    await this.#inTurn(() => this.#bring({ kind: 'resync', reason: 'restart', by: this.#self }, signal));
  }

  /** The revision that is in force, to all hosts; `why` a rollout at work ends. */
  async #bring(start: StartPart, signal: AbortSignal, why?: string): Promise<void> {
    const { wanted } = this.#stored;
    if (wanted === undefined) return;
    try {
      const loaded = await this.#load(wanted, signal);
      if (loaded.problems.length > 0) throw new Error(loaded.problems.join('; '));
      if (why !== undefined) this.#rollouts.stop(why);
      this.#rollouts.start(wanted, loaded, start);
    } catch (error) {
      if (!signal.aborted)
        this.#say('error', `the revision ${short(wanted)} in use cannot be read: ${reasonOf(error)}`);
    }
  }

  #begins(host: SetOnHost, end: AbortSignal): void {
    this.#tasks.set(host, new Task(end, (signal) => host.run(signal)));
  }

  get hosts(): readonly SetOnHost[] {
    return this.#hosts;
  }

  /** Its configuration ends: the runs at work end as cancelled. `signal` of `run` fires next. */
  end(why: string): void {
    this.#whyEnded = why;
    this.#rollouts.stop(why);
  }

  /** Runs until `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    this.#end = signal;
    for (const host of this.#hosts) this.#begins(host, signal);
    await firing(signal);
    await Promise.all([...this.#tasks.values()].map((task) => task.ended()));
    await this.#working.catch(() => undefined);
    if (this.#whyEnded !== undefined) {
      this.#rollouts.stop(this.#whyEnded);
      this.#runs.endAll(this.#whyEnded, this.#deps.nowMs());
    }
    await Promise.all([this.#stored.flush(), this.#history.flush(), this.#changes.flush(), this.drift.flush()]);
  }

  /** Its hosts are others, or are described otherwise: hosts that stay are not interrupted. What it made on those that leave stays there. */
  async changeHosts(links: readonly HostLink[]): Promise<void> {
    const why = 'The hosts of the set changed.';
    const leaving = this.#hosts.filter(({ link }) => !links.includes(link));
    if (leaving.length > 0) this.#rollouts.stop(why);
    await Promise.all(leaving.flatMap((host) => this.#tasks.get(host)?.end(why) ?? []));
    for (const host of leaving) this.#tasks.delete(host);
    const known = new Map(this.#hosts.map((host) => [host.link, host]));
    const joined = links.filter((link) => !known.has(link)).map((link) => this.#on(link));
    for (const host of joined) known.set(host.link, host);
    this.#links = links;
    this.#hosts.splice(0, this.#hosts.length, ...links.flatMap((link) => known.get(link) ?? []));
    const drift = this.drift.list(Number.MAX_SAFE_INTEGER);
    for (const host of joined) host.restoreDrift(drift);
    const end = this.#end;
    if (end === undefined || end.aborted) return;
    for (const host of joined) this.#begins(host, end);
    await this.#inTurn(() => this.#bring({ kind: 'sync', reason: 'hosts changed', by: this.#self }, end, why));
    this.#stateChanged();
  }

  /** The source has this revision now. A broken one changes nothing. */
  async offer(next: KnownRevision, signal: AbortSignal): Promise<void> {
    const { state } = this.#stored;
    const isKnown =
      next.revision === this.#offered || (this.#offered === undefined && next.revision === state.withdrawn);
    if (isKnown) return;
    this.#offered = next.revision;
    if (state.pin !== undefined) return;
    if (next.revision === state.current?.revision && this.hosts.every(({ target }) => target !== undefined)) return;
    await this.#inTurn(() => this.#take(next, { kind: 'sync', reason: 'commit', by: next.who ?? 'unknown' }, signal));
  }

  async #take(next: KnownRevision, start: StartPart, signal: AbortSignal): Promise<void> {
    let loaded: LoadedRevision;
    try {
      loaded = await this.#load(next.revision, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#offered = undefined;
      return this.#refuse(next, [reasonOf(error)]);
    }
    if (loaded.problems.length > 0) return this.#refuse(next, loaded.problems);
    this.#problems = [];
    await this.#stored.advance(next);
    this.#rollouts.start(next.revision, loaded, {
      ...start,
      ...(next.message === undefined ? {} : { message: next.message }),
    });
  }

  #refuse({ revision }: KnownRevision, problems: readonly string[]): void {
    const isTold = problems.join('\n') === this.#problems.join('\n');
    this.#problems = problems;
    if (isTold) return;
    this.#say('error', `revision ${short(revision)} is not applied: ${problems.slice(0, 3).join('; ')}`);
    this.#notices.refused(revision, problems[0] ?? '');
    this.#stateChanged();
  }

  async #load(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    const { dir } = await this.#deps.source.checkout(revision, signal);
    return loadRevision(
      dir,
      this.config,
      this.#links.map(({ host }) => host),
      signal,
    );
  }

  /** The plan of another revision: loaded manifests, nothing else. */
  async preview(revision: string, signal: AbortSignal): Promise<LoadedRevision> {
    return this.#load(revision, signal);
  }

  /** Back to the last good revision, until the source has another one. */
  async #goBack(from: string): Promise<{ readonly revision: string; readonly loaded: LoadedRevision } | undefined> {
    const [last] = this.#stored.state.earlier;
    if (last === undefined) return undefined;
    const loaded = await this.#load(last.revision, new AbortController().signal);
    await this.#stored.change({ current: last, earlier: this.#stored.state.earlier.slice(1), withdrawn: from });
    return { revision: last.revision, loaded };
  }

  /** Goes back to a revision and stays there until the set is resumed. */
  async rollback(
    revision: string,
    reason: string,
    by: string,
    hosts: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<Operation> {
    const wanted = this.#stored.named(revision);
    return this.#inTurn(async () => {
      const loaded = await this.#load(wanted, signal);
      if (loaded.problems.length > 0)
        throw new ControllerError('conflict', `revision ${short(wanted)} has errors: ${loaded.problems[0] ?? ''}`);
      await this.#stored.change({
        pin: { revision: wanted, reason, by, since: new Date(this.#deps.nowMs()).toISOString() },
      });
      const run = this.#rollouts.start(wanted, loaded, { kind: 'rollback', reason: `rollback: ${reason}`, by }, hosts);
      this.#stateChanged();
      return (run ?? this.#begin({ kind: 'rollback', reason, by, revision: wanted })).operation;
    });
  }

  /** The end of a rollback: the newest revision is in force again. */
  async unpin(by: string, signal: AbortSignal): Promise<boolean> {
    const { pin, current } = this.#stored.state;
    if (pin === undefined) return false;
    await this.#stored.unpin();
    this.#offered = undefined;
    if (current !== undefined)
      await this.#inTurn(() => this.#take(current, { kind: 'sync', reason: 'resume', by }, signal));
    return true;
  }

  /** Compares and applies now. */
  sync(hosts: readonly string[] | undefined, reason: string, by: string): Operation {
    const chosen = this.hosts.filter(({ name }) => hosts === undefined || hosts.includes(name));
    const run = this.#begin({ kind: 'resync', reason, by });
    void resync(run, chosen, this.#deps.nowMs);
    return run.operation;
  }

  get status(): SetStatus {
    const { config, hosts, suspensions } = this;
    const { state } = this.#stored;
    return statusOfSet({
      config,
      state,
      hosts,
      suspensions,
      problems: this.#problems,
      message: this.#rollouts.message,
    });
  }

  get suspensions(): readonly Suspension[] {
    const { name } = this.config;
    return [...this.#deps.suspensions.of(name, this.#deps.nowMs()), ...suspensionOfPin(name, this.#stored.state)];
  }

  get operations(): readonly Operation[] {
    return this.#runs.operations();
  }

  history(limit: number): readonly RunRecord[] {
    return this.#runs.history(limit);
  }

  /** What its runs did to one object, newest first. */
  changesOf(host: string, address: string): readonly ObjectChange[] {
    const records = this.#changes.list(Number.MAX_SAFE_INTEGER);
    return changesOf(records, (id) => this.#history.get(id), host, address);
  }

  /** Revisions whose files must stay. */
  get revisions(): readonly string[] {
    return this.#stored.revisions;
  }

  lookAll(): void {
    for (const host of this.hosts) host.look();
  }

  #begin(start: Omit<RunStart, 'revision'> & { readonly revision?: string }): Run {
    const revision = start.revision ?? this.#stored.wanted ?? '';
    const before = this.#stored.before(revision);
    return this.#runs.begin(
      { ...start, revision, ...(before === undefined ? {} : { previousRevision: before }) },
      this.#deps.nowMs(),
    );
  }

  #noteApplied(host: string, applied: Applied): void {
    const hosts = { ...this.#stored.state.hosts, [host]: applied };
    void this.#stored
      .change({ hosts })
      .catch((error: unknown) => this.#say('error', `its state cannot be stored: ${reasonOf(error)}`));
  }

  #noteDrift(record: DriftRecord): void {
    this.drift.put(record);
    this.#deps.hub.emit({ type: 'drift', set: this.config.name, drift: record });
    this.#notices.drift(record, this.#stored.state.current?.revision);
    const { host, address, paths, action, by } = record;
    const who = by === undefined ? '' : ` by ${by}`;
    this.#say(
      action === 'failed' ? 'error' : 'info',
      `${address} drifted (${paths.join(', ')})${who}: ${action}`,
      host,
    );
  }

  #stateChanged(): void {
    this.#rollouts.hostChanged();
    this.#deps.onChange(this);
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const set = this.status;
      this.#deps.hub.emit({ type: 'set', set });
      this.#notices.status(set);
    }, publishMs);
    this.#timer.unref();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#working.catch(() => undefined).then(work);
    this.#working = next;
    return next;
  }

  #say(level: 'info' | 'error', message: string, host?: string): void {
    this.#deps.hub.log(level, message, { set: this.config.name, ...(host === undefined ? {} : { host }) });
  }
}
