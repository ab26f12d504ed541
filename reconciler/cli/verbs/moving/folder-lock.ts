// Locks a state folder for one move at a time. The kernel releases the lock with the process, so it is never stale.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { commandError } from '../../errors/usage-error.ts';
import { hasCode } from '../../../../server/lib/shared/error-code.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

/** An abstract socket of Linux: a name that one process can have, without a file. */
export const lockName = (folder: string): string =>
  `\0gantry-move-${createHash('sha256').update(folder).digest('hex').slice(0, 40)}`;

/** Runs `work` while holding the folder's lock on this host. Outside Linux it runs without a lock. */
export async function withFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work();
  await makeFolder(folder, 0o700);
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(lockName(await realpath(folder))), 'listening').catch((error: unknown) => {
    if (!hasCode(error, 'EADDRINUSE')) throw error;
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
