// The HTTP application: every endpoint of the contract on one router, shared by all listeners. No use case is decided here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest, type HTTPMethods } from 'fastify';
import { rowIn, type Endpoint } from '../api/endpoints/endpoint.ts';
import { endpoints } from '../api/endpoints/endpoint-table.ts';
import { AppError, errors } from '../api/errors.ts';
import { defaultProject } from '../api/project/project-names.ts';
import { originProblem } from '../auth/origin.ts';
import { classForMetrics } from '../auth/policy.ts';
import type { Sight } from '../auth/restricted-view.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import type { Tracer } from '../lib/shared/spans.ts';
import { answer, answerError, answerResult, labelOf, type AnswerDeps } from './answer.ts';
import { readBody } from './request-body.ts';
import { logRequest } from './log-request.ts';
import { admitBearer, identityOf, type Bearers, type Identify, type Identity } from './caller-identity.ts';
import { toAppError } from '../services/shared/translate-errors.ts';
import { namesForStrangers, type ProjectNames } from '../services/shared/project-scope.ts';
import { hopsOf, lookAgain } from './second-look.ts';
import { qualifiedParams } from './project-params.ts';
import { isTrustedCaller, type Caller } from '../services/shared/caller.ts';
import { accessRefusal, checkNamedProjects, ownParams, seen } from './restricted.ts';
import type { Cluster } from '../membership/cluster.ts';
import { needsStore } from '../membership/store-needs.ts';
import type { Member } from '../membership/members.ts';
import type { Placing } from '../services/cluster/placing.ts';
import type { ContainerCreate } from '../api/container/container.ts';
import { forward, type Forwarded } from './forward.ts';
import { goneSignal, HandlerContext } from './handler-context.ts';
import { handlerOf, type RouteHandler, type RouteTable } from './route.ts';
import { isBackupUpload } from './routes/backups.ts';
import { traceRequest } from './trace-request.ts';

export type OperationOwner = { readonly fingerprint: string } | { readonly subject: string };

export interface AppDeps extends AnswerDeps {
  readonly routes: RouteTable;
  readonly identify: Identify;
  readonly bearers: Bearers;
  /** Why the server cannot take this request at the moment. */
  readonly refusal: (endpoint: Endpoint) => AppError | undefined;
  /** Throws AppError notFound when there is no such project. */
  readonly namesIn: (project: string) => ProjectNames;
  /** What a restricted caller may know of. */
  readonly sightOf: (caller: Caller) => Sight;
  readonly loop: Pick<EventLoopMonitor, 'enter'>;
  /** Records spans of requests; absent: nothing is traced. */
  readonly tracer: () => Tracer | undefined;
  /** An endpoint answered with this HTTP status. */
  readonly countAnswer: (endpoint: string, status: number) => void;
  /** Everybody may read metrics: core.metrics_authentication as it is now. */
  readonly isMetricsOpen: () => boolean;
  /** core.https_allowed_origin as it is now. */
  readonly allowedOrigin: () => string;
  /** The operation was started by the client with this certificate or by this user, and ends when they are no longer trusted. */
  readonly claimOperation: (id: string, owner: OperationOwner, project: string) => void;
  readonly cluster: Cluster;
  readonly placing: Pick<Placing, 'memberFor' | 'isLimited'>;
}

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

const methods: readonly HTTPMethods[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Bodies that the endpoint reads itself. */
const bodyOf = async (endpoint: Endpoint, request: IncomingMessage): Promise<unknown> =>
  endpoint.body === undefined || hasOwnBody(endpoint, request) ? undefined : readBody(request, endpoint.body);

function hasOwnBody(endpoint: Endpoint, request: IncomingMessage): boolean {
  return endpoint.id === 'images.create' || (endpoint.id === 'containers.create' && isBackupUpload(request));
}

export async function createApp(deps: AppDeps): Promise<HttpHandler> {
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Names have up to 64 characters, percent-encoded three times that; aliases 255.
    routerOptions: { maxParamLength: 1024, caseSensitive: true },
    // Bodies are checked against the contract by request-body.ts and answers rendered by dialects; fastify's own two compilers
    // would be loaded at start (some megabytes) and never asked.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    frameworkErrors: (error, request, reply) => {
      answerError(deps, request, reply, errors.badRequest(`The request is malformed: ${error.message}`));
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
  app.setNotFoundHandler((request, reply) => {
    answerError(
      deps,
      request,
      reply,
      new AppError('notFound', `There is no endpoint ${request.method} ${request.url.split('?')[0] ?? ''}`),
    );
  });
  app.setErrorHandler((error, request, reply) => answerError(deps, request, reply, fromFramework(error)));
  addEndpoints(app, deps);
  await app.ready();
  return (request, response) => {
    logRequest(deps.log, request);
    response.once(
      'close',
      deps.loop.enter(() => labelOf(request)),
    );
    request.url = withoutLastSlash(request.url ?? '');
    app.routing(request, response);
  };
}

/** Clients write collections with a slash at the end, too (real system section 29). */
function withoutLastSlash(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return /^\/1\.0\/.*[^/]\/$/.test(path) ? path.slice(0, -1) + url.slice(path.length) : url;
}

function refuseSchemas(): never {
  throw new Error('routes have no fastify schemas: declare body and query in the endpoint table');
}

/** What fastify itself refuses (a content type that is none) is the caller's mistake. */
function fromFramework(error: unknown): AppError {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  const isRefusal = typeof status === 'number' && status >= 400 && status < 500;
  return isRefusal ? errors.badRequest(`The request is malformed: ${errorText(error)}`) : toAppError(error);
}

function addEndpoints(app: FastifyInstance, deps: AppDeps): void {
  const byPath = new Map<string, Set<string>>();
  for (const row of endpoints as readonly Endpoint[]) {
    const endpoint = rowIn(deps.dialect.name, row);
    const known = byPath.get(endpoint.path) ?? new Set();
    known.add(endpoint.method);
    byPath.set(endpoint.path, known);
    const handler = handlerOf(deps.routes, endpoint.id);
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      // The same headers without the body.
      exposeHeadRoute: endpoint.method === 'GET' && endpoint.mode !== 'websocket',
      handler: (request, reply) => {
        reply.raw.once('finish', () => deps.countAnswer(endpoint.id, reply.raw.statusCode));
        return serve(deps, endpoint, handler, request, reply);
      },
    });
  }
  for (const [path, known] of byPath) {
    const missing = methods.filter((method) => !known.has(method));
    if (missing.length > 0)
      app.route({ method: [...missing], url: path, handler: (request, reply) => refuseMethod(deps, request, reply) });
    app.route({
      method: 'OPTIONS',
      url: path,
      handler: (request, reply) => answer(deps, request, reply, { status: 200, headers: {} }),
    });
  }
}

/** Trust comes before the question whether the method exists (real system section 20). */
async function refuseMethod(deps: AppDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const admitted = admitBearer(deps.bearers, request.raw);
  if (admitted !== undefined) await admitted;
  const { caller } = identityOf(deps, request.raw);
  const what = `${request.method} ${request.url.split('?')[0] ?? ''}`;
  const error = isTrustedCaller(caller)
    ? errors.notImplemented(`There is no ${what}`)
    : errors.forbidden(`${what} needs trust`);
  return answerError(deps, request, reply, error);
}

async function serve(
  deps: AppDeps,
  endpoint: Endpoint,
  handler: RouteHandler | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  let mayKnowProjects = false;
  const arrivedMs = Date.now();
  try {
    const query = request.query as Record<string, string>;
    const project = query['project'] || defaultProject;
    // Not awaited without a token: most refusals are sent before anything else of the connection is read.
    const admitted = admitBearer(deps.bearers, request.raw);
    if (admitted !== undefined) await admitted;
    const identity = asked(deps, endpoint, identityOf(deps, request.raw, project));
    mayKnowProjects = identity.caller.class === 'trusted';
    const demandsTrust = request.headers[`${deps.dialect.headerPrefix}authenticated`] === 'true';
    const refused = accessRefusal(identity.caller, endpoint, query, demandsTrust);
    if (refused !== undefined) throw refused;
    // Strangers write nothing into traces, and who asks for figures all the time is no news.
    const isTraced = isTrustedCaller(identity.caller) && endpoint.id !== 'metrics.get';
    const tracer = isTraced ? deps.tracer() : undefined;
    const member = deps.cluster.ownName;
    const traced = { endpoint, request: request.raw, response: reply.raw, project, member, arrivedMs };
    return await traceRequest(tracer, traced, () =>
      carryOut(deps, { endpoint, handler, identity, project }, request, reply),
    );
  } catch (error) {
    return answerError(deps, request, reply, toAppError(error), mayKnowProjects);
  }
}

/** Who asks for metrics needs less trust than for anything else. */
function asked({ isMetricsOpen }: AppDeps, { id }: Endpoint, identity: Identity): Identity {
  if (id !== 'metrics.get') return identity;
  const { caller, isForMetrics = false } = identity;
  return { ...identity, caller: { ...caller, class: classForMetrics({ ...caller, isForMetrics }, isMetricsOpen()) } };
}

interface Admitted {
  readonly endpoint: Endpoint;
  readonly handler: RouteHandler | undefined;
  readonly identity: Identity;
  readonly project: string;
}

/** Of a caller who may use the endpoint. */
async function carryOut(
  deps: AppDeps,
  { endpoint, handler, identity, project }: Admitted,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = request.query as Record<string, string>;
  checkOrigin(deps.allowedOrigin(), request.raw, endpoint.method !== 'GET');
  const names = isTrustedCaller(identity.caller) ? deps.namesIn(project) : namesForStrangers(project);
  checkTarget(deps.cluster, query);
  if (handler === undefined) throw unservable(endpoint);
  const sight = identity.caller.projects === undefined ? undefined : deps.sightOf(identity.caller);
  const params = qualifiedParams(endpoint.path, request.params as Record<string, string>, names);
  const asked = { endpoint, params: sight === undefined ? params : ownParams(endpoint, params, names, sight), query };
  const { caller } = identity;
  const isRouted = deps.cluster.isOn && identity.isForwarded !== true;
  const passOn = (member: Member, more: Pick<Forwarded, 'body' | 'hops'> = {}): Promise<FastifyReply> => {
    const forwarded = { member, caller, dialect: deps.dialect.name, request: request.raw, ...more };
    return forward(deps.cluster, forwarded, reply, goneSignal(reply.raw));
  };
  if (isRouted && deps.cluster.routing.dependsOnOthers(asked)) await deps.cluster.readBarrier();
  const elsewhere = isRouted ? deps.cluster.routing.memberFor(asked) : undefined;
  if (elsewhere !== undefined) return await passOn(elsewhere);
  const takesChange = !needsStore(endpoint) || (await deps.cluster.takesChanges());
  const refusal = takesChange ? deps.refusal(endpoint) : deps.cluster.refusal();
  const isPlaced = isRouted && endpoint.id === 'containers.create';
  // What is wrong with this member alone does not keep another one from taking a container.
  if (refusal !== undefined && !(isPlaced && takesChange)) throw refusal;
  const body = await bodyOf(endpoint, request.raw);
  checkNamedProjects(identity.caller, body);
  // Where a container is made is decided by what it needs, which is in the body.
  const place = isPlaced
    ? deps.placing.memberFor(caller, query['target'] ?? '', body as ContainerCreate | undefined)
    : undefined;
  if (place !== undefined) return await passOn(place, { body });
  if (refusal !== undefined) throw refusal;
  const isRead = endpoint.method === 'GET';
  // Whether a limit leaves room depends on what all members have.
  const needsNews = isRead ? isRouted : deps.cluster.isOn && deps.placing.isLimited(project);
  if (needsNews && !(await deps.cluster.readBarrier()) && isRead)
    reply.headers(staleHeaders(deps.dialect.headerPrefix, deps.cluster.doubt));
  const context = new HandlerContext({
    identity,
    names,
    namesIn: deps.namesIn,
    params: asked.params,
    query,
    body,
    request: request.raw,
    response: reply.raw,
  });
  const act = async () => handler(context);
  const attempt = { asked, request: request.raw, body, isForwarded: identity.isForwarded === true };
  const seenNow = await act().catch((error: unknown) => lookAgain(deps.cluster, attempt, error));
  if ('at' in seenNow && seenNow.at !== 'here') return await passOn(seenNow.at, { body, hops: hopsOf(attempt) });
  const result = 'at' in seenNow ? await act() : seenNow;
  const { protocol, username } = identity.caller.requestor;
  const { subject } = identity;
  const owner = subject === undefined ? { fingerprint: username } : { subject };
  if (result.kind === 'async' && (protocol === 'tls' || subject !== undefined))
    deps.claimOperation(result.operation.id, owner, project);
  const shown = sight === undefined ? result : seen(endpoint, result, sight);
  return answerResult(deps, endpoint, request, reply, shown);
}

/** An answer from memory, while this member does not hear what the others change. */
const staleHeaders = (prefix: string, reason: string | undefined): Readonly<Record<string, string>> => ({
  [`${prefix}stale`]: 'true',
  ...(reason === undefined ? {} : { [`${prefix}stale-reason`]: reason }),
});
/** Throws AppError forbidden. Of a connection without TLS no browser is the other end. */
export function checkOrigin(allowed: string, request: IncomingMessage, isEffective: boolean): void {
  if (!(request.socket instanceof TLSSocket)) return;
  const { origin, host } = request.headers;
  const problem = originProblem({ origin, host, isEffective, allowed });
  if (problem !== undefined) throw errors.forbidden(`${labelOf(request)} is refused: ${problem}`);
}

/** `none` is what servers without a cluster call themselves (`location`). */
function checkTarget(cluster: Cluster, { target = '' }: Readonly<Record<string, string>>): void {
  if (target === '' || target === 'none' || cluster.isOn) return;
  throw errors.badRequest(
    `There is no cluster member ${target}: this server is not part of a cluster; leave target out`,
  );
}

function unservable(endpoint: Endpoint): AppError {
  if (endpoint.mode === 'websocket')
    return errors.badRequest(`${endpoint.method} ${endpoint.path} needs a websocket upgrade`);
  return errors.notImplemented(`${endpoint.method} ${endpoint.path} is not available in this release`);
}
