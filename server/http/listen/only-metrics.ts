// The listener of core.metrics_address: passes requests for metrics on, and answers all others with 404 unread.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { endSoon } from '../../lib/end-soon.ts';
import { rawAnswer } from '../../lib/shared/raw-answer.ts';
import type { ListenerDeps } from './listen.ts';

const refusal = 'Only GET /1.0/metrics is served at this address (core.metrics_address)\n';
const plain = { 'content-type': 'text/plain; charset=utf-8' };

export const onlyMetrics = ({ dialect, handler }: ListenerDeps): ListenerDeps => ({
  dialect,
  handler: (request, response) => {
    if (isForMetrics(request)) return handler(request, response);
    const length = { 'content-length': Buffer.byteLength(refusal) };
    response.writeHead(404, { ...plain, ...length, connection: 'close' }).end(refusal);
  },
  websockets: { upgrade: (_request, socket: Duplex) => endSoon(socket, rawAnswer(404, plain, refusal)) },
});

const isForMetrics = ({ method, url = '' }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /^\/1\.0\/metrics\/?(?:\?|$)/.test(url);
