// The HTTP application of a controller: routes each row of the endpoint table. Admits the caller, reads the request, calls the handler, answers.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { ApiCaller, Authenticator } from './access/authenticator.ts';
import type { RequestedChange, Gate } from './access/gate.ts';
import { endpoints, type Endpoint } from './endpoints.ts';
import type { ControllerMetrics } from './metrics.ts';
import { Refusal, toRefusal } from './refusal.ts';
import { readBytes, type BodyLimit } from './request-bytes.ts';
import { readBody, readQuery, type Answer, type Handlers } from './route.ts';
import type { PageFiles } from './static-files.ts';
import type { EventStream } from './streams/event-stream.ts';

export interface HttpLog {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

export interface AppDeps {
  readonly authenticator: Authenticator;
  readonly handlers: Handlers;
  readonly gate: Gate;
  readonly events: EventStream;
  readonly metrics: Pick<ControllerMetrics, 'answered'>;
  readonly page: PageFiles;
  /** Headers that every answer has. */
  readonly headers: Readonly<Record<string, string>>;
  readonly log: HttpLog;
}

const jsonLimit: BodyLimit = { each: 64 * 1024, left: Infinity };
/** Anybody may send one: it is read before its signature is checked. */
const signedLimit: BodyLimit = { each: 1024 * 1024, left: 64 * 1024 * 1024 };
/** Smaller answers gain nothing, and compressing the one with a session secret would leak it through its length. */
const compressedFrom = 32 * 1024;
const compress = promisify(gzip);

export async function buildApp(deps: AppDeps): Promise<RequestListener> {
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 300, caseSensitive: true },
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    frameworkErrors: (error, request, reply) =>
      void refuse(deps, request, reply, new Refusal('bad-request', `The request is malformed: ${error.message}`)),
  });
  app.removeAllContentTypeParsers();
  // Nothing is read before the caller is admitted.
  app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
  app.setErrorHandler((error, request, reply) => refuse(deps, request, reply, error));
  app.setNotFoundHandler((request, reply) => servePage(deps, request, reply));
  for (const endpoint of endpoints)
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      handler: (request, reply) => serve(deps, endpoint, request, reply),
    });
  await app.ready();
  return (request, response) => {
    observe(deps, request, response);
    app.routing(request, response);
  };
}

function refuseSchemas(): never {
  throw new Error('routes have no fastify schemas: declare body and query in the endpoint table');
}

const endpointIds = new WeakMap<IncomingMessage, string>();

function observe({ metrics, log, authenticator }: AppDeps, request: IncomingMessage, response: ServerResponse): void {
  const begin = performance.now();
  // An aborted request has no socket later.
  const address = authenticator.addressOf(request);
  response.once('close', () => {
    const endpoint = endpointIds.get(request) ?? 'page';
    // The duration of a stream says nothing about the server.
    if (endpoint !== 'events') metrics.answered(endpoint, response.statusCode, performance.now() - begin);
    log.debug(`${request.method ?? ''} ${pathOf(request)} ${response.statusCode} ${address}`);
  });
}

/** The path; the query may hold secrets. */
const pathOf = (request: IncomingMessage): string => (request.url ?? '').split('?', 1)[0]?.slice(0, 200) ?? '';

async function serve(
  deps: AppDeps,
  endpoint: (typeof endpoints)[number],
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  endpointIds.set(request.raw, endpoint.id);
  try {
    const { set } = Object(request.params) as { readonly set?: string };
    const caller = await deps.authenticator.admit(request.raw, endpoint, set);
    if (endpoint.id === 'console') throw new Refusal('bad-request', 'A console needs a websocket');
    if (endpoint.id === 'events') return openEvents(deps, request, reply, caller);
    const call = await readCall(endpoint, request, reply, caller);
    const handler: (call: never) => unknown = deps.handlers[endpoint.id];
    const work = async (): Promise<unknown> => handler(call);
    const asked = { endpoint, caller, from: deps.authenticator.addressOf(request.raw), set, ...hostsAndBody(call) };
    if ('isLook' in endpoint) deps.gate.allow(asked);
    const isNoted = 'right' in endpoint && !('isLook' in endpoint);
    const result = await withoutIdleLimit(request.raw, () => (isNoted ? deps.gate.change(asked, work) : work()));
    return await answer(deps, endpoint, request, reply, result);
  } catch (error) {
    return refuse(deps, request, reply, error);
  }
}

/** Nothing is sent while the work takes its time, which may be minutes for a snapshot or a plan of many hosts. */
async function withoutIdleLimit<T>({ socket }: IncomingMessage, work: () => Promise<T>): Promise<T> {
  const limitMs = socket.timeout ?? 0;
  socket.setTimeout(0);
  try {
    return await work();
  } finally {
    socket.setTimeout(limitMs);
  }
}

interface Parts {
  readonly params?: { readonly host?: string; readonly name?: string };
  readonly query?: { readonly path?: string; readonly project?: string };
  readonly body?: unknown;
}

/** For manual work, the path names the host and the container. */
function hostsAndBody({ params = {}, query = {}, body }: Parts): Pick<RequestedChange, 'hosts' | 'body'> {
  const { host = params.host, hosts } = Object(body) as { readonly host?: string; readonly hosts?: readonly string[] };
  const named = params.name === undefined ? body : { ...query, ...Object(body), container: params.name };
  return { hosts: hosts ?? (host === undefined ? undefined : [host]), body: named };
}

/** Reads and validates the parts of a request against the endpoint table. */
async function readCall(
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  caller: ApiCaller,
): Promise<never> {
  // Issuers add their own parameters.
  const query =
    endpoint.mode === 'redirect' && endpoint.query === undefined ? {} : readQuery(endpoint, Object(request.query));
  const isSigned = endpoint.access === 'signed';
  const hasBytes = endpoint.body !== undefined || isSigned;
  const bytes = hasBytes ? await readBytes(request.raw, isSigned ? signedLimit : jsonLimit) : Buffer.alloc(0);
  const abort = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) abort.abort();
  });
  const call = {
    params: request.params,
    query,
    body: readBody(endpoint, bytes, request.headers['content-type']),
    bytes,
    caller,
    request: request.raw,
    signal: abort.signal,
    addHeader: (name: string, value: string) => void reply.header(name, value),
  };
  return call as never;
}

async function answer(
  deps: AppDeps,
  { mode, status }: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  result: unknown,
): Promise<FastifyReply> {
  reply.headers({ ...deps.headers, 'cache-control': 'no-store' });
  if (mode !== 'json' && mode !== 'upload') {
    const { status: other = 200, headers = {}, text, stream } = result as Answer;
    return reply
      .code(other)
      .headers(headers)
      .send(stream ?? text);
  }
  reply.code(status ?? 200);
  if (result === undefined) return reply.send();
  reply.type('application/json; charset=utf-8');
  const json = Buffer.from(JSON.stringify(result));
  if (json.length < compressedFrom || !takesGzip(request)) return reply.send(json);
  return reply
    .header('content-encoding', 'gzip')
    .header('vary', 'Accept-Encoding')
    .send(await compress(json, { level: 1 }));
}

const takesGzip = ({ headers }: FastifyRequest): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(headers['accept-encoding'] ?? '');

function openEvents(deps: AppDeps, request: FastifyRequest, reply: FastifyReply, caller: ApiCaller): FastifyReply {
  deps.events.open(request.raw, reply.raw, deps.headers, {
    isAllowed: () => deps.authenticator.isStillGood(request.raw, caller),
    scope: () => deps.gate.scopeOf(caller),
  });
  return reply.hijack();
}

function servePage(deps: AppDeps, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = pathOf(request.raw);
  const isPage = request.method === 'GET' || request.method === 'HEAD';
  const file = isPage && !/^\/(?:api|auth)(?:\/|$)/.test(path) ? deps.page.find(path) : undefined;
  if (file === undefined)
    return refuse(
      deps,
      request,
      reply,
      new Refusal('not-found', `There is no ${request.method} ${JSON.stringify(path)}`),
    );
  reply.headers({ ...deps.headers, 'cache-control': file.cacheControl, etag: file.etag, vary: 'Accept-Encoding' });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  reply.type(file.type);
  if (file.gzipped === undefined || !takesGzip(request)) return reply.send(file.bytes);
  return reply.header('content-encoding', 'gzip').send(file.gzipped);
}

function refuse(deps: AppDeps, request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const refusal = toRefusal(error);
  if (refusal.code === 'internal' && !reply.raw.destroyed)
    deps.log.error(`${request.method} ${pathOf(request.raw)} failed: ${wholeText(error)}`);
  // Does not wait for the rest of the body.
  const isLeft = !request.raw.complete && request.method !== 'GET';
  return reply
    .code(refusal.status)
    .headers({
      ...deps.headers,
      'cache-control': 'no-store',
      ...refusal.details.headers,
      ...(isLeft ? { connection: 'close' } : {}),
    })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body));
}

/** The message of the error and of its causes. */
function wholeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${wholeText(error.cause)}`;
}
