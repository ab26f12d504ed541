// The span of a request that the daemon carries out: from its arrival to the end of its answer, inside the span that its caller named.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { underSpan, type Tracer } from '../lib/shared/spans.ts';
import { parseTraceparent } from '../lib/shared/traceparent.ts';

export interface TracedRequest {
  readonly endpoint: Pick<Endpoint, 'method' | 'path'>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly project: string;
  /** Name of this member of a cluster. */
  readonly member: string;
  readonly arrivedMs: number;
}

/** Runs the work with the span under way. Queries and bodies stay out of it: they may have secrets. */
export function traceRequest<T>(tracer: Tracer | undefined, traced: TracedRequest, work: () => Promise<T>): Promise<T> {
  if (tracer === undefined) return work();
  const { endpoint, request, response, project, member, arrivedMs } = traced;
  const parent = parseTraceparent(headerOf(request));
  const span = tracer.begin(`${endpoint.method} ${endpoint.path}`, {
    kind: 'server',
    ...(parent === undefined ? {} : { parent }),
    startMs: arrivedMs,
    attributes: {
      'http.request.method': request.method ?? endpoint.method,
      'http.route': endpoint.path,
      'url.path': request.url?.split('?')[0] ?? '',
      'gantry.project': project,
      ...(member === 'none' ? {} : { 'gantry.member': member }),
    },
  });
  const ended = (): void => {
    const { statusCode, writableFinished } = response;
    span.set('http.response.status_code', statusCode);
    span.end(statusCode >= 500 ? `HTTP ${statusCode}` : writableFinished ? undefined : 'the client went away');
  };
  response.once('close', ended);
  return underSpan(tracer, span, work);
}

function headerOf({ headers }: IncomingMessage): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
