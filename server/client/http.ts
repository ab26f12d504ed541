// One call to the daemon: builds the request, limits its time, retries what may be retried, turns every failure into a
// ClientError. Knows no kinds of objects.
import type { Readable } from 'node:stream';
import { ClientError, remedyFor } from './client-error.ts';
import { DeadlineError, pause, within } from './deadline.ts';
import type { Endpoint } from './endpoint.ts';
import { readReply, type Headers, type Reply } from './reply.ts';
import type { RawCall, RawReply } from './transport.ts';
import { explainUnreachable } from './unreachable.ts';

export interface Call {
  readonly method: RawCall['method'];
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is, with these headers; the call then has no time limit but its signal and stalls. */
  readonly stream?: Readable;
  readonly headers?: Readonly<Record<string, string>>;
  readonly ifMatch?: string;
  readonly timeoutMs?: number;
}

export interface StreamReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readable;
}

export interface Http {
  /** JSON in, JSON out. GETs are retried a few times when the connection breaks or the daemon is not ready. */
  send<T>(call: Call, signal?: AbortSignal): Promise<Reply<T>>;
  /** The answer's body as it comes, for files. The caller reads or destroys it. Error answers throw. */
  open(call: Call, signal?: AbortSignal): Promise<StreamReply>;
}

interface HttpDeps {
  readonly transport: {
    readonly endpoint: Endpoint;
    request(call: RawCall, signal: AbortSignal): Promise<RawReply>;
  };
  readonly timeoutMs: number;
  readonly project?: string;
}

const attempts = 3;
const firstPauseMs = 100;

export function createHttp(deps: HttpDeps): Http {
  return {
    async send<T>(call: Call, signal?: AbortSignal): Promise<Reply<T>> {
      const idempotent = call.method === 'GET';
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await sendOnce<T>(deps, call, signal);
        } catch (error) {
          const again = call.stream === undefined && attempt < attempts && remedyFor(error, idempotent) === 'retry';
          // A socket that is not there will not come by itself, and the user is waiting for the reason.
          if (!again || !isTransient(error)) throw error;
          await pause(firstPauseMs * 2 ** (attempt - 1), signal);
        }
      }
    },
    async open(call, signal) {
      const what = `${call.method} ${call.path}`;
      // The signal stays joined for as long as the body lives: the transport destroys the body when it fires.
      const raw = await connected(deps, call, (inner) => deps.transport.request(rawCall(deps, call), inner), signal);
      const headers: Headers = raw.headers;
      if (raw.statusCode >= 400) {
        await readReply(raw.statusCode, headers, raw.body, what);
        throw new ClientError('badReply', `${what}: HTTP ${raw.statusCode}`, { status: raw.statusCode });
      }
      const abort = (): void => void raw.body.destroy(signal?.reason as Error);
      signal?.addEventListener('abort', abort, { once: true });
      raw.body.once('close', () => signal?.removeEventListener('abort', abort));
      return { status: raw.statusCode, headers, body: raw.body };
    },
  };
}

const isTransient = (error: unknown): boolean =>
  error instanceof ClientError && (error.status === 503 || !/ENOENT|EACCES|ENOTFOUND/.test(String(errno(error))));

const errno = (error: ClientError): unknown =>
  error.cause instanceof Error && 'code' in error.cause ? error.cause.code : '';

function sendOnce<T>(deps: HttpDeps, call: Call, signal: AbortSignal | undefined): Promise<Reply<T>> {
  return connected(
    deps,
    call,
    async (inner) => {
      const raw = await deps.transport.request(rawCall(deps, call), inner);
      return readReply<T>(raw.statusCode, raw.headers, raw.body, `${call.method} ${call.path}`);
    },
    signal,
  );
}

async function connected<T>(
  deps: HttpDeps,
  call: Call,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const timeoutMs = call.stream === undefined ? (call.timeoutMs ?? deps.timeoutMs) : call.timeoutMs;
  const what = `${call.method} ${call.path}`;
  try {
    return await within(timeoutMs, work, signal);
  } catch (error) {
    if (error instanceof ClientError) throw error;
    if (signal?.aborted === true) throw signal.reason;
    if (error instanceof DeadlineError) {
      throw new ClientError('timeout', `${what}: no answer in ${timeoutMs ?? 0} ms`, { cause: error });
    }
    throw await explainUnreachable(deps.transport.endpoint, what, error);
  }
}

function rawCall(deps: HttpDeps, call: Call): RawCall {
  const query = new URLSearchParams();
  if (deps.project !== undefined) query.set('project', deps.project);
  for (const [key, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(key, String(value));
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const body = call.stream ?? (call.json === undefined ? undefined : JSON.stringify(call.json));
  return {
    method: call.method,
    path: `${call.path}${search}`,
    headers: {
      'user-agent': 'gantry',
      accept: 'application/json, application/octet-stream, multipart/form-data',
      ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(call.ifMatch === undefined ? {} : { 'if-match': call.ifMatch }),
      ...call.headers,
    },
    ...(body === undefined ? {} : { body }),
  };
}
