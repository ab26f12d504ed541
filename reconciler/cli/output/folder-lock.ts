// Locks a folder for one process at a time. The kernel releases the lock with the process, so it is never stale.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { commandError } from '../errors/usage-error.ts';
import { hasCode } from '../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';
import { repeatWhile } from '../../../server/lib/shared/repeat.ts';

/** An abstract socket of Linux: a name that one process can have, without a file. */
export const lockName = (folder: string): string =>
  `\0gantry-move-${createHash('sha256').update(folder).digest('hex').slice(0, 40)}`;

const isTaken = (error: unknown): boolean => hasCode(error, 'EADDRINUSE');

async function locked(folder: string): Promise<Server> {
  await makeFolder(folder, 0o700);
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(lockName(await realpath(folder))), 'listening');
  return server;
}

/** Runs `work` after that of other processes. Waits ten seconds at most: any user of this machine can hold the lock. */
export async function inTurn<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work();
  const server = await repeatWhile(() => locked(folder), { mayPass: isTaken, runs: 500, pauseMs: 20 }).catch(
    (error: unknown) => {
      if (!isTaken(error)) throw error;
    },
  );
  try {
    return await work();
  } finally {
    server?.close();
  }
}

/** Runs `work` while holding the folder's lock on this host. Outside Linux it runs without a lock. */
export async function withFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work();
  const server = await locked(folder).catch((error: unknown) => {
    if (!isTaken(error)) throw error;
    throw commandError(
      `another move uses the folder ${folder}: wait until it ends, or name another folder with --state-dir`,
      error,
    );
  });
  try {
    return await work();
  } finally {
    server.close();
  }
}
