// A fake engine: answers with the data of a test, and records requests.
import type { Client } from '../../../server/client/client.ts';
import { ControllerError, type Controller, type Person } from '../../../reconciler/controller/controller.ts';
import type {
  ControllerEvent,
  DriftRecord,
  LogLine,
  ObjectDetail,
  ObjectSummary,
  Operation,
  Overview,
  Preview,
  RunRecord,
  SetStatus,
  Suspension,
} from '../../../reconciler/controller/contract/index.ts';

const at = '2030-01-31T12:00:00Z';

export const aSet = (name: string, more: Partial<SetStatus> = {}): SetStatus => ({
  name,
  source: 'main',
  mode: 'heal',
  status: 'synced',
  revision: 'c0ffee',
  problems: [],
  hosts: [
    {
      host: 'h1',
      status: 'synced',
      appliedRevision: 'c0ffee',
      lastSyncAt: at,
      objects: { total: 3, synced: 2, drifted: 1, failed: 0 },
    },
  ],
  suspensions: [],
  dependsOn: [],
  ...more,
});

export const anObject = (name: string, more: Partial<ObjectSummary> = {}): ObjectSummary => ({
  host: 'h1',
  address: `container/${name}`,
  kind: 'container',
  name,
  status: 'synced',
  dependsOn: [],
  ...more,
});

export const anOperation = (set: string, more: Partial<Operation> = {}): Operation => ({
  id: 'run-1',
  set,
  kind: 'sync',
  status: 'running',
  startedAt: at,
  by: 'test',
  hosts: [{ host: 'h1', status: 'running', steps: { total: 2, done: 1, failed: 0 }, current: [] }],
  ...more,
});

export interface Asked {
  readonly what: string;
  readonly set: string;
  readonly request: unknown;
  readonly by?: string;
}

export class FakeController implements Controller {
  sets: SetStatus[] = [aSet('web')];
  items: ObjectSummary[] = [anObject('web1'), anObject('web2')];
  driftRecords: DriftRecord[] = [];
  runs: RunRecord[] = [];
  lines: LogLine[] = [];
  previewed: Partial<Preview> = {};
  isNowReady = true;
  details: Partial<ObjectDetail> = {};
  /** Thrown by the next query of an object. */
  broken: Error | undefined;
  readonly asked: Asked[] = [];
  readonly listeners = new Set<(event: ControllerEvent) => void>();
  readonly #connect: (host: string) => Promise<Client>;

  constructor(connect?: (host: string) => Promise<Client>) {
    this.#connect = connect ?? ((host) => Promise.reject(new ControllerError('unavailable', `${host} is offline`)));
  }

  overview(): Overview {
    return {
      controller: { name: 'main', version: '0.1.0', startedAt: at, isActive: true },
      sources: [{ name: 'main', kind: 'git', url: 'https://git.test/repo', revision: 'c0ffee', checkedAt: at }],
      hosts: [{ name: 'h1', labels: { role: 'web' }, status: 'online' }],
      sets: this.sets,
    };
  }

  objects(set: string, query: Parameters<Controller['objects']>[1] = {}) {
    this.#find(set);
    const matching = this.items.filter(({ status }) => query.status === undefined || query.status === status);
    const first = Number(query.after ?? 0);
    const end = first + (query.limit ?? 1000);
    const objects = matching.slice(first, end);
    return { objects, total: matching.length, ...(end < matching.length ? { next: String(end) } : {}) };
  }

  async object(set: string, host: string, address: string) {
    this.#find(set);
    if (this.broken !== undefined) throw this.broken;
    const summary = this.items.find((one) => one.host === host && one.address === address);
    if (summary === undefined) throw new ControllerError('not-found', `The set ${set} has no ${address} on ${host}`);
    return { summary, differences: [], suspensions: [], history: [], ...this.details };
  }

  drift(set: string) {
    this.#find(set);
    return this.driftRecords;
  }

  history(set: string) {
    this.#find(set);
    return this.runs;
  }

  operations() {
    return [anOperation('web')];
  }

  logs() {
    return this.lines;
  }

  async sync(set: string, request: unknown, by: string) {
    return this.#start('sync', set, request, by);
  }

  async suspend(set: string, request: { readonly reason: string }, by: string): Promise<Suspension> {
    this.#start('suspend', set, request, by);
    return { id: 's1', set, by, since: at, ...request };
  }

  async resume(set: string, request: unknown, by: string) {
    this.#start('resume', set, request, by);
    return { resumed: ['s1'] };
  }

  async rollback(set: string, request: unknown, by: string) {
    return this.#start('rollback', set, request, by);
  }

  async approvePrune(set: string, request: unknown, by: string) {
    return this.#start('prune', set, request, by);
  }

  async approve(set: string, request: { readonly revision: string; readonly reason: string }, { name }: Person) {
    this.#start('approve', set, request, name);
    return { id: 'a1', revision: request.revision, by: name, reason: request.reason, at, until: at };
  }

  async preview(set: string, request: { readonly ref: string }) {
    this.#start('preview', set, request);
    return { revision: request.ref, problems: [], hosts: [], ...this.previewed };
  }

  lookAt(source: string) {
    this.asked.push({ what: 'look', set: source, request: undefined });
    return source === 'main';
  }

  connection(host: string) {
    return this.#connect(host);
  }

  isReady() {
    return this.isNowReady;
  }

  subscribe(listener: (event: ControllerEvent) => void) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  emit(event: ControllerEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  #find(set: string): void {
    if (!this.sets.some(({ name }) => name === set))
      throw new ControllerError('not-found', `There is no set ${JSON.stringify(set)}`);
  }

  #start(what: string, set: string, request: unknown, by?: string): Operation {
    this.#find(set);
    this.asked.push({ what, set, request, ...(by === undefined ? {} : { by }) });
    return anOperation(set, { by: by ?? '' });
  }
}
