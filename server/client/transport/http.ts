// One call to the daemon: builds the request, limits its time, retries if that is safe, turns every failure into a ClientError. Knows no
// kinds of objects.
import type { Readable } from 'node:stream';
import { codeOf } from '../../lib/shared/error-code.ts';
import { ClientError, isOverloaded, isUnavailable, remedyFor } from '../client-error.ts';
import { whenAborted } from '../../lib/shared/abort-calls.ts';
import { DeadlineError, pause, within } from '../../lib/shared/deadline.ts';
import { currentTraceparent, inSpan, type Span } from '../../lib/shared/spans.ts';
import { renderEndpoint, type Endpoint } from './host-endpoint.ts';
import { TooLongError, type ExchangeLimits, type WholeReply } from './exchange.ts';
import { maxJsonBytes, parseReply, prefixedHeader, readReply, type Headers, type Reply } from './reply.ts';
import type { BearerSource, RawCall, RawReply } from './transport.ts';
import { explainUnreachable } from './explain-unreachable.ts';
import { endpointOfFailure } from './several.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface Call {
  readonly method: RawCall['method'];
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly json?: unknown;
  /** Sent unchanged, with these headers; only its signal and stalls limit the time of the call. */
  readonly stream?: Readable;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ifMatch?: string;
  readonly timeoutMs?: number;
  /** A longer limit without a byte than for other calls: the server answers late on purpose. */
  readonly silentMs?: number;
}

export interface StreamReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
}

export interface Http {
  /** JSON in, JSON out. GETs are retried a few times if the connection breaks or the daemon is not ready. */
  send<T>(call: Call, signal?: AbortSignal): Promise<Reply<T>>;
  /** The answer's body as a stream, for files. The caller reads or destroys it. Error answers throw. */
  open(call: Call, signal?: AbortSignal): Promise<StreamReply>;
}

interface HttpDeps {
  readonly transport: {
    readonly endpoint: Endpoint;
    /** How many hosts it may try in turn; default 1. */
    readonly members?: number;
    readonly bearer?: BearerSource | undefined;
    request(call: RawCall, signal: AbortSignal): Promise<RawReply>;
    exchange(call: RawCall, limits: ExchangeLimits, signal: AbortSignal | undefined): Promise<WholeReply>;
  };
  readonly timeoutMs: number;
  /** The limit of a call without a byte from the server. */
  readonly silentMs: number;
  readonly project?: string;
  readonly onStale?: (reason: string | undefined) => void;
}

const attempts = 3;
const firstPauseMs = 100;
/** A database too busy for a transaction has given up on it after ten seconds. */
const overloadAttempts = 6;
const overloadPauseMs = 500;

export function createHttp(deps: HttpDeps): Http {
  return {
    async send<T>(call: Call, signal?: AbortSignal): Promise<Reply<T>> {
      const idempotent = call.method === 'GET';
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await inRequestSpan(deps, call, (span) => sendOnce<T>(deps, call, signal, span));
        } catch (error) {
          const isBusy = isOverloaded(error);
          const [limit, pauseMs] = isBusy ? [overloadAttempts, overloadPauseMs] : [attempts, firstPauseMs];
          const again = call.stream === undefined && attempt < limit && remedyFor(error, idempotent) === 'retry';
          // A missing socket will not appear by itself, and the user is waiting for the reason.
          if (!again || !isTransient(error)) throw error;
          // A link that was silent for the whole limit would be silent again; another member may answer.
          if (hasTimedOut(error) && attempt >= (deps.transport.members ?? 1)) throw error;
          await pause(pauseMs * 2 ** (attempt - 1), signal);
        }
      }
    },
    open: (call, signal) =>
      inRequestSpan(deps, call, async (span) => {
        const what = whatOf(call);
        // The signal stays attached as long as the body exists: the transport destroys the body when it aborts.
        const sent = { ...rawCall(deps, call, await deps.transport.bearer?.fresh()), silentMs: deps.silentMs };
        const raw = await connected(deps, call, (inner) => deps.transport.request(sent, inner), signal);
        span?.set('http.response.status_code', raw.statusCode);
        const headers: Headers = raw.headers;
        if (raw.statusCode >= 400) {
          await readReply(raw.statusCode, headers, raw.body, what);
          throw new ClientError('badReply', `${what}: HTTP ${raw.statusCode}`, { status: raw.statusCode });
        }
        const abort = (): void => void raw.body.destroy(signal?.reason as Error);
        if (signal?.aborted === true) abort();
        else if (signal !== undefined) raw.body.once('close', whenAborted(signal, abort));
        return { status: raw.statusCode, headers, body: raw.body };
      }),
  };
}

const hasTimedOut = (error: unknown): boolean => error instanceof ClientError && error.code === 'timeout';

const isTransient = (error: unknown): boolean =>
  error instanceof ClientError &&
  (isUnavailable(error) || !/ENOENT|EACCES|ENOTFOUND|ERR_GANTRY_(LINK|PROXY)/.test(codeOf(error.cause)));

/** Within a current span the request is a child span, which the server learns. */
function inRequestSpan<T>(deps: HttpDeps, call: Call, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  if (currentTraceparent() === undefined) return work(undefined);
  const { method, path } = call;
  const attributes = {
    'http.request.method': method,
    'url.path': path,
    'server.address': renderEndpoint(deps.transport.endpoint),
  };
  return inSpan(`${method} ${path}`, { kind: 'client', attributes }, work);
}

async function sendOnce<T>(
  deps: HttpDeps,
  call: Call,
  signal: AbortSignal | undefined,
  span: Span | undefined,
): Promise<Reply<T>> {
  signal?.throwIfAborted();
  const silentMs = call.stream === undefined ? Math.max(deps.silentMs, call.silentMs ?? 0) : undefined;
  const limits = { timeoutMs: limitOf(deps, call), silentMs, maxBytes: maxJsonBytes };
  const { bearer } = deps.transport;
  const sent = rawCall(deps, call, bearer === undefined ? undefined : await bearer.fresh());
  try {
    const { statusCode, headers, text } = await deps.transport.exchange(sent, limits, signal);
    span?.set('http.response.status_code', statusCode);
    if (prefixedHeader(headers, 'stale') === 'true') deps.onStale?.(prefixedHeader(headers, 'stale-reason'));
    return parseReply<T>(statusCode, headers, text, whatOf(call));
  } catch (error) {
    throw await explained(deps, call, error, signal);
  }
}

async function connected<T>(
  deps: HttpDeps,
  call: Call,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  try {
    return await within(limitOf(deps, call), work, signal);
  } catch (error) {
    throw await explained(deps, call, error, signal);
  }
}

const limitOf = (deps: HttpDeps, call: Call): number | undefined =>
  call.stream === undefined ? (call.timeoutMs ?? deps.timeoutMs) : call.timeoutMs;

const whatOf = ({ method, path }: Call): string => `${method} ${path}`;

/** The error as callers get it. */
async function explained(
  deps: HttpDeps,
  call: Call,
  error: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (error instanceof ClientError) return error;
  if (signal?.aborted === true) return signal.reason;
  const what = whatOf(call);
  if (error instanceof DeadlineError) return new ClientError('timeout', `${what}: ${error.message}`, { cause: error });
  if (error instanceof TooLongError) return new ClientError('badReply', `${what}: ${error.message}`, { cause: error });
  return explainUnreachable(endpointOfFailure(error) ?? deps.transport.endpoint, what, error);
}

function rawCall(deps: HttpDeps, call: Call, token: string | undefined): RawCall {
  const { method, json, ifMatch } = call;
  const body = call.stream ?? (json === undefined ? undefined : JSON.stringify(json));
  const usual = json === undefined ? bareHeaders : jsonHeaders;
  const traceparent = currentTraceparent();
  const headers =
    ifMatch === undefined && call.headers === undefined && token === undefined && traceparent === undefined
      ? usual
      : {
          ...usual,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...withoutUndefined({ traceparent, 'if-match': ifMatch }),
          ...call.headers,
        };
  const path = `${call.path}${searchOf(deps, call)}`;
  return body === undefined ? { method, path, headers } : { method, path, headers, body };
}

const bareHeaders = {
  'user-agent': 'gantry',
  accept: 'application/json, application/octet-stream, multipart/form-data',
};
const jsonHeaders = { ...bareHeaders, 'content-type': 'application/json' };

function searchOf({ project }: HttpDeps, call: Call): string {
  if (project === undefined && call.query === undefined) return '';
  const query = new URLSearchParams();
  if (project !== undefined) query.set('project', project);
  for (const [key, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(key, String(value));
  return query.size === 0 ? '' : `?${query.toString()}`;
}
