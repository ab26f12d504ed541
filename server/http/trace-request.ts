// Spans of requests that the daemon carries out, inside the span that their caller named: for a request from its arrival to the end of its
// answer, for a websocket to the end of its connection.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { underSpan, type Attributes, type Span, type Tracer } from '../lib/shared/spans.ts';
import { parseTraceparent, type SpanPlace } from '../lib/shared/traceparent.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface TracedRequest {
  readonly endpoint: Pick<Endpoint, 'method' | 'path'>;
  readonly request: IncomingMessage;
  readonly project: string;
  readonly member: string;
  readonly arrivedMs: number;
}

const statusName = 'http.response.status_code';

/** Runs the work within the span. Omits queries and bodies: they may contain secrets. */
export function traceRequest<T>(
  tracer: Tracer | undefined,
  traced: TracedRequest & { readonly response: ServerResponse },
  work: () => Promise<T>,
): Promise<T> {
  if (tracer === undefined) return work();
  const { response } = traced;
  const span = begin(tracer, traced);
  const ended = (): void => {
    const { statusCode, writableFinished } = response;
    span.set(statusName, statusCode);
    span.end(statusCode >= 500 ? `HTTP ${statusCode}` : writableFinished ? undefined : 'the client went away');
  };
  response.once('close', ended);
  return underSpan(tracer, span, work);
}

export interface TracedSocket extends TracedRequest {
  readonly socket: Duplex;
  /** The operation of the channel; absent: an event stream. */
  readonly operation?: string;
  /** The operation's span: the channel belongs to it if its caller names no other. */
  readonly above: SpanPlace | undefined;
}

export interface SocketTrace {
  /** 101: it is a websocket from here on. */
  answered(status: number): void;
  /** Runs the work within the span. */
  within<T>(work: () => T): T;
}

/** The span of a websocket; it ends with the connection, however that ends. */
export function traceSocket(tracer: Tracer, traced: TracedSocket): SocketTrace {
  const { socket, operation, above } = traced;
  const more = {
    'network.protocol.name': 'websocket',
    ...withoutUndefined({ 'gantry.operation': operation }),
  };
  const span = begin(tracer, traced, more, above);
  socket.once('close', () => span.end());
  return {
    answered(status) {
      span.set(statusName, status);
      if (status >= 500) span.end(`HTTP ${status}`);
    },
    within: (work) => underSpan(tracer, span, work),
  };
}

function begin(
  tracer: Tracer,
  { endpoint, request, project, member, arrivedMs }: TracedRequest,
  more: Attributes = {},
  above?: SpanPlace,
): Span {
  const parent = parseTraceparent(headerOf(request)) ?? above;
  return tracer.begin(`${endpoint.method} ${endpoint.path}`, {
    kind: 'server',
    ...withoutUndefined({ parent }),
    startMs: arrivedMs,
    attributes: {
      'http.request.method': request.method ?? endpoint.method,
      'http.route': endpoint.path,
      'url.path': request.url?.split('?')[0] ?? '',
      'gantry.project': project,
      ...(member === 'none' ? {} : { 'gantry.member': member }),
      ...more,
    },
  });
}

function headerOf({ headers }: IncomingMessage): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
