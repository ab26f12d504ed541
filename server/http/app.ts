// The HTTP application: every endpoint of the contract on one router, shared by all listeners. Contains no use case.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest, type HTTPMethods } from 'fastify';
import { rowIn, type Endpoint } from '../api/endpoints/endpoint.ts';
import { endpoints } from '../api/endpoints/endpoint-table.ts';
import { AppError, errors } from '../api/errors.ts';
import { errorText } from '../lib/shared/reason.ts';
import { isTrustedCaller } from '../services/shared/caller.ts';
import { toAppError } from '../services/shared/translate-errors.ts';
import { answer, answerError, labelOf } from './answer.ts';
import { admitBearer, identityOf } from './caller-identity.ts';
import { logRequest } from './log-request.ts';
import { queryOf } from './query.ts';
import { handlerOf } from './route.ts';
import type { AppDeps } from './serve/app-deps.ts';
import { serve } from './serve/serve.ts';

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

const methods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

export async function createApp(deps: AppDeps): Promise<HttpHandler> {
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Names have up to 64 characters, percent-encoded three times that; aliases 255.
    routerOptions: { maxParamLength: 1024, caseSensitive: true, querystringParser: queryOf },
    // request-body.ts checks bodies against the contract and dialects render answers; fastify's own compilers would be loaded at start
    // (some megabytes) and never used.
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
    if (!isMediaType(request.headers['content-type'] ?? '')) delete request.headers['content-type'];
    app.routing(request, response);
  };
}

/** Clients also write collections with a trailing slash (real system section 29). */
function withoutLastSlash(url: string): string {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  return /^\/1\.0(?:\/.*[^/])?\/$/.test(path) ? path.slice(0, -1) + url.slice(path.length) : url;
}

/** Fastify would refuse a body of any other type; bodies are read whatever their type. */
const isMediaType = (text: string): boolean => /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/.test(text);

function refuseSchemas(): never {
  throw new Error('routes have no fastify schemas: declare body and query in the endpoint table');
}

/** What fastify itself refuses (an invalid content type) is the caller's mistake. */
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
    const hasHead = endpoint.method === 'GET' && endpoint.mode !== 'websocket';
    known.add(endpoint.method);
    if (hasHead) known.add('HEAD');
    byPath.set(endpoint.path, known);
    const handler = handlerOf(deps.routes, endpoint.id);
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      // The same headers without the body.
      exposeHeadRoute: hasHead,
      handler: (request, reply) => {
        reply.raw.once('finish', () => deps.countAnswer(endpoint.id, reply.raw.statusCode));
        return serve(deps, { endpoint, handler, request, reply });
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

/** Trust is checked before whether the method exists (real system section 20). */
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
