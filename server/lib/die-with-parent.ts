// Programs that end with this process: one that goes on copying after its caller was killed writes into what the next one clears away.
import { spawnSync } from 'node:child_process';

let prefix: readonly string[] | undefined;

/** The same program, killed by the kernel when the process that starts it ends in whatever way. As it is where the host cannot. */
export function mortal(argv: readonly string[]): readonly string[] {
  prefix ??= canPass() ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  return [...prefix, ...argv];
}

/** The one of busybox cannot. */
function canPass(): boolean {
  return spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true'], { stdio: 'ignore' }).status === 0;
}
