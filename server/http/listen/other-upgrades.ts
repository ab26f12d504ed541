// Requests that offer an upgrade to something other than a websocket, such as the h2c of curl --http2: the offer is ignored (RFC 9110, 7.8).
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';

export const isForWebsocket = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  (headers.upgrade ?? '').toLowerCase().includes('websocket');

/** Node gives up the connection of each upgrade, so the request is read again from it, without the offer; its answer is the last one there. */
export function readAgain(server: Server): (request: IncomingMessage, socket: Duplex, rest: Buffer) => void {
  const reader = createServer({ requireHostHeader: false });
  for (const event of ['request', 'checkExpectation', 'clientError'] as const)
    reader.on(event, (...seen: unknown[]) => void server.emit(event, ...seen));
  return (request, socket, rest) => {
    socket.unshift(Buffer.concat([headWithoutOffer(request), rest]));
    reader.emit('connection', socket);
  };
}

const ofOffer: ReadonlySet<string> = new Set(['connection', 'upgrade', 'http2-settings']);

function headWithoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !ofOffer.has(name.toLowerCase()) ? [`${name}: ${rawHeaders[at + 1]}`] : [],
  );
  const head = [`${method} ${url} HTTP/${httpVersion}`, ...lines, 'Connection: close', '', ''];
  return Buffer.from(head.join('\r\n'), 'latin1');
}
