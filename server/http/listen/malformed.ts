// Answers to requests that are no HTTP, and to those without a host.
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { errors } from '../../api/errors.ts';
import { endSoon } from '../../lib/end-soon.ts';
import { rawAnswer } from '../../lib/shared/raw-answer.ts';
import type { HttpHandler } from '../app.ts';
import type { Dialect } from '../dialects/dialect.ts';

const json = { 'content-type': 'application/json' };

/** HTTP 1.1 demands a host; Node would refuse a request without one with an empty answer. */
export const hostsOnly =
  (dialect: Dialect, handler: HttpHandler): HttpHandler =>
  (request, response) => {
    if (request.headers.host !== undefined || request.httpVersion === '1.0') return handler(request, response);
    const { status, headers, body } = malformed(dialect, 'it has no header Host');
    const text = JSON.stringify(body);
    const length = { 'content-length': Buffer.byteLength(text) };
    response.writeHead(status, { ...headers, ...json, ...length, connection: 'close' });
    response.end(text);
  };

/** For `clientError`: there is no request to answer. Before the end of the handshake nothing can be sent. */
export function refuseMalformed(dialect: Dialect, error: Error, socket: Duplex): void {
  if (!socket.writable || isShakingHands(socket)) return void socket.destroy();
  const why = 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
  const { status, headers, body } = malformed(dialect, why);
  endSoon(socket, rawAnswer(status, { ...json, ...headers }, `${JSON.stringify(body)}\n`));
}

const malformed = (dialect: Dialect, why: string) =>
  dialect.error(errors.badRequest(`The request is malformed: ${why}`));

/** tlsClientError has sockets whose handshake failed or timed out. */
const isShakingHands = (socket: Duplex): boolean => 'encrypted' in socket && !(socket as TLSSocket).getProtocol();
