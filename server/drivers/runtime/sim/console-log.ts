// Keeps the console log of a simulated container, limited like LXC's.
import { appendFileSync, mkdirSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';

const maxBytes = 128 * 1024;

export function appendConsole(file: string, chunk: Buffer): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (sizeOf(file) + chunk.length > maxBytes && sizeOf(file) > 0) truncateSync(file);
  appendFileSync(file, chunk.subarray(-maxBytes), { mode: 0o600 });
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
