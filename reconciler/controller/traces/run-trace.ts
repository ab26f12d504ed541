// The spans of a run: the run, each host in it, each step on that host.
import { ROOT_CONTEXT, SpanStatusCode, trace, type Span, type Tracer } from '@opentelemetry/api';
import type { EngineEvent } from '../../engine/steps/events.ts';

export interface RunFacts {
  readonly id: string;
  readonly set: string;
  readonly kind: string;
  readonly revision: string;
  readonly by: string;
}

export class RunTrace {
  readonly #tracer: Tracer;
  readonly #run: Span;
  readonly #hosts = new Map<string, Span>();
  /** By host and step. */
  readonly #steps = new Map<string, { readonly span: Span; readonly operations: Set<string> }>();

  constructor(tracer: Tracer, { id, set, kind, revision, by }: RunFacts) {
    this.#tracer = tracer;
    const attributes = { 'gantry.set': set, 'gantry.run': id, 'gantry.by': by, 'vcs.ref.head.revision': revision };
    this.#run = tracer.startSpan(`${kind} ${set}`, { root: true, attributes });
  }

  hostBegan(host: string): void {
    this.#hosts.set(host, this.#begin(this.#run, `host ${host}`, { 'gantry.host': host }));
  }

  event(host: string, event: EngineEvent): void {
    const parent = this.#hosts.get(host);
    if (parent === undefined) return;
    const { id, action, address } = event.step;
    const key = `${host} ${id}`;
    if (event.type === 'apply_start') {
      const attributes = { 'gantry.object': address, 'gantry.action': action, 'gantry.host': host };
      const span = this.#begin(parent, `${action} ${address}`, attributes);
      this.#steps.set(key, { span, operations: new Set() });
    }
    const step = this.#steps.get(key);
    if (step === undefined) return;
    if (event.type === 'operation_update') step.operations.add(event.operation.id);
    if (event.type !== 'apply_complete' && event.type !== 'apply_errored') return;
    this.#steps.delete(key);
    if (step.operations.size > 0) step.span.setAttribute('gantry.operation', [...step.operations].join(' '));
    end(step.span, event.type === 'apply_errored' ? event.failure.why : undefined);
  }

  hostEnded(host: string, failure: string | undefined): void {
    const span = this.#hosts.get(host);
    if (span === undefined) return;
    this.#hosts.delete(host);
    end(span, failure);
  }

  ended(outcome: string, message: string | undefined): void {
    this.#run.setAttribute('gantry.outcome', outcome);
    end(this.#run, outcome === 'failed' || outcome === 'partial' ? (message ?? outcome) : undefined);
  }

  #begin(parent: Span, name: string, attributes: Readonly<Record<string, string>>): Span {
    return this.#tracer.startSpan(name, { attributes }, trace.setSpan(ROOT_CONTEXT, parent));
  }
}

function end(span: Span, failure: string | undefined): void {
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end();
}
