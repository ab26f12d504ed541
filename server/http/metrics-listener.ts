// The listener of core.metrics_address: metrics and nothing else, whoever asks.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ListenerDeps } from './listen.ts';

const refusal = 'Only GET /1.0/metrics is served at this address (core.metrics_address)\n';
const headers = {
  'content-type': 'text/plain; charset=utf-8',
  'content-length': Buffer.byteLength(refusal),
  connection: 'close',
};

/** Passes requests for metrics on; all else is 404 and is not read. */
export function onlyMetrics({ dialect, handler }: ListenerDeps): ListenerDeps {
  const refuse = (response: ServerResponse): void => void response.writeHead(404, headers).end(refusal);
  const end = (socket: Duplex): void => void socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
  return {
    dialect,
    handler: (request, response) => (isForMetrics(request) ? handler(request, response) : refuse(response)),
    websockets: { upgrade: (_request, socket: Duplex) => end(socket) },
  };
}

const isForMetrics = ({ method, url = '' }: IncomingMessage): boolean =>
  (method === 'GET' || method === 'HEAD') && /^\/1\.0\/metrics\/?(?:\?|$)/.test(url);
