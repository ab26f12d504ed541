// The client's only error type, and the decision how to handle it (retry or not); performs no retries itself.
import type { Operation } from '../api/operation.ts';
import type { Problem } from '../api/problem.ts';
import { refusalsIn, type Refusal } from './refusal.ts';

/** Codes of the daemon (server/api/errors.ts) pass through; these are the client's own. */
export const clientCodes = {
  unreachable: 'No connection could be made, or it broke before an answer came.',
  untrusted: 'The server certificate is not the expected one, or the server does not trust the client.',
  timeout: 'No answer came in time.',
  badReply: 'The answer is not one of this API.',
  operationFailed: 'The background operation ended with Failure.',
  operationCancelled: 'The background operation was cancelled.',
  operationLost: 'The background operation is no longer known, so its outcome has to be read from the object.',
} as const;
export type ClientCode = keyof typeof clientCodes;

interface ClientErrorFields {
  /** HTTP status, or 0 when no answer was read. */
  readonly status?: number;
  readonly details?: readonly Problem[];
  readonly operation?: Operation;
  readonly cause?: unknown;
  /** The server's own text, without the client's additions; default: the message. */
  readonly text?: string;
}

export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly status: number;
  readonly code: string;
  readonly details: readonly Problem[];
  readonly operation: Operation | undefined;
  /** The refusals in the server's text. */
  readonly refusals: ReadonlySet<Refusal>;
  readonly #text: string;
  constructor(code: string, message: string, fields: ClientErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = code;
    this.status = fields.status ?? 0;
    this.details = fields.details ?? [];
    this.operation = fields.operation;
    this.#text = fields.text ?? message;
    this.refusals = refusalsIn(this.#text);
  }

  withMessage(message: string, code = this.code): ClientError {
    const { status, details, operation } = this;
    const known = operation === undefined ? {} : { operation };
    return new ClientError(code, message, { status, details, ...known, cause: this, text: this.#text });
  }
}

/** The error with another message, and itself as the cause; code and refusals stay. */
export function withMessage(error: unknown, message: string): Error {
  return error instanceof ClientError ? error.withMessage(message) : new Error(message, { cause: error });
}

const codeOfStatus: Readonly<Record<number, string>> = {
  400: 'badRequest',
  401: 'forbidden',
  403: 'forbidden',
  404: 'notFound',
  409: 'exists',
  412: 'preconditionFailed',
  500: 'internal',
  501: 'notImplemented',
  503: 'unavailable',
};

/** The stable code of a status, for servers that send only a text. */
export function codeForStatus(status: number): string {
  return codeOfStatus[status] ?? (status >= 500 ? 'internal' : 'badRequest');
}

/** It is starting, stopping or busy with an undo: the same request may succeed a moment later. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof ClientError && (error.code === 'unavailable' || error.status === 503);
/** The server was too busy and refused the request at once, without a change. A failed operation may have done more. */
export const isOverloaded = (error: unknown): boolean =>
  error instanceof ClientError &&
  error.status >= 500 &&
  error.operation === undefined &&
  error.refusals.has('overloaded');
export const isNotServed = (error: unknown): error is ClientError =>
  error instanceof ClientError && (error.code === 'notImplemented' || error.status === 501);
/** The object is not there. An operation that is not there any more says nothing about its object. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof ClientError && error.status === 404 && error.code !== 'operationLost';
/** Refused at once, or by the operation if another change came first while it was queued. */
export const isPreconditionFailed = (error: unknown): boolean =>
  error instanceof ClientError &&
  (error.status === 412 || (error.code === 'operationFailed' && error.refusals.has('changed')));

/** Whether a server refused for this reason; see refusal.ts. */
export const isRefused = (error: unknown, refusal: Refusal): boolean =>
  error instanceof ClientError && error.refusals.has(refusal);

/** How a caller handles a failed call: `retry` it unchanged, `reread` the object and decide again, or `stop`. */
export type Remedy = 'retry' | 'reread' | 'stop';

/** `idempotent`: repeating the call does no harm. A call that never reached the server may be repeated anyway. A call whose connection
 *  broke later may not, unless idempotent: the caller re-reads the object. */
export function remedyFor(error: unknown, idempotent: boolean): Remedy {
  if (!(error instanceof ClientError)) return 'stop';
  switch (error.code) {
    case 'unreachable':
      return idempotent || neverSent(error.cause) ? 'retry' : 'reread';
    case 'timeout':
    case 'outcomeUnknown':
      return idempotent ? 'retry' : 'reread';
    case 'operationLost':
      return 'reread';
    case 'untrusted':
    case 'badReply':
    case 'operationFailed':
    case 'operationCancelled':
      return 'stop';
    default:
      if (isUnavailable(error) || isOverloaded(error)) return 'retry';
      return error.status === 412 || error.status === 409 ? 'reread' : 'stop';
  }
}

/** The connection broke, the call timed out, or the server lost the operation or its outcome: only a read of the object shows it. */
export function hasUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  if (error.code === 'operationLost' || error.code === 'outcomeUnknown') return true;
  return error.status === 0 && remedyFor(error, false) === 'reread';
}

const refusals = /^(ECONNREFUSED|ENOENT|EACCES|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_GANTRY_PROXY)$/;

/** From the error of a connection: no part of the call can have arrived. */
export function neverSent(cause: unknown): boolean {
  const code = errnoOf(cause);
  return code !== undefined && refusals.test(code);
}

/** The system error code in an error or its causes (`ENOENT`, `UND_ERR_SOCKET`...). */
export function errnoOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const code: unknown = 'code' in current ? current.code : undefined;
    if (typeof code === 'string') return code;
    current = current.cause;
  }
  return undefined;
}
