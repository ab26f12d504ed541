// Closes connections of slow strangers, and those of refused requests so that the answer arrives. Closing while the client still sends
// would reset the connection, and the client would get neither the answer nor the reason.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** For clients that read only after sending everything. */
const lingerMs = 30_000;

/** A stranger's request that comes slowly would hold its connection for ever. */
export function limitArrival(request: IncomingMessage): void {
  const over = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, lingerMs);
  over.unref();
  request.once('close', () => clearTimeout(over));
}

/** For the last answer of a connection: ends the sending side, and discards incoming data until the client closes its side. */
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

/** A request's body for readers that may stop early: the connection stays open for the answer. */
export const bodyOf = (request: IncomingMessage): Readable => Readable.from(chunksOf(request), { objectMode: false });

/** Throws the reader's errors here: inside the request they would destroy it. */
async function* chunksOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) yield chunk;
}
