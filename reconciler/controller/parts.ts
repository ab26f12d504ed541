// The hosts, sources and sets of a config, wired to one another: a source offers revisions to its sets, sets wait for sets, all stop
// while another controller is active.
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { matchesHost } from '../core/documents/host-pattern.ts';
import type { Host } from '../manifest/hosts-file.ts';
import type { ControllerConfig, SetConfig, SourceConfig } from './config/config.ts';
import { durationMs } from './config/durations.ts';
import { suspensionOfSet } from './decide/set-view.ts';
import { HostLink } from './hosts/host-link.ts';
import { Lease } from './hosts/lease.ts';
import type { Hub } from './hub.ts';
import type { Notifier } from './notify/notice.ts';
import { ImageUpdates } from './sets/image-updates.ts';
import { ManagedSet } from './sets/managed-set.ts';
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

export class Parts {
  readonly links: ReadonlyMap<string, HostLink>;
  readonly sources: ReadonlyMap<string, { readonly source: Source; readonly watch: SourceWatch }>;
  readonly sets: ReadonlyMap<string, ManagedSet>;
  readonly suspensions: Suspensions;
  readonly lease: Lease;
  readonly #deps: EngineDeps;
  readonly #end: AbortSignal;

  constructor(deps: EngineDeps, end: AbortSignal) {
    const { config, hosts, hub, nowMs } = deps;
    this.#deps = deps;
    this.#end = end;
    // All hosts and sets listen to it.
    setMaxListeners(0, end);
    this.suspensions = new Suspensions(join(config.stateDir, 'suspensions.json'));
    const intervalMs = Math.min(...config.sets.map((set) => set.intervalMs));
    this.links = new Map(
      hosts.map((host) => [
        host.name,
        new HostLink(host, {
          // Hosts do not all look at the same time.
          intervalMs: () => Math.round(intervalMs * (0.85 + 0.3 * Math.random())),
          parallelism: config.parallelism,
          onStatus: (status) => {
            hub.log(
              status.status === 'offline' ? 'warn' : 'info',
              `the host is ${status.status}${status.message === undefined ? '' : `: ${status.message}`}`,
              { host: status.name },
            );
            hub.emit({ type: 'host', host: status });
          },
        }),
      ]),
    );
    this.sources = new Map(config.sources.map((entry) => [entry.name, this.#watched(entry)]));
    const turns = new Turns(plansAtOnce);
    this.sets = new Map(config.sets.map((set) => [set.name, this.#managed(set, turns)]));
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
    await Promise.all([
      ...[...this.links.values()].map((link) => link.run(signal)),
      ...[...this.sources.values()].map(({ watch }) => watch.run(signal)),
      ...[...this.sets.values()].map((set) => set.run(signal)),
      ...[...this.sets.values()].map((set) => this.#updatesOf(set)?.run(signal)),
      this.lease.run(signal),
    ]);
  }

  #watched(entry: SourceConfig): { readonly source: Source; readonly watch: SourceWatch } {
    const { hub, nowMs, open } = this.#deps;
    const source = open(entry);
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

  #managed(set: SetConfig, turns: Turns): ManagedSet {
    const { config, hub, notifier, nowMs } = this.#deps;
    const source = this.sources.get(set.source)?.source;
    if (source === undefined) throw new Error(`the set ${set.name} has no source`);
    const isOurs = ({ host }: HostLink): boolean =>
      set.hosts.length === 0 || set.hosts.some((pattern) => matchesHost(pattern, host));
    return new ManagedSet({
      config: set,
      source,
      links: [...this.links.values()].filter(isOurs),
      suspensions: this.suspensions,
      hub,
      isActive: () => this.lease.isActive,
      waitsFor: (needing, host) => this.#waitsFor(needing, host),
      onChange: (changed) => this.#wakeDependents(changed),
      notice: (notice, { name, notify }) => {
        if (notify.length > 0)
          notifier?.notify(
            { ...notice, controller: config.name, set: name, at: new Date(nowMs()).toISOString() },
            notify,
          );
      },
      turn: (work) => turns.take(work),
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
