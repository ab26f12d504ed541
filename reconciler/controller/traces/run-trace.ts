// The spans of a run: the run, each host in it, each step on that host, as OpenTelemetry names and links them. Pure but for ids and the clock of its caller.
import { randomBytes } from 'node:crypto';
import type { EngineEvent } from '../../engine/steps/events.ts';

type Value = string | number;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, Value>>;
  /** Why it failed. */
  readonly error?: string;
}

export interface RunFacts {
  readonly id: string;
  readonly set: string;
  readonly kind: string;
  readonly revision: string;
  readonly by: string;
}

interface Open {
  readonly spanId: string;
  readonly startMs: number;
}

export class RunTrace {
  readonly #facts: RunFacts;
  readonly #send: (span: Span) => void;
  readonly #nowMs: () => number;
  readonly #traceId = randomBytes(16).toString('hex');
  readonly #root: Open;
  readonly #hosts = new Map<string, Open>();
  /** By host and step. */
  readonly #steps = new Map<string, Open & { readonly operations: Set<string> }>();

  constructor(facts: RunFacts, send: (span: Span) => void, nowMs: () => number) {
    this.#facts = facts;
    this.#send = send;
    this.#nowMs = nowMs;
    this.#root = this.#open();
  }

  hostBegan(host: string): void {
    this.#hosts.set(host, this.#open());
  }

  event(host: string, event: EngineEvent): void {
    const key = `${host} ${event.step.id}`;
    if (event.type === 'apply_start') this.#steps.set(key, { ...this.#open(), operations: new Set() });
    const step = this.#steps.get(key);
    const parent = this.#hosts.get(host);
    if (step === undefined || parent === undefined) return;
    if (event.type === 'operation_update') step.operations.add(event.operation.id);
    if (event.type !== 'apply_complete' && event.type !== 'apply_errored') return;
    this.#steps.delete(key);
    const { action, address } = event.step;
    const operations = [...step.operations].join(' ');
    const attributes = {
      'gantry.object': address,
      'gantry.action': action,
      'gantry.host': host,
      ...(operations === '' ? {} : { 'gantry.operation': operations }),
    };
    const error = event.type === 'apply_errored' ? event.failure.why : undefined;
    this.#close(step, parent, `${action} ${address}`, attributes, error);
  }

  hostEnded(host: string, failure: string | undefined): void {
    const open = this.#hosts.get(host);
    if (open === undefined) return;
    this.#hosts.delete(host);
    this.#close(open, this.#root, `host ${host}`, { 'gantry.host': host }, failure);
  }

  ended(outcome: string, message: string | undefined): void {
    const { id, set, kind, revision, by } = this.#facts;
    const attributes = {
      'gantry.set': set,
      'gantry.run': id,
      'gantry.by': by,
      'gantry.outcome': outcome,
      'vcs.ref.head.revision': revision,
    };
    const error = outcome === 'failed' || outcome === 'partial' ? (message ?? outcome) : undefined;
    this.#close(this.#root, undefined, `${kind} ${set}`, attributes, error);
  }

  #open(): Open {
    return { spanId: randomBytes(8).toString('hex'), startMs: this.#nowMs() };
  }

  #close(
    { spanId, startMs }: Open,
    parent: Open | undefined,
    name: string,
    attributes: Span['attributes'],
    error: string | undefined,
  ): void {
    this.#send({
      traceId: this.#traceId,
      spanId,
      ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
      name,
      startMs,
      endMs: this.#nowMs(),
      attributes,
      ...(error === undefined ? {} : { error }),
    });
  }
}
