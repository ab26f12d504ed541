// The controller: hosts, sources and sets of a config, and what its API shows of them and asks of them.
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import type { Client } from '../../server/client/client.ts';
import { version } from '../../server/api/version.ts';
import { matchesHost } from '../core/documents/host-pattern.ts';
import type { Host } from '../manifest/hosts-file.ts';
import type { ControllerConfig, SetConfig, SourceConfig } from './config/config.ts';
import { suspensionOfSet } from './decide/set-view.ts';
import { durationMs } from './config/durations.ts';
import { ControllerError, type Controller, type ObjectQuery } from './controller.ts';
import { HostLink } from './hosts/host-link.ts';
import { Lease } from './hosts/lease.ts';
import type { Hub } from './hub.ts';
import type {
  ControllerEvent,
  DriftRecord,
  LogLevel,
  LogLine,
  ObjectDetail,
  ObjectPage,
  Operation,
  Overview,
  Preview,
  PreviewRequest,
  ResumeRequest,
  Resumed,
  RollbackRequest,
  RunRecord,
  SuspendRequest,
  Suspension,
  SyncRequest,
} from './http/contract.ts';
import type { Notifier } from './notify/notice.ts';
import { ImageUpdates } from './sets/image-updates.ts';
import { ManagedSet } from './sets/managed-set.ts';
import { objectDetail } from './sets/object-detail.ts';
import { pageOf } from './sets/object-page.ts';
import { previewOn } from './sets/preview.ts';
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

export class Engine implements Controller {
  readonly #deps: EngineDeps;
  readonly #startedAt: string;
  readonly #end = new AbortController();
  readonly #links: ReadonlyMap<string, HostLink>;
  readonly #sources: ReadonlyMap<string, { readonly source: Source; readonly watch: SourceWatch }>;
  readonly #sets: ReadonlyMap<string, ManagedSet>;
  readonly #suspensions: Suspensions;
  readonly #lease: Lease;
  #running: Promise<unknown> | undefined;

  constructor(deps: EngineDeps) {
    const { config, hosts, hub, nowMs } = deps;
    this.#deps = deps;
    // All hosts and sets listen to it.
    setMaxListeners(0, this.#end.signal);
    this.#startedAt = new Date(nowMs()).toISOString();
    this.#suspensions = new Suspensions(join(config.stateDir, 'suspensions.json'));
    const intervalMs = Math.min(...config.sets.map((set) => set.intervalMs));
    this.#links = new Map(
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
    this.#sources = new Map(config.sources.map((entry) => [entry.name, this.#watched(entry)]));
    const turns = new Turns(plansAtOnce);
    this.#sets = new Map(config.sets.map((set) => [set.name, this.#managed(set, turns)]));
    this.#lease = new Lease({
      name: config.name,
      links: [...this.#links.values()],
      nowMs,
      onChange: (isActive) => {
        hub.log(
          'info',
          isActive ? 'this controller is active' : 'another controller is active, or the lock was lost; this one waits',
        );
        if (isActive) for (const set of this.#sets.values()) set.lookAll();
      },
    });
  }

  /** Reads the state and starts the work. Rejects when the state is damaged. */
  async start(): Promise<void> {
    const { signal } = this.#end;
    await this.#suspensions.load();
    // Hosts get their last good manifests before the sources are asked.
    await Promise.all([...this.#sets.values()].map((set) => set.load(signal)));
    const keep = setInterval(() => void this.#forgetCheckouts(), keepMs);
    signal.addEventListener('abort', () => clearInterval(keep), { once: true });
    this.#running = Promise.all([
      ...[...this.#links.values()].map((link) => link.run(signal)),
      ...[...this.#sources.values()].map(({ watch }) => watch.run(signal)),
      ...[...this.#sets.values()].map((set) => set.run(signal)),
      ...[...this.#sets.values()].map((set) => this.#updatesOf(set)?.run(signal)),
      this.#lease.run(signal),
    ]);
  }

  /** Steps at work end first. */
  async close(): Promise<void> {
    this.#end.abort(new Error('the controller ends'));
    await this.#running;
    await this.#deps.notifier?.close(5000);
    await this.#deps.hub.tracing?.close();
  }

  overview(): Overview {
    const { config } = this.#deps;
    const { holder, isActive } = this.#lease;
    return {
      controller: {
        name: config.name,
        version,
        startedAt: this.#startedAt,
        isActive,
        ...(holder === undefined ? {} : { holder }),
      },
      sources: [...this.#sources.values()].map(({ watch }) => watch.status),
      hosts: [...this.#links.values()].map(({ status }) => status),
      sets: [...this.#sets.values()].map(({ status }) => status),
    };
  }

  objects(set: string, query: ObjectQuery = {}): ObjectPage {
    return pageOf(this.#set(set).hosts, query);
  }

  async object(set: string, host: string, address: string): Promise<ObjectDetail> {
    const found = this.#set(set);
    const on = found.hosts.find(({ name }) => name === host);
    if (on === undefined) throw new ControllerError('not-found', `the set ${set} has no host ${host}`);
    return objectDetail(found, on, address);
  }

  drift(
    set: string,
    { since, limit = 500 }: { readonly since?: string; readonly limit?: number } = {},
  ): readonly DriftRecord[] {
    const records = this.#set(set).drift.list(since === undefined ? limit : Number.MAX_SAFE_INTEGER);
    return records.filter(({ at }) => since === undefined || Date.parse(at) > Date.parse(since)).slice(0, limit);
  }

  history(set: string, { limit = 100 }: { readonly limit?: number } = {}): readonly RunRecord[] {
    return this.#set(set).history(limit);
  }

  operations(): readonly Operation[] {
    return [...this.#sets.values()]
      .flatMap(({ operations }) => operations)
      .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  }

  logs(query: { readonly set?: string; readonly level?: LogLevel; readonly limit?: number } = {}): readonly LogLine[] {
    return this.#deps.hub.lines(query);
  }

  async sync(set: string, { hosts, reason }: SyncRequest, by: string): Promise<Operation> {
    this.#requireActive();
    const found = this.#set(set);
    requireHosts(found, hosts);
    this.#sources.get(found.config.source)?.watch.lookNow();
    return found.sync(hosts, reason === undefined ? 'sync' : `sync: ${reason}`, by);
  }

  async suspend(set: string, request: SuspendRequest, by: string): Promise<Suspension> {
    const found = this.#set(set);
    if (request.path !== undefined && request.address === undefined)
      throw new ControllerError('bad-request', 'a path needs the address of its object');
    if (request.until !== undefined && !(Date.parse(request.until) > this.#deps.nowMs()))
      throw new ControllerError('bad-request', `until is ${request.until}, which is over`);
    requireHosts(found, request.host === undefined ? undefined : [request.host]);
    const made = await this.#suspensions.add(set, request, by, this.#deps.nowMs());
    this.#deps.hub.log('info', `${by} suspended ${request.address ?? 'the set'}: ${request.reason}`, { set });
    found.lookAll();
    return made;
  }

  async resume(set: string, { id }: ResumeRequest, by: string): Promise<Resumed> {
    const found = this.#set(set);
    const isPin = (id === undefined || id === 'rollback') && (await found.unpin(by, this.#end.signal));
    const ended = id === 'rollback' ? [] : await this.#suspensions.end(set, id);
    if (!isPin && ended.length === 0 && id !== undefined)
      throw new ControllerError('not-found', `the set ${set} has no suspension ${id}`);
    this.#deps.hub.log('info', `${by} resumed the set`, { set });
    found.lookAll();
    return { resumed: [...ended.map((one) => one.id), ...(isPin ? ['rollback'] : [])] };
  }

  async rollback(set: string, { revision, reason, hosts }: RollbackRequest, by: string): Promise<Operation> {
    this.#requireActive();
    const found = this.#set(set);
    requireHosts(found, hosts);
    return found.rollback(revision, reason, by, hosts, this.#end.signal);
  }

  async preview(set: string, { ref, hosts }: PreviewRequest, signal: AbortSignal = this.#end.signal): Promise<Preview> {
    const found = this.#set(set);
    requireHosts(found, hosts);
    const source = this.#sources.get(found.config.source)?.source;
    const known = found.revisions.find((revision) => revision.startsWith(ref) && ref.length >= 7);
    const revision = known ?? (await source?.resolve?.(ref, signal))?.revision;
    if (revision === undefined)
      throw new ControllerError(
        'not-found',
        `the source ${found.config.source} has no revision ${ref}, and only git sources have branches`,
      );
    const loaded = await found.preview(revision, signal);
    const chosen = found.hosts.filter(({ name }) => hosts === undefined || hosts.includes(name));
    const plans =
      loaded.problems.length > 0
        ? []
        : await Promise.all(chosen.map((host) => previewOn(host, loaded.hosts.get(host.name), found.config, signal)));
    return { revision, problems: loaded.problems.map((message) => ({ message })), hosts: plans };
  }

  lookAt(source: string): boolean {
    const found = this.#sources.get(source);
    found?.watch.lookNow();
    return found !== undefined;
  }

  async connection(host: string): Promise<Client> {
    const link = this.#links.get(host);
    if (link === undefined) throw new ControllerError('not-found', `there is no host ${host}`);
    return link.client;
  }

  isReady(): boolean {
    if (this.#lease.isTaken) return true;
    return [...this.#sets.values()].every(({ status }) =>
      status.hosts.every(
        (host) => host.status !== 'unknown' || this.#links.get(host.host)?.status.status === 'offline',
      ),
    );
  }

  subscribe(listener: (event: ControllerEvent) => void): () => void {
    return this.#deps.hub.subscribe(listener);
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
        const sets = [...this.#sets.values()].filter(({ config }) => config.source === entry.name);
        await Promise.all(sets.map((set) => set.offer(known, this.#end.signal)));
      },
      onStatus: (status) => hub.emit({ type: 'source', source: status }),
      onError: (message) => hub.log('error', message, { source: entry.name }),
      nowMs,
    });
    return { source, watch };
  }

  #managed(set: SetConfig, turns: Turns): ManagedSet {
    const { config, hub, notifier, nowMs } = this.#deps;
    const source = this.#sources.get(set.source)?.source;
    if (source === undefined) throw new Error(`the set ${set.name} has no source`);
    const isOurs = ({ host }: HostLink): boolean =>
      set.hosts.length === 0 || set.hosts.some((pattern) => matchesHost(pattern, host));
    return new ManagedSet({
      config: set,
      source,
      links: [...this.#links.values()].filter(isOurs),
      suspensions: this.#suspensions,
      hub,
      isActive: () => this.#lease.isActive,
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
    const { source, watch } = this.#sources.get(config.source) ?? {};
    if (config.images === undefined || source === undefined) return undefined;
    const restraint = (): string | undefined =>
      this.#lease.isActive ? suspensionOfSet(config, set.suspensions) : 'another controller is active';
    return new ImageUpdates({
      config,
      images: config.images,
      source,
      revision: () => watch?.status.revision,
      load: (revision, signal) => set.preview(revision, signal),
      client: (host) => {
        const link = this.#links.get(host);
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
      const hosts = this.#sets.get(name)?.hosts ?? [];
      const same = hosts.filter((one) => one.name === host);
      return !(same.length > 0 ? same : hosts).every(({ isSynced }) => isSynced);
    });
    return unready.length === 0 ? undefined : `It waits until ${unready.join(' and ')} is synced.`;
  }

  #wakeDependents({ config }: ManagedSet): void {
    for (const set of this.#sets.values())
      if (set.config.dependsOn.includes(config.name))
        for (const host of set.hosts) if (host.status.status === 'waiting') host.look();
  }

  async #forgetCheckouts(): Promise<void> {
    for (const [name, { source }] of this.#sources) {
      const sets = [...this.#sets.values()].filter(({ config }) => config.source === name);
      const offered = this.#sources.get(name)?.watch.status.revision;
      const kept = new Set([
        ...sets.flatMap(({ revisions }) => revisions),
        ...(offered === undefined ? [] : [offered]),
      ]);
      await source.keepOnly(kept).catch(() => undefined);
    }
  }

  #requireActive(): void {
    const { isActive, holder } = this.#lease;
    if (!isActive) throw new ControllerError('unavailable', `${holder ?? 'another controller'} is active: ask it`);
  }

  #set(name: string): ManagedSet {
    const set = this.#sets.get(name);
    if (set === undefined) throw new ControllerError('not-found', `there is no set ${name}`);
    return set;
  }
}

function requireHosts({ config, hosts }: ManagedSet, wanted: readonly string[] | undefined): void {
  const unknown = (wanted ?? []).find((name) => !hosts.some((host) => host.name === name));
  if (unknown !== undefined) throw new ControllerError('not-found', `the set ${config.name} has no host ${unknown}`);
}
