// Closes connections of refused requests so that the answer arrives. A connection that is closed while its client still sends is reset, and
// the client finds neither the answer nor the reason.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** For clients that read only when they have sent everything. */
const lingerMs = 30_000;

/** The connection of an answer that is its last: says that no more is sent, and throws away what comes until the client closes it too. */
export function linger(request: IncomingMessage): void {
  const { socket } = request;
  if (request.destroyed) return;
  socket.destroySoon = () => {
    const over = setTimeout(() => socket.destroy(), lingerMs);
    over.unref();
    socket.once('close', () => clearTimeout(over));
    request.resume();
    socket.end();
  };
}

/** The body of a request, for those who break off reading: the connection stays for the answer. */
export const bodyOf = (request: IncomingMessage): Readable => Readable.from(chunksOf(request), { objectMode: false });

/** An error of the reader is thrown here, and not into the request, which would be destroyed by it. */
async function* chunksOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) yield chunk;
}
