// Keeps moves between control groups quick for a moment. Moves nothing: it writes this process where it already is.
import { open, type FileHandle } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CgroupTree, parseGroups } from './cgroup.ts';

/** Longer than a client takes from one command to the next in a row of them. */
const holdMs = 40;
/** Shorter than the kernel takes to forget (4 to 12 ms). */
const everyMs = 3;

/**
 * The first move of a process after a while waits until every processor has passed through the kernel's scheduler (8 ms and more
 * when they are idle), the next ones do not. So that wait is begun when a command or a start is asked for, while the rest is
 * prepared, and the kernel is held ready until a little after the last of a row.
 */
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
      // A host that does not let us is as quick as it is.
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

/** cgroup.procs of the group that this process is in, of any one hierarchy: the wait is the same lock for all. */
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
