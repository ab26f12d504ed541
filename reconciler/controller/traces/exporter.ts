// Sends spans to an OpenTelemetry collector: OTLP over HTTP with JSON bodies, in batches. What the collector does not take is dropped, and said once.
import { version } from '../../../server/api/version.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { RunTrace, type RunFacts, type Span } from './run-trace.ts';

export interface ExporterDeps {
  /** The URL that takes traces. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  readonly nowMs: () => number;
  readonly onProblem: (message: string) => void;
}

const batchMs = 1000;
const mostWaiting = 2000;
const timeoutMs = 10_000;

export class TraceExporter {
  readonly #deps: ExporterDeps;
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #problem: string | undefined;

  constructor(deps: ExporterDeps) {
    this.#deps = deps;
  }

  begin(facts: RunFacts): RunTrace {
    return new RunTrace(facts, (span) => this.#take(span), this.#deps.nowMs);
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#flush();
    await this.#sending;
  }

  #take(span: Span): void {
    if (this.#waiting.length >= mostWaiting) return;
    this.#waiting.push(span);
    this.#timer ??= setTimeout(() => this.#flush(), batchMs).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    const spans = this.#waiting;
    this.#waiting = [];
    if (spans.length > 0) this.#sending = this.#sending.then(() => this.#send(spans));
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { url, headers, service, onProblem } = this.#deps;
    try {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'error',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(otlpOf(spans, service)),
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      this.#problem = undefined;
    } catch (error) {
      const text = `traces are not sent to ${new URL(url).host}: ${reasonOf(error)}`;
      if (text !== this.#problem) onProblem(text);
      this.#problem = text;
    }
  }
}

function otlpOf(spans: readonly Span[], service: string): object {
  const resource = { attributes: attributesOf({ 'service.name': service, 'service.version': version }) };
  return {
    resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'gantry', version }, spans: spans.map(spanOf) }] }],
  };
}

const internal = 1;
const failed = 2;

const spanOf = ({ startMs, endMs, attributes, error, ...ids }: Span): object => ({
  ...ids,
  kind: internal,
  startTimeUnixNano: nanoseconds(startMs),
  endTimeUnixNano: nanoseconds(endMs),
  attributes: attributesOf(attributes),
  status: error === undefined ? {} : { code: failed, message: error },
});

/** More digits than a number of JavaScript has. */
const nanoseconds = (ms: number): string => `${Math.round(ms)}000000`;

const attributesOf = (attributes: Readonly<Record<string, string | number>>): readonly object[] =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));
