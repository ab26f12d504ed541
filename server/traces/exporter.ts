// Makes spans with OpenTelemetry and sends them: a separate provider, batches, OTLP over HTTP with JSON. Spans that the collector refuses
// are dropped, and the reason is reported once; nothing waits for them. This file loads OpenTelemetry: import it only when needed.
import { setTimeout as pause } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Context,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { hostname } from 'node:os';
import { version } from '../api/version.ts';
import { reasonOf } from '../lib/shared/reason.ts';
import type { Span, SpanOptions, Tracer } from '../lib/shared/spans.ts';
import type { SpanPlace } from '../lib/shared/traceparent.ts';
import type { TraceTarget } from './target.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

const batchMs = 1000;
const maxWaiting = 2000;
const timeoutMs = 10_000;
/** Time limit at the end of the process. */
const lastMs = 2000;
const longestValue = 1024;

export class TraceExporter implements Tracer {
  readonly #provider: TracerProvider;
  readonly #tracer: OtelTracer;

  /** `onProblem`: called once per reason why spans are refused. */
  constructor(target: TraceTarget, onProblem: (message: string) => void) {
    const batches = new BatchSpanProcessor({
      exporter: reporting(target, onProblem),
      scheduledDelayMillis: batchMs,
      maxQueueSize: maxWaiting,
      exportTimeoutMillis: timeoutMs,
    });
    const share = new TraceIdRatioBasedSampler(target.ratio);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': target.service,
        'service.version': version,
        'host.name': hostname(),
      }),
      sampler: target.ignoresParent ? share : new ParentBasedSampler({ root: share }),
      spanLimits: { attributeValueLengthLimit: longestValue },
      spanProcessors: [batches],
    });
    this.#tracer = this.#provider.getTracer('gantry', version);
  }

  begin(name: string, { kind, parent, attributes, startMs }: SpanOptions = {}): Span {
    const options = {
      kind: kind === 'server' ? SpanKind.SERVER : kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
      ...withoutUndefined({ attributes, startTime: startMs }),
    };
    return spanOf(this.#tracer.startSpan(name, options, contextOf(parent)));
  }

  /** Sends pending spans; gives up soon if the collector does not answer. */
  async close(): Promise<void> {
    const sent = this.#provider.shutdown().catch(() => undefined);
    await Promise.race([sent, pause(lastMs, undefined, { ref: false })]);
  }
}

function contextOf(parent: SpanPlace | undefined): Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, isSampled } = parent;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function spanOf(span: OtelSpan): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  let isEnded = false;
  return {
    place: { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 },
    get isEnded() {
      return isEnded;
    },
    set: (name, value) => void span.setAttribute(name, value),
    end(failure, atMs) {
      if (isEnded) return;
      isEnded = true;
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      span.end(atMs);
    },
  };
}

function reporting({ url, headers }: TraceTarget, onProblem: (message: string) => void): SpanExporter {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: timeoutMs });
  let known: string | undefined;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const problem = result.error === undefined ? undefined : reasonOf(result.error);
        if (problem !== undefined && problem !== known)
          onProblem(`traces are not sent to ${new URL(url).host}: ${problem}`);
        known = problem;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}
