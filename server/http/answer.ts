// Answers: results and errors in the listener's dialect, with the headers of every answer.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import type { AppError } from '../api/errors.ts';
import { defaultProject } from '../api/project/project-names.ts';
import { jsonOf } from '../lib/cached-json.ts';
import type { Log } from '../lib/log.ts';
import { isLong, LongList } from '../lib/shared/long-list.ts';
import { errorText } from '../lib/shared/reason.ts';
import { readableError } from '../services/shared/translate-errors.ts';
import type { Dialect, RenderedAnswer } from './dialects/dialect.ts';
import { linger } from './linger.ts';
import type { RouteReply } from './route.ts';

export interface AnswerDeps {
  readonly dialect: Dialect;
  /** Headers of every answer (cross-origin settings), given the request's Origin. */
  readonly commonHeaders: (origin: string | undefined) => Readonly<Record<string, string>>;
  readonly log: Log;
  /** Makes a text readable for users of this project. */
  readonly readable: (text: string, project: string, mayKnowProjects: boolean) => string;
}

/** Max bytes read from a refused request's body instead of closing the connection. */
const discardedBytes = 64 * 1024;

/** Method and path; the query may hold secrets. */
export const labelOf = ({ method = '', url = '' }: IncomingMessage): string =>
  `${method} ${url.split('?', 1)[0] ?? ''}`.slice(0, 200);

export function answerResult(
  deps: AnswerDeps,
  endpoint: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
  result: RouteReply,
): FastifyReply {
  if (result.kind === 'sync') {
    const dialect = deps.dialect.forClient?.(request.headers['user-agent']) ?? deps.dialect;
    const rendered = dialect.sync(endpoint, result);
    return answer(deps, request, reply, { ...rendered, headers: { ...rendered.headers, ...result.headers } });
  }
  if (result.kind === 'async') return answer(deps, request, reply, deps.dialect.async(result.operation));
  const headers = { ...deps.commonHeaders(request.headers.origin), ...result.headers };
  return reply
    .code(result.status ?? 200)
    .headers(headers)
    .send(result.stream);
}

/** `mayKnowProjects`: the caller may learn which projects exist; others would learn it from how names are shown. */
export function answerError(
  deps: AnswerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  error: AppError,
  mayKnowProjects = false,
): FastifyReply {
  // A caller that disconnects aborts the request; that is no failure of ours.
  if (error.code === 'internal' && !reply.raw.destroyed)
    deps.log.error(`${labelOf(request.raw)} failed: ${errorText(error)}`);
  // A malformed request has no query.
  const { project } = (request.query ?? {}) as { readonly project?: unknown };
  const isNamed = typeof project === 'string' && project !== '';
  const rendered = deps.dialect.error(
    readableError(error, (text) => deps.readable(text, isNamed ? project : defaultProject, mayKnowProjects)),
  );
  // The rest of a large body ends the connection. A small one is read and discarded, so that the client can send its next request.
  const isLeft = !request.raw.complete && announcedBytes(request.headers) > discardedBytes;
  if (isLeft) linger(request.raw);
  const headers = isLeft ? { ...rendered.headers, connection: 'close' } : rendered.headers;
  return answer(deps, request, reply, { ...rendered, headers });
}

/** A request that announces no body has none (RFC 9112, 6.3). */
const announcedBytes = (headers: IncomingHttpHeaders): number =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;

export function answer(
  deps: AnswerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  rendered: RenderedAnswer,
): FastifyReply {
  reply.code(rendered.status).headers({ ...deps.commonHeaders(request.headers.origin), ...rendered.headers });
  if (rendered.body === undefined) return reply.send();
  return reply.type('application/json').send(bodyOf(rendered.body));
}

/** Envelopes are rendered each time; their content may have cached JSON. Long lists become streams. */
function bodyOf({ metadata, ...envelope }: NonNullable<RenderedAnswer['body']>): string | Buffer | Readable {
  const head = JSON.stringify(envelope);
  if (metadata === undefined) return head;
  const opened = `${head.slice(0, -1)},"metadata":`;
  const long = Array.isArray(metadata) && isLong(metadata) ? LongList.of(metadata, (item: unknown) => item) : metadata;
  if (long instanceof LongList) return Readable.from(textParts(opened, long), { objectMode: false });
  const json = jsonOf(metadata);
  return typeof json === 'string' ? `${opened}${json}}` : Buffer.concat([Buffer.from(opened), json, Buffer.from('}')]);
}

/** Begins with the first members, so that an error in them still becomes an answer of its own. */
async function* textParts(opened: string, list: LongList): AsyncGenerator<string> {
  let before = `${opened}[`;
  for await (const part of list.parts()) {
    if (part.length === 0) continue;
    yield `${before}${part.map(jsonOf).join(',')}`;
    before = ',';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}
