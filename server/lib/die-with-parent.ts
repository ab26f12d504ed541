// Makes programs end together with this process: a copy that continues after its caller was killed would write into files that the next
// one removes.
import { spawnSync } from 'node:child_process';
import { programEnv } from './program-env.ts';

let prefix: readonly string[] | undefined;

/** The same program, killed by the kernel whenever the process that starts it ends. Unchanged where the host does not support that. */
export function mortal(argv: readonly string[]): readonly string[] {
  prefix ??= canPass() ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  return [...prefix, ...argv];
}

/** The setpriv of busybox does not support it. */
function canPass(): boolean {
  return spawnSync('setpriv', ['--pdeathsig', 'KILL', '--', 'true'], { stdio: 'ignore', env: programEnv }).status === 0;
}
