// Serves one host to the page of `gantry ui`: observes it again at each event, and changes nothing.
import type { Client } from '../../../server/client/client.ts';
import { version } from '../../../server/api/version.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Document } from '../../core/documents/document.ts';
import { describeSeen, type LifecycleChange } from '../../core/drift/lifecycle-changes.ts';
import type { PlanOptions } from '../../core/plan/plan.ts';
import { observeAll } from '../../engine/observe/observe-all.ts';
import { makePlan } from '../../engine/runs/make-plan.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { Pins } from '../../manifest/image-pins.ts';
import { ControllerError, type Controller, type ObjectQuery } from '../controller.ts';
import { changedObjects, countsOf } from '../decide/object-status.ts';
import { HostLink } from '../hosts/host-link.ts';
import type { Hub } from '../hub.ts';
import type {
  ControllerEvent,
  DriftRecord,
  LogLevel,
  LogLine,
  ObjectDetail,
  ObjectPage,
  ObjectSummary,
  Overview,
  SetStatus,
  SetStatusName,
} from '../contract/index.ts';
import { DriftBook } from '../sets/on-host/drift-book.ts';
import { pageOf } from '../sets/object-page.ts';
import { seenDetail, seenObjects, type HostView, type SeenObject } from './seen-objects.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Manifests {
  readonly documents: readonly Document[];
  readonly pins: Pins;
  readonly options: PlanOptions;
  /** `stack.yaml:3:5: message`; with problems nothing is compared. */
  readonly problems: readonly string[];
}

export interface ViewerDeps {
  readonly host: Host;
  readonly connect: () => Promise<Client>;
  /** The set of the manifests, which is the only set of the page. */
  readonly set: string;
  /** Called again for each full observation. Absent: no manifests were given. */
  readonly manifests?: () => Promise<Manifests>;
  readonly hub: Hub;
  readonly nowMs: () => number;
}

/** Also the interval of reading the manifests again. */
const fullLookMs = 5000;
const maxDrift = 1000;

export class HostViewer implements Controller {
  readonly #deps: ViewerDeps;
  readonly #link: HostLink;
  readonly #startedAt: string;
  readonly #drift: DriftRecord[] = [];
  readonly #book: DriftBook;
  readonly #seen = new Map<string, LifecycleChange>();
  #manifests: Manifests | undefined;
  #view: HostView | undefined;
  #objects: ReadonlyMap<string, SeenObject> = new Map();
  #problem: string | undefined;
  #isDue: 'no' | 'objects' | 'manifests' = 'no';
  #working: Promise<void> | undefined;

  constructor(deps: ViewerDeps) {
    const { host, connect, hub, nowMs } = deps;
    this.#deps = deps;
    this.#startedAt = new Date(nowMs()).toISOString();
    this.#book = new DriftBook(host.name, (record) => this.#drifted(record));
    this.#link = new HostLink(host, {
      connect,
      intervalMs: () => fullLookMs,
      parallelism: 4,
      onStatus: (status) => {
        hub.log(status.status === 'offline' ? 'warn' : 'info', `the host is ${status.status}`, { host: status.name });
        hub.emit({ type: 'host', host: status });
      },
    });
  }

  /** Ends when `signal` fires; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#link.listen(({ seen, isWhole }) => {
      for (const one of seen) {
        this.#seen.set(one.address, one);
        this.#deps.hub.log('info', `${one.address}: ${describeSeen(one)}`, { host: this.#deps.host.name });
      }
      if (isWhole) this.#isDue = 'manifests';
      else if (this.#isDue === 'no') this.#isDue = 'objects';
      this.#working ??= this.#work(signal).finally(() => (this.#working = undefined));
    });
    await this.#link.run(signal);
    await this.#working;
  }

  overview(): Overview {
    const { host } = this.#deps;
    return {
      controller: { name: `gantry ui: ${host.name}`, version, startedAt: this.#startedAt, isActive: true },
      sources: [],
      hosts: [this.#link.status],
      sets: [this.#set()],
    };
  }

  objects(set: string, query: ObjectQuery = {}): ObjectPage {
    this.#requireSet(set);
    return pageOf([{ name: this.#deps.host.name, objects: this.#summaries() }], query);
  }

  async object(set: string, host: string, address: string): Promise<ObjectDetail> {
    this.#requireSet(set);
    const found = host === this.#deps.host.name ? this.#objects.get(address) : undefined;
    if (found === undefined || this.#view === undefined)
      throw new ControllerError('not-found', `there is no object ${address} on ${host}`);
    return seenDetail(this.#view, found);
  }

  drift(set: string, { since, limit = 500 }: { readonly since?: string; readonly limit?: number } = {}) {
    this.#requireSet(set);
    return this.#drift
      .filter(({ at }) => since === undefined || Date.parse(at) > Date.parse(since))
      .toReversed()
      .slice(0, limit);
  }

  /** Always empty, since the viewer changes nothing. */
  history(set: string): readonly [] {
    this.#requireSet(set);
    return [];
  }

  operations(): readonly [] {
    return [];
  }

  logs(query?: { readonly set?: string; readonly level?: LogLevel; readonly limit?: number }): readonly LogLine[] {
    return this.#deps.hub.lines(query);
  }

  sync = (): Promise<never> => refuse('gantry apply makes it true');
  suspend = (): Promise<never> => refuse('manage.ignore in a manifest leaves a field alone');
  resume = (): Promise<never> => refuse('nothing is suspended');
  rollback = (): Promise<never> => refuse('gantry rollback goes back to a revision');
  approve = (): Promise<never> => refuse('gantry apply asks before it deletes');
  approvePrune = (): Promise<never> => refuse('gantry apply --prune deletes what is no longer declared');
  preview = (): Promise<never> => refuse('gantry plan shows the plan of other manifests');

  lookAt(): boolean {
    return false;
  }

  async connection(host: string): Promise<Client> {
    if (host !== this.#deps.host.name) throw new ControllerError('not-found', `there is no host ${host}`);
    return this.#link.client;
  }

  isReady(): boolean {
    return this.#view !== undefined || this.#link.status.status === 'offline';
  }

  subscribe(listener: (event: ControllerEvent) => void): () => void {
    return this.#deps.hub.subscribe(listener);
  }

  /** Observes until nothing is due; observations never overlap. */
  async #work(signal: AbortSignal): Promise<void> {
    while (this.#isDue !== 'no' && !signal.aborted) {
      const isWhole = this.#isDue === 'manifests';
      this.#isDue = 'no';
      const before = JSON.stringify(this.#set());
      const old = this.#summaries();
      try {
        if (isWhole) this.#manifests = await this.#deps.manifests?.();
        this.#show(await this.#look(signal));
        this.#problem = undefined;
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = reasonOf(error);
      }
      this.#publishChanges(before, old);
    }
  }

  async #look(signal: AbortSignal): Promise<HostView> {
    const { host, set, nowMs } = this.#deps;
    const { project } = host;
    const documents = this.#manifests?.problems.length === 0 ? this.#manifests.documents : undefined;
    const asked = { documents: documents ?? [], set, nowMs: nowMs() };
    const observed = await observeAll(this.#link.reader(), asked, signal, project);
    if (documents === undefined || this.#manifests === undefined)
      return { host: host.name, observed, hasProblems: this.#manifests !== undefined };
    const { options, pins } = this.#manifests;
    const { plan } = makePlan(observed, { ...asked, documents, options, mode: 'apply', images: pins });
    const errors = plan.diagnostics.filter(({ severity }) => severity === 'error');
    if (errors.length > 0)
      this.#manifests = {
        ...this.#manifests,
        problems: errors.map(({ address = '', message }) => `${address} ${message}`.trim()),
      };
    if (errors.length > 0) return { host: host.name, observed, hasProblems: true };
    return { host: host.name, observed, declared: { plan, documents } };
  }

  #show(view: HostView): void {
    this.#view = view;
    this.#objects = seenObjects(view);
    const changes = view.declared?.plan.changes ?? [];
    const open = changes.filter(({ address }) => this.#objects.get(address)?.summary.status === 'drifted');
    this.#book.update(
      open.map(({ address, changes: differences }) => ({
        object: { address, differences },
        action: 'reported' as const,
      })),
      this.#seen,
      this.#deps.nowMs(),
    );
    if (this.#seen.size > 2000) this.#seen.clear();
  }

  /** Publishes only what changed. */
  #publishChanges(before: string, old: ReadonlyMap<string, ObjectSummary>): void {
    const { hub, set } = this.#deps;
    const { changed, gone } = changedObjects(old, this.#summaries());
    for (const object of changed) hub.emit({ type: 'object', set, object });
    for (const object of gone) hub.emit({ type: 'object', set, object, isGone: true });
    const now = this.#set();
    if (JSON.stringify(now) !== before) hub.emit({ type: 'set', set: now });
  }

  #drifted(record: DriftRecord): void {
    const known = this.#drift.findIndex(({ id }) => id === record.id);
    if (known >= 0) this.#drift[known] = record;
    else this.#drift.push(record);
    if (this.#drift.length > maxDrift) this.#drift.shift();
    this.#deps.hub.emit({ type: 'drift', set: this.#deps.set, drift: record });
  }

  #summaries(): ReadonlyMap<string, ObjectSummary> {
    return new Map([...this.#objects].map(([address, { summary }]) => [address, summary]));
  }

  #set(): SetStatus {
    const { host, set, manifests } = this.#deps;
    const problems = this.#manifests?.problems ?? [];
    const counts = countsOf(this.#summaries().values());
    const status = this.#status(counts.drifted, counts.failed);
    const message =
      this.#problem ??
      (manifests === undefined ? 'No manifests were given: all of this is what the host has.' : undefined);
    return {
      name: set,
      source: '',
      mode: 'report',
      status,
      ...withoutUndefined({ message }),
      problems: [...problems],
      hosts: [{ host: host.name, status, ...withoutUndefined({ error: this.#problem }), objects: counts }],
      suspensions: [],
      dependsOn: [],
    };
  }

  #status(drifted: number, failed: number): SetStatusName {
    if (this.#problem !== undefined || (this.#manifests?.problems.length ?? 0) > 0) return 'failed';
    if (!this.#link.isOnline || this.#view?.declared === undefined) return 'unknown';
    return failed > 0 ? 'failed' : drifted > 0 ? 'drifted' : 'synced';
  }

  #requireSet(name: string): void {
    if (name !== this.#deps.set) throw new ControllerError('not-found', `there is no set ${name}`);
  }
}

const refuse = async (instead: string): Promise<never> => {
  throw new ControllerError('conflict', `gantry ui only shows the host: ${instead}`);
};
