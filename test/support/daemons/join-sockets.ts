// Pipes two connections into each other; the end of one ends the other.
import type { Duplex } from 'node:stream';

export function joinSockets(near: Duplex, far: Duplex): void {
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.pipe(other);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}
