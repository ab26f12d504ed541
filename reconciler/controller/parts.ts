// The hosts, sources and sets in use: starts them, and replaces those that a new configuration changes.
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { pause } from '../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import type { Host } from '../manifest/hosts-file.ts';
import type { SetConfig, SourceConfig } from './config/config.ts';
import { GeneratorWork } from './generators/generator-work.ts';
import type { HostLink } from './hosts/host-link.ts';
import { AskedNotes } from './hosts/asked-notes.ts';
import { Lease } from './hosts/lease.ts';
import { steadyClock } from './hosts/steady-clock.ts';
import type { Notifier } from './notify/notice.ts';
import { gone, isNew, type ConfigChanges, type Configuration } from './reload/changes.ts';
import { inOrder } from './reload/in-order.ts';
import { Tasks } from './tasks/tasks.ts';
import type { ManagedSet } from './sets/managed-set.ts';
import { StoredSet } from './sets/stored-set.ts';
import { Asked } from './sets/asked.ts';
import type { Source } from './sources/source.ts';
import { Wiring, type EngineDeps, type OpenSource, type PartsInUse } from './wiring.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

const keepMs = 3_600_000;
/** How long sets wait for the first answers of the sources. */
const sourcesMs = 4000;
const closeMs = 5000;
const noteMs = 5000;

export class Parts implements PartsInUse {
  readonly links = new Map<string, HostLink>();
  readonly sources = new Map<string, OpenSource>();
  readonly sets = new Map<string, ManagedSet>();
  readonly asked: Asked;
  readonly lease: Lease;
  readonly generators: GeneratorWork;
  readonly #deps: EngineDeps;
  readonly #end: AbortSignal;
  readonly #wiring: Wiring;
  /** By link, watch or set. */
  readonly #tasks: Tasks;
  #configured: Configuration;
  #isInCharge = false;
  #term = new AbortController();
  #notifier: Notifier | undefined;

  /** `onFound`: called when the generators' sets change. */
  constructor(deps: EngineDeps, end: AbortSignal, onFound: () => void) {
    const { config, hosts, hub, nowMs, completed } = deps;
    this.#deps = deps;
    this.#configured = { config, hosts, ...withoutUndefined({ generated: completed }) };
    this.#notifier = deps.notifier;
    this.#end = end;
    // Each task of a host, source or set adds a listener; Node warns from the eleventh on.
    setMaxListeners(0, end);
    this.#tasks = new Tasks(end);
    this.#wiring = new Wiring(deps, this, end);
    this.generators = new GeneratorWork({
      generated: deps.generated,
      config: () => this.#configured.config,
      sources: this.sources,
      isInCharge: () => this.isInCharge,
      onFound,
      tasks: this.#tasks,
      hub,
      end,
    });
    const inState = (file: string): string => join(config.stateDir, file);
    const noted = new AskedNotes(config.name, () => this.lease.hosts);
    this.asked = new Asked(inState('asked.json'), noted, inState('suspensions.json'));
    for (const host of hosts) this.links.set(host.name, this.#wiring.link(host));
    for (const entry of config.sources) this.sources.set(entry.name, this.#wiring.watched(entry, deps.open(entry)));
    for (const set of config.sets) this.sets.set(set.name, this.#wiring.set(set));
    this.lease = new Lease({
      name: config.name,
      links: [...this.links.values()],
      nowMs,
      steadyMs: steadyClock(nowMs, () => performance.now()),
      onChange: (isActive) => {
        hub.log(
          'info',
          isActive ? 'this controller is active' : 'another controller is active, or the lock was lost; this one waits',
        );
        this.#isInCharge = false;
        this.#term.abort(new Error('this controller is no longer the active one'));
        if (!isActive) return;
        this.#term = new AbortController();
        void this.#takeOver(this.#term.signal);
      },
    });
  }

  get isInCharge(): boolean {
    return this.#isInCharge && this.lease.isActive;
  }

  get term(): AbortSignal {
    this.lease.look();
    return this.#term.signal;
  }

  /** Reloads the state, which another active controller may have changed. */
  async #takeOver(term: AbortSignal): Promise<void> {
    const { hub } = this.#deps;
    try {
      await Promise.all([this.asked.load(), this.#deps.generated.load()]);
      if (!(await this.#recall())) return;
    } catch (error) {
      return hub.log('error', `this controller changes nothing until it is restarted: ${reasonOf(error)}`);
    }
    // Waits for the sources, so that hosts are not rolled back to an outdated revision.
    const checked = [...this.sources.values()].map(({ watch }) => watch.checked);
    await Promise.race([Promise.all(checked), pause(sourcesMs, this.#end).catch(() => undefined)]);
    await Promise.all([...this.sets.values()].map((set) => this.#takeOverSet(set)));
    if (term.aborted) return;
    this.#isInCharge = true;
    this.generators.begin();
    for (const { watch } of this.sources.values()) watch.lookNow();
    for (const set of this.sets.values()) {
      set.lookAll();
      this.generators.setChanged(set);
    }
  }

  /** Loads people's requests before anything is changed. */
  async #recall(): Promise<boolean> {
    while (this.lease.isActive && !this.#end.aborted)
      try {
        for (const { set, by, reason } of await this.asked.recall())
          this.#deps.hub.log(
            'warn',
            `the approval by ${by} (${reason}) was made by an older version and has ended: approve again`,
            { set },
          );
        return true;
      } catch (error) {
        this.#deps.hub.log('warn', `${reasonOf(error)}; nothing is changed until they can be read`);
        await pause(noteMs, this.#end).catch(() => undefined);
      }
    return false;
  }

  async #noteAgain(): Promise<void> {
    if (this.isInCharge) await this.asked.noteAgain().catch(() => undefined);
  }

  async #takeOverSet(set: ManagedSet): Promise<void> {
    await set.takeOver(this.#end).catch((error: unknown) => {
      this.#deps.hub.log('error', `the set cannot be worked on: ${reasonOf(error)}`, { set: set.config.name });
    });
  }

  get configured(): Configuration {
    return this.#configured;
  }

  get notifier(): Notifier | undefined {
    return this.#notifier;
  }

  /** Reads the state. Rejects when it is damaged. */
  async load(): Promise<void> {
    await this.asked.load();
    await Promise.all([...this.sets.values()].map((set) => set.load()));
  }

  /** Runs until the controller ends. */
  async run(): Promise<void> {
    const signal = this.#end;
    const keep = setInterval(() => void this.#forgetCheckouts(), keepMs);
    const note = setInterval(() => void this.#noteAgain(), noteMs);
    signal.addEventListener('abort', () => [keep, note].forEach(clearInterval), { once: true });
    for (const link of this.links.values()) this.#tasks.begin(link, (end) => link.run(end));
    await this.#linkTenants();
    for (const { watch } of this.sources.values()) this.#tasks.begin(watch, (end) => watch.run(end));
    for (const set of this.sets.values()) this.#beginSet(set);
    await this.generators.watchRequests();
    await this.lease.run(signal);
    await this.#tasks.ended();
    await this.#notifier?.close(closeMs);
  }

  /**
   * Replaces only the parts that differ. Throws before any change if a new source or state cannot be used; calls `take` once
   * nothing can fail any more.
   */
  async change(next: Configuration, changes: ConfigChanges, take: () => Notifier | undefined): Promise<void> {
    const { config } = next;
    const opened = await this.#open(next, changes);
    if (this.isInCharge && next.generated !== undefined) await this.#deps.generated.keep(next.generated.made);
    const notifier = take();
    await this.#endGone(changes);
    this.#configured = next;
    if (changes.notifications) {
      void this.#notifier?.close(closeMs);
      this.#notifier = notifier;
    }
    const leaving = gone(changes.hosts).flatMap((name) => this.links.get(name) ?? []);
    this.#takeHosts(next.hosts, changes);
    await this.lease.follow([...this.links.values()]);
    this.asked.moved();
    for (const [entry, source] of opened) this.sources.set(entry.name, this.#wiring.watched(entry, source));
    inOrder(this.sources, config.sources);
    const begun = await this.#takeSets(config.sets, changes);
    for (const link of leaving) await this.#tasks.end(link, 'the host left the configuration');
    await this.#linkTenants();
    this.#watchSources(begun);
    await this.generators.watchRequests();
    for (const set of this.sets.values()) set.lookWaiting();
  }

  /** Keeps a connection for each tenant certificate that a set uses. */
  async #linkTenants(): Promise<void> {
    const { tenantLinks } = this.#wiring;
    const used = new Set([...this.sets.values()].flatMap(({ hosts }) => hosts.map(({ link }) => link)));
    for (const link of tenantLinks.keepOnly(used)) await this.#tasks.end(link, 'no set of the tenant uses it');
    for (const link of tenantLinks.all) if (!this.#tasks.has(link)) this.#tasks.begin(link, (end) => link.run(end));
  }

  /** Opens new sources. Throws if one of them, or the state of a new set, cannot be used. */
  async #open({ config }: Configuration, changes: ConfigChanges): Promise<ReadonlyMap<SourceConfig, Source>> {
    const entries = config.sources.filter(({ name }) => isNew(changes.sources, name));
    const opened = new Map(entries.map((entry) => [entry, this.#deps.open(entry)]));
    for (const name of changes.sets.added) await new StoredSet(config.stateDir, name).load();
    return opened;
  }

  async #endGone({ sets, sources }: ConfigChanges): Promise<void> {
    await Promise.all(gone(sets).map((name) => this.#endSet(name, sets.removed.includes(name))));
    for (const name of gone(sources)) await this.#tasks.end(this.sources.get(name)?.watch, 'the source changed');
  }

  #takeHosts(entries: readonly Host[], { hosts, described }: ConfigChanges): void {
    for (const host of entries) {
      if (described.includes(host.name)) this.links.get(host.name)?.describe(host);
      if (!isNew(hosts, host.name)) continue;
      const link = this.#wiring.link(host);
      this.links.set(host.name, link);
      this.#tasks.begin(link, (end) => link.run(end));
    }
    inOrder(this.links, entries);
  }

  /** Returns the sets that began. */
  async #takeSets(entries: readonly SetConfig[], { sets, moved }: ConfigChanges): Promise<readonly ManagedSet[]> {
    const begun = entries.filter(({ name }) => isNew(sets, name)).map((set) => this.#wiring.set(set));
    for (const set of begun) this.sets.set(set.config.name, set);
    inOrder(this.sets, entries);
    await Promise.all([
      ...begun.map((set) => this.#join(set)),
      ...moved.map(async (name) => {
        const set = this.sets.get(name);
        await set?.changeHosts(this.#wiring.linksOf(set.config));
      }),
    ]);
    return begun;
  }

  /** Starts new sources; checks the others again for new sets, which need their revision. */
  #watchSources(begun: readonly ManagedSet[]): void {
    for (const [name, { watch }] of this.sources)
      if (!this.#tasks.has(watch)) this.#tasks.begin(watch, (end) => watch.run(end));
      else if (begun.some((set) => set.config.source === name) || this.generators.isAbout(name)) watch.lookNow();
  }

  #beginSet(set: ManagedSet): void {
    this.#tasks.begin(set, (end) => Promise.all([set.run(end), this.#wiring.updatesOf(set)?.run(end)]));
  }

  async #join(set: ManagedSet): Promise<void> {
    const { name } = set.config;
    try {
      await set.load();
      this.#beginSet(set);
      if (this.isInCharge) await set.takeOver(this.#end);
      this.generators.setChanged(set);
    } catch (error) {
      this.#deps.hub.log('error', `the set does not begin: ${reasonOf(error)}`, { set: name });
    }
  }

  async #endSet(name: string, isRemoved: boolean): Promise<void> {
    const set = this.sets.get(name);
    if (set === undefined) return;
    const why = isRemoved ? 'The set left the configuration.' : 'The configuration of the set changed.';
    set.end(why);
    await this.#tasks.end(set, why);
    if (isRemoved) await Promise.all([this.generators.ended(set), set.release()]);
  }

  async #forgetCheckouts(): Promise<void> {
    for (const [name, { source, watch }] of this.sources) {
      const sets = [...this.sets.values()].filter(({ config }) => config.source === name);
      const kept = [watch.status.revision ?? [], ...sets.map(({ revisions }) => revisions)].flat();
      await source.keepOnly(new Set(kept)).catch(() => undefined);
    }
  }
}
