// Keeps moves between cgroups fast for a while. Moves nothing: it writes this process where it already is.
import { open, type FileHandle } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CgroupTree, parseGroups } from './cgroup.ts';

/** Longer than a client's pause between successive commands. */
const holdMs = 40;
/** Shorter than the kernel's grace period (4 to 12 ms). */
const everyMs = 3;

/** The first move of a process after a pause waits for an RCU grace period of all processors (8 ms and more if idle), the next ones do not.
 *  So the wait starts when a command or start is requested, in parallel to its preparation, and is kept up until a little after the last
 *  one. */
export class GroupMoves {
  readonly #file: string | undefined;
  #until = 0;
  #isBusy = false;
  constructor(tree: CgroupTree) {
    this.#file = ownProcsFile(tree);
  }

  /** A move will come soon. */
  expect(): void {
    this.#until = performance.now() + holdMs;
    if (this.#isBusy || this.#file === undefined) return;
    this.#isBusy = true;
    void this.#hold(this.#file)
      // Without the permission, moves are as slow as before.
      .catch(() => {})
      .finally(() => (this.#isBusy = false));
  }

  close(): void {
    this.#until = 0;
  }

  async #hold(file: string): Promise<void> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'w');
      while (performance.now() < this.#until) {
        await handle.write(`${process.pid}`, 0);
        await sleep(everyMs, undefined, { ref: false });
      }
    } finally {
      await handle?.close();
    }
  }
}

/** cgroup.procs of this process's group, in any hierarchy: all share one lock. */
function ownProcsFile(tree: CgroupTree): string | undefined {
  const own = parseGroups(readFileSync('/proc/self/cgroup', 'utf8'));
  const first = parseGroups(readFileSync('/proc/1/cgroup', 'utf8'));
  for (const [controller, root] of tree.roots) {
    const group = own.get(controller);
    const base = (first.get(controller) ?? '/').replace(/\/init\.scope$/, '').replace(/^\/$/, '');
    if (group !== undefined && group.startsWith(base)) return `${root}${group.slice(base.length)}/cgroup.procs`;
  }
  return undefined;
}
