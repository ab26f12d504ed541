// The engine of a controller: answers the API's queries about hosts, sources and sets, and carries out its requests.
import type { Client } from '../../server/client/client.ts';
import { version } from '../../server/api/version.ts';
import { ControllerError, type Controller, type ObjectQuery, type Person } from './controller.ts';
import type {
  ApprovalStatus,
  ApproveRequest,
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
  PruneRequest,
  ResumeRequest,
  Resumed,
  RollbackRequest,
  RunRecord,
  SuspendRequest,
  Suspension,
  SyncRequest,
} from './contract/index.ts';
import type { ManagedSet } from './sets/managed-set.ts';
import type { Notifier } from './notify/notice.ts';
import { changesBetween, changesText, type ConfigChanges, type Configuration } from './reload/changes.ts';
import { Parts } from './parts.ts';
import { wasLookedAt } from './decide/set-view.ts';
import { objectDetail } from './sets/object-detail.ts';
import { pageOf } from './sets/object-page.ts';
import { previewOf, revisionOf } from './sets/preview.ts';
import { ConcurrencyLimit } from '../../server/lib/shared/concurrency-limit.ts';
import type { EngineDeps } from './wiring.ts';
import type { ControllerConfig } from './config/config.ts';
import type { Completed } from './generators/generated-sets.ts';
import type { Host } from '../manifest/hosts-file.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import { namesText } from '../../server/api/text/names-text.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export class Engine implements Controller {
  readonly #deps: EngineDeps;
  readonly #startedAt: string;
  readonly #end = new AbortController();
  readonly #parts: Parts;
  #note: { readonly readAt: string; readonly problems: readonly string[] };
  readonly #changes = new ConcurrencyLimit(1);
  #running: Promise<unknown> | undefined;
  #wasReady = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#startedAt = new Date(deps.nowMs()).toISOString();
    this.#note = { readAt: this.#startedAt, problems: [] };
    this.#parts = new Parts(deps, this.#end.signal, () => void this.#regenerate());
  }

  /** Reads the state and starts the work. Rejects when the state is damaged. */
  async start(): Promise<void> {
    await this.#parts.load();
    this.#running = this.#parts.run();
  }

  /** Waits for running steps. */
  async close(): Promise<void> {
    this.#end.abort(new Error('the controller ends'));
    await this.#running;
    await this.#deps.hub.tracing?.close();
  }

  get configured(): Configuration {
    return this.#parts.configured;
  }

  /** Serializes changes of the configuration. */
  async reconfigure<T>(work: (old: Configuration) => Promise<T>): Promise<T> {
    return this.#changes.run(() => work(this.configured));
  }

  /** Adds the sets of generators. */
  complete(config: ControllerConfig, hosts: readonly Host[]): Completed {
    return this.#deps.generated.complete(config, hosts);
  }

  /** Takes new results of the generators. */
  async #regenerate(): Promise<void> {
    const { hub } = this.#deps;
    await this.reconfigure(async (old) => {
      if (this.#end.signal.aborted) return;
      const generated = this.complete(old.generated?.written ?? old.config, old.hosts);
      const next = { config: generated.config, hosts: old.hosts, generated };
      const changes = changesBetween(old, next);
      const text = changesText(changes);
      if (text !== '') hub.log('info', `generators changed the configuration: ${text}`);
      await this.change(next, changes, () => undefined);
    }).catch((error: unknown) => hub.log('error', `the sets of generators cannot be made: ${reasonOf(error)}`));
  }

  /** Switches to another configuration, within `reconfigure`. */
  async change(next: Configuration, changes: ConfigChanges, take: () => Notifier | undefined): Promise<void> {
    // Remembers readiness before new parts start as not ready.
    this.isReady();
    await this.#parts.change(next, changes, take);
    this.#note = { ...this.#note, readAt: this.#now() };
  }

  /** Why the newest configuration is not in use; empty: it is. */
  set configProblems(problems: readonly string[]) {
    this.#note = { ...this.#note, problems };
  }

  #now(): string {
    return new Date(this.#deps.nowMs()).toISOString();
  }

  overview(): Overview {
    const { config } = this.#parts.configured;
    const { holder, isActive } = this.#parts.lease;
    return {
      controller: {
        name: config.name,
        version,
        startedAt: this.#startedAt,
        isActive,
        ...withoutUndefined({ holder }),
        config: {
          readAt: this.#note.readAt,
          problems: [...this.#note.problems, ...(this.#parts.configured.generated?.problems ?? [])],
        },
      },
      sources: [...this.#parts.sources.values()].map(({ watch }) => watch.status),
      hosts: [...this.#parts.links.values()].map(({ status }) => status),
      sets: [...this.#parts.sets.values()].map(({ status }) => status),
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
    return [...this.#parts.sets.values()]
      .flatMap(({ operations }) => operations)
      .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  }

  logs(query: { readonly set?: string; readonly level?: LogLevel; readonly limit?: number } = {}): readonly LogLine[] {
    return this.#deps.hub.lines(query);
  }

  async sync(set: string, { hosts, reason, takeOver = false }: SyncRequest, by: string): Promise<Operation> {
    this.#requireActive();
    const found = this.#set(set, hosts);
    this.#parts.sources.get(found.config.source)?.watch.lookNow();
    await found.approvals.noteAsker(by);
    if (takeOver) await found.takeFromOther(hosts, by);
    return found.sync(hosts, reason === undefined ? 'sync' : `sync: ${reason}`, by);
  }

  async suspend(set: string, request: SuspendRequest, by: string): Promise<Suspension> {
    this.#refuseBeside();
    const found = this.#set(set);
    if (request.path !== undefined && request.address === undefined)
      throw new ControllerError('bad-request', 'a path needs the address of its object');
    if (request.until !== undefined && !(Date.parse(request.until) > this.#deps.nowMs()))
      throw new ControllerError('bad-request', `until is ${request.until}, which is in the past`);
    requireHosts(found, request.host === undefined ? undefined : [request.host]);
    const made = await this.#parts.asked.add(set, request, by, this.#deps.nowMs());
    this.#deps.hub.log('info', `${by} suspended ${request.address ?? 'the set'}: ${request.reason}`, { set });
    found.lookAll();
    return made;
  }

  async resume(set: string, { id }: ResumeRequest, by: string): Promise<Resumed> {
    this.#refuseBeside();
    const found = this.#set(set);
    const isPin = (id === undefined || id === 'rollback') && (await found.unpin(by, this.#end.signal));
    if (isPin) await found.approvals.noteAsker(by);
    const ended = id === 'rollback' ? [] : await this.#parts.asked.end(set, id);
    if (!isPin && ended.length === 0 && id !== undefined)
      throw new ControllerError('not-found', `the set ${set} has no suspension ${id}`);
    this.#deps.hub.log('info', `${by} resumed the set`, { set });
    found.lookAll();
    return { resumed: [...ended.map((one) => one.id), ...(isPin ? ['rollback'] : [])] };
  }

  async rollback(set: string, request: RollbackRequest, by: string): Promise<Operation> {
    this.#requireActive();
    return this.#set(set, request.hosts).rollback({ ...request, by }, this.#end.signal);
  }

  async approvePrune(set: string, request: PruneRequest, by: string): Promise<Operation> {
    this.#requireActive();
    return this.#set(set).approvals.approvePrune(request, by);
  }

  async approve(set: string, request: ApproveRequest, who: Person): Promise<ApprovalStatus> {
    this.#requireActive();
    return this.#set(set, request.hosts).approvals.approve(request, who, this.#end.signal);
  }

  async preview(set: string, { ref, hosts }: PreviewRequest, signal: AbortSignal = this.#end.signal): Promise<Preview> {
    const found = this.#set(set, hosts);
    const source = this.#parts.sources.get(found.config.source)?.source;
    const chosen = found.hosts.filter(({ name }) => hosts === undefined || hosts.includes(name));
    return previewOf(found, await revisionOf(found, source, ref, signal), chosen, signal);
  }

  lookAt(source: string): boolean {
    const found = this.#parts.sources.get(source);
    found?.watch.lookNow();
    this.#parts.generators.lookAt(source);
    return found !== undefined;
  }

  async connection(host: string): Promise<Client> {
    const link = this.#parts.links.get(host);
    if (link === undefined) throw new ControllerError('not-found', `there is no host ${host}`);
    return link.client;
  }

  /** Stays true once it was true: a new configuration does not stop the controller's work. */
  isReady(): boolean {
    this.#wasReady ||= this.#hasBegun();
    return this.#wasReady;
  }

  #hasBegun(): boolean {
    const { lease, isInCharge, sets, sources } = this.#parts;
    // Another controller is active, or none can be: nothing more will happen here.
    if (!lease.isActive) return lease.isDecided;
    if (!isInCharge) return false;
    return [...sets.values()].every(({ config, status, hosts }) => {
      const away = new Set(hosts.flatMap(({ name, link }) => (link.status.status === 'offline' ? [name] : [])));
      return wasLookedAt(status, sources.get(config.source)?.watch.status.error, (host) => away.has(host));
    });
  }

  subscribe(listener: (event: ControllerEvent) => void): () => void {
    return this.#deps.hub.subscribe(listener);
  }

  #requireActive(): void {
    this.#refuseBeside();
    if (this.#parts.isInCharge) return;
    const { unreachable } = this.#parts.lease;
    const why = unreachable.length === 0 ? '' : `: ${unreachable.join(', ')} cannot be reached`;
    throw new ControllerError('unavailable', `this controller is not active yet${why}; try again when it is`);
  }

  /** Refuses requests while another controller is active, since they would have no effect. */
  #refuseBeside(): void {
    const { isTaken, holder } = this.#parts.lease;
    if (isTaken) throw new ControllerError('unavailable', `${holder ?? 'another controller'} is active: ask it`);
  }

  /** `hosts`: the set must have these. */
  #set(name: string, hosts?: readonly string[]): ManagedSet {
    const set = this.#parts.sets.get(name);
    if (set === undefined)
      throw new ControllerError(
        'not-found',
        `there is no set ${name}: there are ${namesText([...this.#parts.sets.keys()], 10)}`,
      );
    requireHosts(set, hosts);
    return set;
  }
}

function requireHosts({ config, hosts }: ManagedSet, wanted: readonly string[] | undefined): void {
  const unknown = (wanted ?? []).find((name) => !hosts.some((host) => host.name === name));
  if (unknown === undefined) return;
  const known = namesText(
    hosts.map(({ name }) => name),
    10,
  );
  throw new ControllerError('not-found', `the set ${config.name} has no host ${unknown}: it has ${known}`);
}
