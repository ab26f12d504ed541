// How slow the machine is at the moment, so that a limit in milliseconds on work of the kernel means the same everywhere. Where memory
// comes slowly from the host below a virtual machine, every new process takes several times as long.
import { spawnSync } from 'node:child_process';

/** How long starting `true` takes Node on the machine for which the limits are given. */
const usualStartMs = 2;

function startMs(): number {
  const begun = performance.now();
  spawnSync('true');
  return performance.now() - begun;
}

/** How many times as long as usual a new process takes now, at least 1: the fastest of nine, so that a busy processor counts little. */
export function processSlowness(): number {
  return Math.max(1, Math.min(...Array.from({ length: 9 }, startMs)) / usualStartMs);
}
