// Ends a connection in a bounded time: `end` alone waits for ever for a peer that keeps its side open.
import type { Duplex } from 'node:stream';

/** The time that a peer has to close its side after the last answer. */
export const endGraceMs = 1000;

/** Sends the text as the last one, and destroys the socket when the peer does not close its side. */
export function endSoon(socket: Duplex, text: string): void {
  const timer = setTimeout(() => socket.destroy(), endGraceMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end(text);
}
