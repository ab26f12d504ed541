// One run of a set on one host or several: the progress of each host, and the record for the history.
import { randomBytes } from 'node:crypto';
import type { RunResult } from '../../engine/run-result.ts';
import type { EngineEvent } from '../../engine/steps/events.ts';
import type { Plan } from '../../core/plan/plan.ts';
import type { Tracer } from '../../../server/lib/shared/spans.ts';
import type { Hub } from '../hub.ts';
import type { Operation, RunRecord } from '../contract/index.ts';
import { RunTrace, type ComparisonTime } from '../traces/run-trace.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface RunStart {
  readonly kind: Operation['kind'];
  readonly revision: string;
  readonly previousRevision?: string;
  readonly by: string;
  readonly reason: string;
  readonly message?: string;
  /** The comparison that led to it. */
  readonly planned?: ComparisonTime;
}

/** Where the news and the traces of a run go. */
export type RunHub = Pick<Hub, 'emit' | 'isHeard'> & { readonly tracing?: Tracer | undefined };

type HostWork = Operation['hosts'][number];

const quietMs = 200;

export class Run {
  readonly id = randomBytes(6).toString('hex');
  readonly start: RunStart;
  readonly #set: string;
  readonly #atMs: number;
  readonly #store: (record: RunRecord) => void;
  readonly #hub: RunHub;
  readonly #hosts = new Map<string, HostWork>();
  readonly #changes: { create: number; update: number; delete: number } = { create: 0, update: 0, delete: 0 };
  #outcome: RunRecord['outcome'] = 'running';
  #endedMs: number | undefined;
  #message: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #trace: RunTrace | undefined;

  constructor(set: string, start: RunStart, nowMs: number, store: (record: RunRecord) => void, hub: RunHub) {
    this.#set = set;
    this.start = start;
    this.#atMs = nowMs;
    this.#store = store;
    this.#hub = hub;
    this.#message = start.message;
    const { kind, revision, by, planned } = start;
    if (hub.tracing !== undefined)
      this.#trace = new RunTrace(hub.tracing, { id: this.id, set, kind, revision, by }, planned);
    store(this.record);
  }

  get isEnded(): boolean {
    return this.#endedMs !== undefined;
  }

  get record(): RunRecord {
    const { revision, previousRevision, by, reason } = this.start;
    return {
      id: this.id,
      at: new Date(this.#atMs).toISOString(),
      ...(this.#endedMs === undefined ? {} : { endedAt: new Date(this.#endedMs).toISOString() }),
      revision,
      ...withoutUndefined({ previousRevision }),
      by,
      reason,
      outcome: this.#outcome,
      hosts: [...this.#hosts.keys()],
      changes: { ...this.#changes },
      ...withoutUndefined({ message: this.#message }),
    };
  }

  get operation(): Operation {
    const { kind, revision, by } = this.start;
    const hosts = [...this.#hosts.values()];
    const isAtWork = hosts.some(({ status }) => status === 'running');
    return {
      id: this.id,
      set: this.#set,
      kind,
      status: this.isEnded ? endedStatus(this.#outcome) : isAtWork ? 'running' : 'waiting',
      startedAt: new Date(this.#atMs).toISOString(),
      ...(this.#endedMs === undefined ? {} : { endedAt: new Date(this.#endedMs).toISOString() }),
      revision,
      by,
      ...withoutUndefined({ message: this.#message }),
      hosts,
    };
  }

  /** Adds a host to the run. */
  include(host: string): void {
    if (this.#hosts.has(host)) return;
    this.#hosts.set(host, { host, status: 'waiting', steps: { total: 0, done: 0, failed: 0 }, current: [] });
    this.#changed();
  }

  /** The comparison of a host, as a part of the trace of this run. */
  planning<T>(host: string, work: () => Promise<T>): Promise<T> {
    return this.#trace === undefined ? work() : this.#trace.plan(host, work);
  }

  /** The changes on a host, as a part of the trace of this run. */
  onHost<T>(host: string, work: () => Promise<T>): Promise<T> {
    return this.#trace === undefined ? work() : this.#trace.onHost(host, work);
  }

  hostBegan(host: string, plan: Plan): void {
    this.include(host);
    this.#put(host, { status: 'running', steps: { total: plan.steps.length, done: 0, failed: 0 }, current: [] });
  }

  event(host: string, event: EngineEvent): void {
    const work = this.#hosts.get(host);
    if (work === undefined) return;
    const { id } = event.step;
    const { steps, current } = work;
    const others = current.filter((one) => one !== id);
    if (event.type === 'apply_start') this.#put(host, { current: [...others, id].slice(-20) });
    if (event.type === 'apply_complete')
      this.#put(host, { current: others, steps: { ...steps, done: steps.done + 1 } });
    if (event.type === 'apply_errored')
      this.#put(host, { current: others, steps: { ...steps, failed: steps.failed + 1 } });
  }

  hostEnded(host: string, plan: Plan | undefined, result: RunResult | undefined, failure?: string): void {
    this.#trace?.hostEnded(host, failure);
    const made = countChanges(plan, result);
    this.#changes.create += made.create;
    this.#changes.update += made.update;
    this.#changes.delete += made.delete;
    const message = failure === undefined ? {} : { message: failure };
    this.#put(host, { status: failure === undefined ? 'done' : 'failed', current: [], ...message });
  }

  end(outcome: Exclude<RunRecord['outcome'], 'running'>, nowMs: number, message?: string): void {
    if (this.isEnded) return;
    this.#outcome = outcome;
    this.#endedMs = nowMs;
    this.#message = message ?? this.#message;
    this.#trace?.ended(outcome, this.#message);
    this.#store(this.record);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#hub.emit({ type: 'run', operation: this.operation });
  }

  #put(host: string, part: Partial<HostWork>): void {
    const work = this.#hosts.get(host);
    if (work !== undefined) this.#hosts.set(host, { ...work, ...part });
    this.#changed();
  }

  /** Tells listeners the newest state a few times a second, since runs may have many steps. */
  #changed(): void {
    if (this.#timer !== undefined || this.isEnded || !this.#hub.isHeard) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#hub.emit({ type: 'run', operation: this.operation });
    }, quietMs);
    this.#timer.unref();
  }
}

function countChanges(plan: Plan | undefined, result: RunResult | undefined): RunRecord['changes'] {
  const done = new Set(result?.done);
  const made = (plan?.changes ?? []).filter(({ steps }) => steps.length > 0 && steps.every((id) => done.has(id)));
  const count = (...actions: readonly string[]): number => made.filter(({ action }) => actions.includes(action)).length;
  return {
    create: count('create', 'replace'),
    update: made.filter(({ action, power }) => action === 'update' || (action === 'no-op' && power !== undefined))
      .length,
    delete: count('delete', 'replace'),
  };
}

const endedStatus = (outcome: RunRecord['outcome']): Operation['status'] =>
  outcome === 'done' || outcome === 'rolled-back'
    ? 'done'
    : outcome === 'cancelled'
      ? 'cancelled'
      : outcome === 'partial'
        ? 'done'
        : 'failed';
