// The span that is under way: spans of work inside it are its children, in the same call chain and without being passed along.
// Without a span under way nothing here costs anything. Tracers that record spans are in server/traces.
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorText } from './reason.ts';
import { renderTraceparent, type SpanPlace } from './traceparent.ts';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  readonly kind?: 'server' | 'client';
  /** Default: the span is the first of a trace. */
  readonly parent?: SpanPlace;
  readonly attributes?: Attributes;
  /** When it began, as of Date.now(); default: now. */
  readonly startMs?: number;
}

export interface Span {
  readonly place: SpanPlace;
  readonly isEnded: boolean;
  set(name: string, value: string | number | boolean): void;
  /** `failure` is why the work failed; `atMs` when it ended, as of Date.now(), default now. Only the first end counts. */
  end(failure?: string, atMs?: number): void;
}

export interface Tracer {
  begin(name: string, options?: SpanOptions): Span;
}

interface Current {
  readonly tracer: Tracer;
  readonly span: Span;
}

const storage = new AsyncLocalStorage<Current>();

/** A watch that outlives the span which began it belongs to none. */
function current(): Current | undefined {
  const found = storage.getStore();
  return found === undefined || found.span.isEnded ? undefined : found;
}

export const currentSpan = (): Span | undefined => current()?.span;

/** The header for a request that is sent now. */
export function currentTraceparent(): string | undefined {
  const span = currentSpan();
  return span === undefined ? undefined : renderTraceparent(span.place);
}

/** Runs the work with this span under way; its end is the caller's. */
export const underSpan = <T>(tracer: Tracer, span: Span, work: () => T): T => storage.run({ tracer, span }, work);

/** Runs the work without a span under way: what it begins is shared, or outlives the work that came first. */
export const outsideSpans = <T>(work: () => T): T => storage.exit(work);

/** Runs the work as a span of its own inside the one under way; just runs it without one. */
export async function inSpan<T>(
  name: string,
  options: Omit<SpanOptions, 'parent'>,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const found = current();
  if (found === undefined) return work(undefined);
  const { tracer } = found;
  return endingSpan(tracer, tracer.begin(name, { ...options, parent: found.span.place }), work);
}

/** Runs the work with the span under way, and ends it with the work. */
export async function endingSpan<T>(tracer: Tracer, span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await underSpan(tracer, span, () => work(span));
  } catch (error) {
    span.end(errorText(error));
    throw error;
  } finally {
    span.end();
  }
}
