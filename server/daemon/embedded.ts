// The daemon as a library: started inside another program's process, for one command or a test. Same composition as gantryd.
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import { startDaemon } from './daemon.ts';
import type { Daemon } from './daemon-options.ts';
import type { RuntimeChoice } from './host-drivers.ts';

export { startDryRunDaemon } from './dry-run-daemon.ts';

export interface EmbeddedOptions {
  readonly stateDir: string;
  /** auto, lxc or sim. */
  readonly runtime: string;
  /** Gets warnings and errors of the daemon, one line each. */
  readonly warn: (text: string) => void;
}

/** Throws if the runtime is unknown or the daemon cannot start, after closing everything. */
export async function startEmbeddedDaemon(options: EmbeddedOptions): Promise<Daemon> {
  const { stateDir, runtime, warn } = options;
  if (!isChoice(runtime)) throw new Error(`the runtime must be auto, lxc or sim, is ${JSON.stringify(runtime)}`);
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: (message) => warn(`gantryd: ${message}`),
    error: (message) => warn(`gantryd: ${message}`),
    writesDebug: () => false,
  };
  try {
    return await startDaemon({ stateDir, runtime, log });
  } catch (error) {
    throw new Error(errorText(error), { cause: error });
  }
}

const isChoice = (text: string): text is RuntimeChoice => text === 'auto' || text === 'lxc' || text === 'sim';
