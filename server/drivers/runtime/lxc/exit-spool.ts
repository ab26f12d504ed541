// Wakes the driver when LXC has finished with a container: the container's hook writes a file here, also while no daemon runs. A reboot's
// hook waits for the daemon's work before the next init. Whether it was a stop or a reboot is left to the processes.
import {
  type FSWatcher,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { quoteShell } from '../safe-names.ts';

/** Max wait of a reboot for the daemon, in hundredths of a second. */
const patience = 1000;

export type BetweenBoots = (name: string) => Promise<void>;

export class ExitSpool {
  readonly #dir: string;
  /** Holds the pid of the daemon that answers. */
  readonly #pidFile: string;
  readonly #listeners = new Set<BetweenBoots>();
  #watcher: FSWatcher | undefined;
  constructor(dir: string) {
    this.#dir = dir;
    this.#pidFile = `${dir}.pid`;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** The value of lxc.hook.post-stop for one container. LXC has a shell run `exec VALUE NAME ...`, so it must be one program: of several
   *  commands a shell would run only the first. */
  hookCommand(key: string): string {
    const file = quoteShell(`${this.#dir}/${key}`);
    // Renamed atomically: a daemon that reads it at once must not find it empty.
    const unfinished = quoteShell(`${this.#dir}/.${key}`);
    const isAwaited = `[ "$LXC_TARGET" = reboot ] && [ -e ${file} ] && kill -0 "$(cat ${quoteShell(this.#pidFile)})"`;
    const waiting = `i=0; while [ $i -lt ${patience} ] && ${isAwaited}; do sleep 0.01; i=$((i+1)); done 2>/dev/null`;
    return `/bin/sh -c ${quoteShell(`echo "$LXC_TARGET" > ${unfinished}; mv ${unfinished} ${file}; ${waiting}; true`)}`;
  }

  /** Calls `wake` with the key of each container in the spool, now and later, possibly more than once. */
  start(wake: (key: string) => void, failed: (error: Error) => void): void {
    writeFileSync(this.#pidFile, String(process.pid), { mode: 0o600 });
    this.#watcher = watch(this.#dir, { persistent: false }, (_event, file) => {
      if (file !== null) wake(file);
    });
    this.#watcher.on('error', failed);
    for (const key of readdirSync(this.#dir)) wake(key);
  }

  betweenBoots(listener: BetweenBoots): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Call when the container's old init has ended for a reboot, and the next has not begun: lets it begin once all listeners are done. Logs
   *  their errors. */
  async answer(key: string, name: string, log: Log): Promise<void> {
    const file = `${this.#dir}/${key}`;
    if (!existsSync(file) || !readFileSync(file, 'utf8').startsWith('reboot')) return;
    for (const listener of this.#listeners)
      await listener(name).catch((error: unknown) => log.error(`before ${name} boots again: ${errorText(error)}`));
    this.discard(key);
  }

  discard(key: string): void {
    rmSync(`${this.#dir}/${key}`, { force: true });
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    rmSync(this.#pidFile, { force: true });
  }
}
