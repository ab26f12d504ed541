// Allows one program at a time on a state directory: a kernel name that is freed when its process ends, however it ends.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { hasCode } from '../../lib/shared/error-code.ts';
import { pause } from '../../lib/shared/deadline.ts';

export interface StateLock {
  release(): void;
}

const lookAgainMs = 100;

/** Undefined if another program still has it after `waitMs`. Such names hold within one network namespace, and only on Linux. */
export async function lockState(stateDir: string, waitMs = 0): Promise<StateLock | undefined> {
  if (process.platform !== 'linux') return { release() {} };
  const end = performance.now() + waitMs;
  for (;;) {
    const lock = await tryLock(stateDir);
    if (lock !== undefined || performance.now() >= end) return lock;
    await pause(lookAgainMs, undefined);
  }
}

async function tryLock(stateDir: string): Promise<StateLock | undefined> {
  const digest = createHash('sha256').update(realpathSync(stateDir)).digest('hex').slice(0, 40);
  const server = createServer((socket) => socket.destroy());
  server.unref();
  const bound = once(server, 'listening');
  server.listen({ path: `\0gantryd-${digest}` });
  try {
    await bound;
    return { release: () => void server.close() };
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE')) return undefined;
    throw error;
  }
}

export const stateInUse = (stateDir: string): Error =>
  new Error(`another gantryd works on ${stateDir}: stop it first; containers keep running`);
