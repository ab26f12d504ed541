// Forwards a request to the member of the cluster that carries it out, and its answer back unchanged.
import { PassThrough, type Duplex } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Cluster } from '../membership/cluster.ts';
import { hopsHeader } from '../membership/peer-headers.ts';
import type { Member } from '../membership/members.ts';
import type { Caller } from '../services/shared/caller.ts';
import { forwardHeaders, type ForwardedUser } from './forwarded.ts';
import { currentTraceparent } from '../lib/shared/spans.ts';

export interface ForwardedRequest {
  readonly member: Member;
  readonly caller: Caller;
  readonly user?: ForwardedUser | undefined;
  readonly dialect: string;
  readonly request: IncomingMessage;
  /** Number of members that have forwarded it. */
  readonly hops?: number;
  /** The body, if it was already read. */
  readonly body?: unknown;
}

/** Hop-by-hop headers. */
const hopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'authorization',
]);

/** Throws AppError unavailable if the member cannot be reached. */
export async function forward(
  cluster: Cluster,
  { member, caller, user, dialect, request, hops = 0, body }: ForwardedRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<FastifyReply> {
  const headers = passedHeaders(request, body !== undefined);
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  const answer = await cluster.links.request(member, {
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: { ...headers, ...forwardHeaders(cluster.ownName, caller, dialect, user), [hopsHeader]: String(hops + 1) },
    body: body === undefined ? (hasBody ? request.pipe(new PassThrough()) : null) : JSON.stringify(body),
    signal,
  });
  reply.code(answer.status);
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && !hopHeaders.has(name)) reply.header(name, value);
  return reply.send(answer.body);
}

/** A websocket of another member's operation: joins both ends. */
export async function forwardUpgrade(
  cluster: Cluster,
  { member, caller, user, dialect, request }: Omit<ForwardedRequest, 'body'>,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const peer = await cluster.links.dial(member);
  const headers = { ...passedHeaders(request, false), ...forwardHeaders(cluster.ownName, caller, dialect, user) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  peer.write(
    [
      `GET ${request.url ?? '/'} HTTP/1.1`,
      `host: ${member.address}`,
      'connection: Upgrade',
      'upgrade: websocket',
      ...lines,
      '',
      '',
    ].join('\r\n'),
  );
  if (head.length > 0) peer.write(head);
  const end = (): void => {
    peer.destroy();
    socket.destroy();
  };
  for (const side of [peer, socket]) side.on('error', end).on('close', end);
  peer.pipe(socket);
  socket.pipe(peer);
}

/** A body that was read has another length and encoding. */
function passedHeaders(request: IncomingMessage, isBodyRead: boolean): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || hopHeaders.has(name) || isMemberHeader(name)) continue;
    if (isBodyRead && (name === 'content-length' || name === 'content-encoding')) continue;
    passed[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  // The other member's work belongs to the span of this request.
  const traceparent = currentTraceparent();
  if (traceparent !== undefined) passed['traceparent'] = traceparent;
  return passed;
}

const isMemberHeader = (name: string): boolean => /^x-gantry-(from|caller|dialect|hops)$/.test(name);
