// Finds the command itself behind the host program that runs it in a container, to signal or kill it.
import { constants } from 'node:os';
import type { HostChild } from '../host/child-process.ts';
import { readNamespacePids } from '../host/proc.ts';
import { readProc } from '../../../lib/shared/processes.ts';

const lookAgainMs = 5;
/** A host program that takes longer than this hangs, and is killed. */
const stuckMs = 1_000;

/** Killing lxc-attach would leave the command running: the command is its child, and lxc-attach ends after it and reaps it, so that no
 *  zombie keeps the container's cgroup. */
export class ProcessInside {
  readonly #child: HostChild;

  constructor(child: HostChild) {
    this.#child = child;
  }

  /** Calls `onFound` for the command as soon as it exists. `byForce`: also kills the host program if it does not end afterwards. */
  find(onFound: (pid: number) => void, byForce = false): void {
    if (this.#child.isOver) return;
    const started = Date.now();
    const look = (): void => {
      if (this.#child.isOver) return;
      const pid = this.#child.pid === undefined ? undefined : firstInside(this.#child.pid);
      if (pid !== undefined) onFound(pid);
      if (pid !== undefined && !byForce) return;
      if (byForce && Date.now() - started > stuckMs) this.#child.kill();
      else setTimeout(look, lookAgainMs);
    };
    look();
  }
}

/** The nearest descendant in a pid namespace below ours. */
function firstInside(pid: number): number | undefined {
  for (const child of readChildren(pid)) {
    const found = readNamespacePids(child).length > 1 ? child : firstInside(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** SIGKILL to all descendants of a process, which reaps its children itself. Returns whether there were any. */
export function killBelow(pid: number): boolean {
  const children = readChildren(pid);
  for (const child of children) killTree(child);
  return children.length > 0;
}

export function killTree(pid: number): void {
  const below = readChildren(pid);
  sendSignal(pid, constants.signals.SIGKILL);
  for (const child of below) killTree(child);
}

/** The process may have ended on its own just now. */
export function sendSignal(pid: number, signal: number): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone, or a number that the kernel does not know.
  }
}

const readChildren = (pid: number): readonly number[] =>
  (readProc(`${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
