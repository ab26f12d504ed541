// Wakes the driver when LXC has finished with a container: a hook of the container writes a file here, also while no daemon runs.
// Judges nothing: whether it was a stop or a reboot is read from the processes.
import { type FSWatcher, mkdirSync, readdirSync, rmSync, watch } from 'node:fs';
import { quoteShell } from './lxc-names.ts';

export class ExitSpool {
  readonly #dir: string;
  #watcher: FSWatcher | undefined;
  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  }

  /** The value of lxc.hook.post-stop for one container; LXC hands it to a shell. */
  hookCommand(key: string): string {
    return `/bin/echo "$LXC_TARGET" > ${quoteShell(`${this.#dir}/${key}`)}`;
  }

  /** Calls `wake` with the key of each container that has something in the spool, now and later, possibly more than once. */
  start(wake: (key: string) => void, failed: (error: Error) => void): void {
    this.#watcher = watch(this.#dir, { persistent: false }, (_event, file) => {
      if (file !== null) wake(file);
    });
    this.#watcher.on('error', failed);
    for (const key of readdirSync(this.#dir)) wake(key);
  }

  discard(key: string): void {
    rmSync(`${this.#dir}/${key}`, { force: true });
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
