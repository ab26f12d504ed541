// A process with several simulated daemons: cluster-crowd.ts forms a cluster over their sockets, controller.ts applies sets to them.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import { startDryRunDaemon, type DryRunDaemon } from '../../../server/daemon/dry-run-daemon.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { errorText } from '../../../server/lib/shared/reason.ts';
import { emptyServer } from '../../support/daemons/in-memory.ts';

/** Where the records of a daemon are: in a file, or in memory, where a daemon needs a third of the room. */
export type RecordsPlace = 'file' | 'memory';

export type CrowdMessage =
  | { readonly type: 'ready'; readonly sockets: readonly string[] }
  /** Processor time of the whole process so far. */
  | { readonly type: 'cpu'; readonly ms: number }
  | { readonly type: 'failed'; readonly reason: string };

const tell = (message: CrowdMessage): void => void process.send?.(message);

const daemons: DryRunDaemon[] = [];

async function start(place: string, dir: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    daemons.push(await (place === 'memory' ? startDryRunDaemon(emptyServer) : inFile(dir, name)));
  tell({ type: 'ready', sockets: daemons.map(({ socketPath }) => socketPath) });
}

function inFile(dir: string, name: string): Promise<DryRunDaemon> {
  const stateDir = join(dir, name);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  return startDaemon({ stateDir, runtime: 'sim', log: silentLog });
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

const [place = '', dir = '', ...names] = process.argv.slice(2);
start(place, dir, names).catch((error: unknown) => tell({ type: 'failed', reason: errorText(error) }));
