// Ends a connection in limited time: `end` alone waits forever for a peer that keeps its side open.
import type { Duplex } from 'node:stream';

/** How long a peer may take to close its side after the last answer. */
export const endGraceMs = 1000;

/** Sends the last text, and destroys the socket if the peer does not close its side. */
export function endSoon(socket: Duplex, text: string): void {
  const timer = setTimeout(() => socket.destroy(), endGraceMs);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  socket.end(text);
}
