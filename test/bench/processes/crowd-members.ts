// A process with several simulated members of one cluster: started by cluster-crowd.ts, which forms the cluster over their sockets.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import type { Daemon } from '../../../server/daemon/daemon-options.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { errorText } from '../../../server/lib/shared/reason.ts';

export type CrowdMessage =
  | { readonly type: 'ready'; readonly sockets: readonly string[] }
  /** Processor time of the whole process so far. */
  | { readonly type: 'cpu'; readonly ms: number }
  | { readonly type: 'failed'; readonly reason: string };

const tell = (message: CrowdMessage): void => void process.send?.(message);

const daemons: Daemon[] = [];

async function start(dir: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const stateDir = join(dir, name);
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    daemons.push(await startDaemon({ stateDir, runtime: 'sim', log: silentLog }));
  }
  tell({ type: 'ready', sockets: daemons.map(({ socketPath }) => socketPath) });
}

async function stop(): Promise<void> {
  await Promise.allSettled(daemons.map((daemon) => daemon.stop()));
  process.exit();
}

process.on('message', (message: string) => {
  const { user, system } = process.cpuUsage();
  if (message === 'cpu') tell({ type: 'cpu', ms: (user + system) / 1000 });
  else void stop();
});
// The bench has died.
process.on('disconnect', () => void stop());

const [dir = '', ...names] = process.argv.slice(2);
start(dir, names).catch((error: unknown) => tell({ type: 'failed', reason: errorText(error) }));
