// The contract of a wire dialect: how a result or an error becomes status, headers and body.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import type { AppError } from '../../api/errors.ts';
import type { Event } from '../../api/event.ts';
import type { Operation } from '../../api/operation.ts';

export interface RenderedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** An envelope. Absent: no body at all. */
  readonly body?: { readonly type: string; readonly metadata?: unknown };
}

export interface Dialect {
  readonly name: string;
  /** Lower-case prefix of the API's own headers, such as `x-svc-`. */
  readonly headerPrefix: string;
  /** Null in a map of texts of a body is the empty text. Absent: it is refused. */
  readonly takesNullTexts?: boolean;
  sync(
    endpoint: Endpoint,
    reply: { readonly metadata: unknown; readonly etag?: string; readonly location?: string },
  ): RenderedAnswer;
  async(operation: Operation): RenderedAnswer;
  error(error: AppError): RenderedAnswer;
  /** The form for a client with this User-Agent. Absent: all clients get the same. */
  forClient?(agent: string | undefined): Dialect;
  /** The event in the dialect's form; the same event if they are equal. Absent: they always are. */
  event?(event: Event): Event;
}
