// The hosts, sources and sets of a config, wired to one another: a source offers revisions to its sets, sets wait for sets, all stop
// while another controller is active.
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import type { Host } from '../manifest/hosts-file.ts';
import type { ControllerConfig, SetConfig, SourceConfig } from './config/config.ts';
import { durationMs } from './config/durations.ts';
import { suspensionOfSet } from './decide/set-view.ts';
import { HostLink } from './hosts/host-link.ts';
import { Lease } from './hosts/lease.ts';
import type { Hub } from './hub.ts';
import type { Notifier } from './notify/notice.ts';
import { hostsOf, type ConfigChanges, type Configured, type Difference } from './reload/changes.ts';
import { Task } from './reload/task.ts';
import { ImageUpdates } from './sets/image-updates.ts';
import { ManagedSet } from './sets/managed-set.ts';
import { StoredSet } from './sets/set-state.ts';
import { SourceWatch } from './sets/source-watch.ts';
import { Suspensions } from './sets/suspensions.ts';
import { Turns } from './sets/turns.ts';
import type { Source } from './sources/source.ts';

export interface EngineDeps {
  readonly config: ControllerConfig;
  readonly hosts: readonly Host[];
  readonly open: (entry: SourceConfig) => Source;
  readonly hub: Hub;
  readonly notifier?: Notifier;
  readonly nowMs: () => number;
}

/** Hosts that are observed and planned at a time. */
const plansAtOnce = 6;
const keepMs = 3_600_000;

interface OpenSource {
  readonly source: Source;
  readonly watch: SourceWatch;
}

export class Parts {
  readonly links = new Map<string, HostLink>();
  readonly sources = new Map<string, OpenSource>();
  readonly sets = new Map<string, ManagedSet>();
  readonly suspensions: Suspensions;
  readonly lease: Lease;
  readonly #deps: EngineDeps;
  readonly #end: AbortSignal;
  readonly #turns = new Turns(plansAtOnce);
  /** By link, watch or set. */
  readonly #tasks = new Map<object, Task>();
  #configured: Configured;
  #notifier: Notifier | undefined;

  constructor(deps: EngineDeps, end: AbortSignal) {
    const { config, hosts, hub, nowMs } = deps;
    this.#deps = deps;
    this.#configured = { config, hosts };
    this.#notifier = deps.notifier;
    this.#end = end;
    // All hosts and sets listen to it.
    setMaxListeners(0, end);
    this.suspensions = new Suspensions(join(config.stateDir, 'suspensions.json'));
    for (const host of hosts) this.links.set(host.name, this.#linked(host));
    for (const entry of config.sources) this.sources.set(entry.name, this.#watched(entry, deps.open(entry)));
    for (const set of config.sets) this.sets.set(set.name, this.#managed(set));
    this.lease = new Lease({
      name: config.name,
      links: [...this.links.values()],
      nowMs,
      onChange: (isActive) => {
        hub.log(
          'info',
          isActive ? 'this controller is active' : 'another controller is active, or the lock was lost; this one waits',
        );
        if (isActive) for (const set of this.sets.values()) set.lookAll();
      },
    });
  }

  get configured(): Configured {
    return this.#configured;
  }

  /** Reads the state. Rejects when it is damaged. */
  async load(): Promise<void> {
    await this.suspensions.load();
    // Hosts get their last good manifests before the sources are asked.
    await Promise.all([...this.sets.values()].map((set) => set.load(this.#end)));
  }

  /** Works until the end. */
  async run(): Promise<void> {
    const signal = this.#end;
    const keep = setInterval(() => void this.#forgetCheckouts(), keepMs);
    signal.addEventListener('abort', () => clearInterval(keep), { once: true });
    for (const link of this.links.values()) this.#begin(link, (end) => link.run(end));
    for (const { watch } of this.sources.values()) this.#begin(watch, (end) => watch.run(end));
    for (const set of this.sets.values()) this.#beginSet(set);
    await this.lease.run(signal);
    await Promise.all([...this.#tasks.values()].map((task) => task.ended()));
    await this.#notifier?.close(5000);
  }

  /**
   * Takes what differs; what is the same goes on. Throws before it touches anything when a new source or state cannot be used; `take` is
   * called once nothing can be refused any more.
   */
  async change(next: Configured, changes: ConfigChanges, take: () => Notifier | undefined): Promise<void> {
    const { hosts, described, sources, sets, moved } = changes;
    const { config } = next;
    const opened = new Map(
      config.sources.filter(({ name }) => isNew(sources, name)).map((entry) => [entry.name, this.#deps.open(entry)]),
    );
    for (const name of sets.added) await new StoredSet(config.stateDir, name).load();
    const notifier = take();
    const gone = (what: Difference): readonly string[] => [...what.removed, ...what.changed];
    await Promise.all(gone(sets).map((name) => this.#endSet(name, sets.removed.includes(name))));
    for (const name of gone(sources)) await this.#endTask(this.sources.get(name)?.watch, 'the source changed');
    this.#configured = next;
    if (changes.notifications) {
      void this.#notifier?.close(5000);
      this.#notifier = notifier;
    }
    const leaving = gone(hosts).flatMap((name) => this.links.get(name) ?? []);
    for (const host of next.hosts) {
      if (described.includes(host.name)) this.links.get(host.name)?.describe(host);
      if (!isNew(hosts, host.name)) continue;
      const link = this.#linked(host);
      this.links.set(host.name, link);
      this.#begin(link, (end) => link.run(end));
    }
    inOrder(this.links, next.hosts);
    await this.lease.follow([...this.links.values()]);
    for (const entry of config.sources) {
      const source = opened.get(entry.name);
      if (source !== undefined) this.sources.set(entry.name, this.#watched(entry, source));
    }
    inOrder(this.sources, config.sources);
    const begun = config.sets.filter(({ name }) => isNew(sets, name)).map((set) => this.#managed(set));
    for (const set of begun) this.sets.set(set.config.name, set);
    inOrder(this.sets, config.sets);
    await Promise.all([
      ...begun.map((set) => this.#join(set)),
      ...moved.map(async (name) => {
        const set = this.sets.get(name);
        await set?.changeHosts(this.#linksOf(set.config));
      }),
    ]);
    for (const link of leaving) await this.#endTask(link, 'the host left the configuration');
    for (const { name } of config.sources) {
      const { watch } = this.sources.get(name) ?? {};
      if (watch === undefined) continue;
      if (!this.#tasks.has(watch)) this.#begin(watch, (end) => watch.run(end));
      // Sets that began take its revision.
      else if (begun.some((set) => set.config.source === name)) watch.lookNow();
    }
    for (const set of this.sets.values())
      for (const host of set.hosts) if (host.status.status === 'waiting') host.look();
  }

  #begin(part: object, work: (signal: AbortSignal) => Promise<unknown>): void {
    this.#tasks.set(part, new Task(this.#end, work));
  }

  #beginSet(set: ManagedSet): void {
    this.#begin(set, (end) => Promise.all([set.run(end), this.#updatesOf(set)?.run(end)]));
  }

  async #join(set: ManagedSet): Promise<void> {
    const { name } = set.config;
    try {
      await set.load(this.#end);
      this.#beginSet(set);
    } catch (error) {
      this.#deps.hub.log('error', `the set does not begin: ${reasonOf(error)}`, { set: name });
    }
  }

  async #endSet(name: string, isRemoved: boolean): Promise<void> {
    const set = this.sets.get(name);
    if (set === undefined) return;
    const why = isRemoved ? 'The set left the configuration.' : 'The configuration of the set changed.';
    set.end(why);
    await this.#endTask(set, why);
  }

  async #endTask(part: object | undefined, why: string): Promise<void> {
    if (part === undefined) return;
    await this.#tasks.get(part)?.end(why);
    this.#tasks.delete(part);
  }

  #linksOf(set: SetConfig): readonly HostLink[] {
    return hostsOf(set, this.#configured.hosts).flatMap(({ name }) => this.links.get(name) ?? []);
  }

  #linked(host: Host): HostLink {
    const { hub } = this.#deps;
    return new HostLink(host, {
      // Hosts do not all look at the same time.
      intervalMs: () => Math.round(this.#intervalMs() * (0.85 + 0.3 * Math.random())),
      parallelism: this.#configured.config.parallelism,
      onStatus: (status) => {
        hub.log(
          status.status === 'offline' ? 'warn' : 'info',
          `the host is ${status.status}${status.message === undefined ? '' : `: ${status.message}`}`,
          { host: status.name },
        );
        hub.emit({ type: 'host', host: status });
      },
    });
  }

  #intervalMs(): number {
    return Math.min(...this.#configured.config.sets.map((set) => set.intervalMs));
  }

  #watched(entry: SourceConfig, source: Source): OpenSource {
    const { hub, nowMs } = this.#deps;
    const given = entry.git?.interval ?? entry.directory?.interval ?? entry.archive?.interval ?? entry.oci?.interval;
    const watch = new SourceWatch({
      source,
      intervalMs:
        (given === undefined ? undefined : durationMs(given)) ?? (entry.directory === undefined ? 60_000 : 2000),
      onRevision: async (found) => {
        const { revision, at, who, message } = found;
        const known = {
          revision,
          at,
          ...(who === undefined ? {} : { who }),
          ...(message === undefined ? {} : { message }),
        };
        const sets = [...this.sets.values()].filter(({ config }) => config.source === entry.name);
        await Promise.all(sets.map((set) => set.offer(known, this.#end)));
      },
      onStatus: (status) => hub.emit({ type: 'source', source: status }),
      onError: (message) => hub.log('error', message, { source: entry.name }),
      nowMs,
    });
    return { source, watch };
  }

  #managed(set: SetConfig): ManagedSet {
    const { hub, nowMs } = this.#deps;
    const { config } = this.#configured;
    const source = this.sources.get(set.source)?.source;
    if (source === undefined) throw new Error(`the set ${set.name} has no source`);
    return new ManagedSet({
      config: set,
      source,
      links: this.#linksOf(set),
      suspensions: this.suspensions,
      hub,
      isActive: () => this.lease.isActive,
      waitsFor: (needing, host) => this.#waitsFor(needing, host),
      onChange: (changed) => this.#wakeDependents(changed),
      notice: (notice, { name, notify }) => {
        if (notify.length > 0)
          this.#notifier?.notify(
            { ...notice, controller: config.name, set: name, at: new Date(nowMs()).toISOString() },
            notify,
          );
      },
      turn: (work) => this.#turns.take(work),
      controller: config.name,
      stateDir: config.stateDir,
      parallelism: config.parallelism,
      nowMs,
    });
  }

  #updatesOf(set: ManagedSet): ImageUpdates | undefined {
    const { config } = set;
    const { source, watch } = this.sources.get(config.source) ?? {};
    if (config.images === undefined || source === undefined) return undefined;
    const restraint = (): string | undefined =>
      this.lease.isActive ? suspensionOfSet(config, set.suspensions) : 'another controller is active';
    return new ImageUpdates({
      config,
      images: config.images,
      source,
      revision: () => watch?.status.revision,
      load: (revision, signal) => set.preview(revision, signal),
      client: (host) => {
        const link = this.links.get(host);
        return link?.isOnline === true ? link.client : undefined;
      },
      restraint,
      onPushed: () => watch?.lookNow(),
      log: (level, message) => this.#deps.hub.log(level, message, { set: config.name }),
      nowMs: this.#deps.nowMs,
    });
  }

  #waitsFor({ dependsOn }: SetConfig, host: string): string | undefined {
    const unready = dependsOn.filter((name) => {
      const hosts = this.sets.get(name)?.hosts ?? [];
      const same = hosts.filter((one) => one.name === host);
      return !(same.length > 0 ? same : hosts).every(({ isSynced }) => isSynced);
    });
    return unready.length === 0 ? undefined : `It waits until ${unready.join(' and ')} is synced.`;
  }

  #wakeDependents({ config }: ManagedSet): void {
    for (const set of this.sets.values())
      if (set.config.dependsOn.includes(config.name))
        for (const host of set.hosts) if (host.status.status === 'waiting') host.look();
  }

  async #forgetCheckouts(): Promise<void> {
    for (const [name, { source }] of this.sources) {
      const sets = [...this.sets.values()].filter(({ config }) => config.source === name);
      const offered = this.sources.get(name)?.watch.status.revision;
      const kept = new Set([
        ...sets.flatMap(({ revisions }) => revisions),
        ...(offered === undefined ? [] : [offered]),
      ]);
      await source.keepOnly(kept).catch(() => undefined);
    }
  }
}

const isNew = ({ added, changed }: Difference, name: string): boolean => added.includes(name) || changed.includes(name);

/** Those of the file, in its order: people and the lease read them so. */
function inOrder<T>(parts: Map<string, T>, entries: readonly { readonly name: string }[]): void {
  const before = new Map(parts);
  parts.clear();
  for (const { name } of entries) {
    const part = before.get(name);
    if (part !== undefined) parts.set(name, part);
  }
}
