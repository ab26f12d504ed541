// The current span: spans of work inside it are its children, in the same call chain and without being passed along. Without a current span
// nothing here costs anything. Tracers that record spans are in server/traces.
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
  /** `failure` is why the work failed; `atMs` when it ended, as of Date.now(), default now. Later calls have no effect. */
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

/** A watch that outlives the span which began it has none. */
function current(): Current | undefined {
  const found = storage.getStore();
  return found === undefined || found.span.isEnded ? undefined : found;
}

export const currentSpan = (): Span | undefined => current()?.span;

/** The header for a request sent now. */
export function currentTraceparent(): string | undefined {
  const span = currentSpan();
  return span === undefined ? undefined : renderTraceparent(span.place);
}

/** Runs the work within this span, which the caller ends. */
export const underSpan = <T>(tracer: Tracer, span: Span, work: () => T): T => storage.run({ tracer, span }, work);

/** Runs the work without a current span: what it begins is shared, or outlives the work that came first. */
export const outsideSpans = <T>(work: () => T): T => storage.exit(work);

/** Runs the work as a child of the current span; without one just runs it. */
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

/** Runs the work within the span, and ends the span with it. */
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
