// The OpenTelemetry pieces that make and send spans: a provider of its own, batches, OTLP over HTTP with JSON. What the collector does not take is dropped, and said once.
import { setTimeout as pause } from 'node:timers/promises';
import type { Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace';
import { version } from '../../../server/api/version.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { RunTrace, type RunFacts } from './run-trace.ts';

export interface TraceTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
}

const batchMs = 1000;
const mostWaiting = 2000;
const timeoutMs = 10_000;
/** Of the end of the controller. */
const lastMs = 2000;

export class TraceExporter {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  /** `onProblem`: why spans are not taken, once for each reason. */
  constructor({ url, headers, service }: TraceTarget, onProblem: (message: string) => void) {
    const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: timeoutMs });
    let known: string | undefined;
    const telling: SpanExporter = {
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
    const batches = new BatchSpanProcessor({
      exporter: telling,
      scheduledDelayMillis: batchMs,
      maxQueueSize: mostWaiting,
      exportTimeoutMillis: timeoutMs,
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': service, 'service.version': version }),
      spanProcessors: [batches],
    });
    this.#tracer = this.#provider.getTracer('gantry', version);
  }

  begin(facts: RunFacts): RunTrace {
    return new RunTrace(this.#tracer, facts);
  }

  /** Sends what waits; a collector that does not answer is given up soon. */
  async close(): Promise<void> {
    const sent = this.#provider.shutdown().catch(() => undefined);
    await Promise.race([sent, pause(lastMs, undefined, { ref: false })]);
  }
}
