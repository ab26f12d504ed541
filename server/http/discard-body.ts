// Reads the rest of a refused upload and throws it away: a client that is still sending sees a closed connection, not the answer.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const discardMs = 3000;

/** Gives up after some seconds. */
export async function discardBody(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  request.resume();
  const over = new AbortController();
  const ended = new Promise<void>((resolve) =>
    request.once('end', resolve).once('close', resolve).once('error', resolve),
  );
  await Promise.race([ended, sleep(discardMs, undefined, { signal: over.signal }).catch(() => {})]);
  over.abort();
}
