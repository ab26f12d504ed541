// The log line of a request: level debug, with the facts that the specification lists for logging events (part 6).
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { writesDebug, type Log } from '../lib/log.ts';

/** Longer URLs are cut: a client recognizes its request anyway. */
const maxUrlLength = 500;

export function logRequest(log: Log, request: IncomingMessage): void {
  if (!writesDebug(log)) return;
  const { method = '', url = '', socket } = request;
  // Local sockets have no peer address.
  const ip = socket instanceof TLSSocket ? (socket.remoteAddress ?? '') : '@';
  log.debug('Handling a request', { ip, method, url: url.slice(0, maxUrlLength) });
}
