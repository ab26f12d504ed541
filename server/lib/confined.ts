// Confines programs that read what strangers made: no network, few capabilities, no new privileges, bounded memory.
import { spawnSync } from 'node:child_process';
import { mortal } from './die-with-parent.ts';
import { programEnv } from './program-env.ts';

/** What unpacking files of any owner needs. Attributes named `trusted.*`, which images with overlay layers have, need sys_admin: it is the widest of
 *  them, and the reason why these programs get neither a network nor new privileges. */
const kept = ['chown', 'dac_override', 'dac_read_search', 'fowner', 'fsetid', 'mknod', 'setfcap', 'sys_admin'];
const capabilities = ['-all', ...kept.map((name) => `+${name}`)].join(',');
/** Decompressors of honest images need less than 1 GiB. */
const maxDataBytes = 4 * 1024 ** 3;

/** The start of the command line, made of programs of util-linux that each replace themselves by the next. */
export const confinement: readonly string[] = [
  'unshare',
  '--net',
  '--ipc',
  '--',
  'prlimit',
  '--core=0',
  `--data=${maxDataBytes}`,
  '--nofile=1024',
  '--',
  'setpriv',
  '--pdeathsig',
  'KILL',
  '--no-new-privs',
  '--bounding-set',
  capabilities,
  '--inh-caps',
  '-all',
  '--',
];

/** By effective user: a process may give its rights up and take them back. */
const isPossible = new Map<number | undefined, boolean>();

/** The same program, confined and killed by the kernel when this process ends. Only the latter where the daemon may not confine (it is not root). */
export function confined(argv: readonly string[]): readonly string[] {
  return mayConfine() ? [...confinement, ...argv] : mortal(argv);
}

function mayConfine(): boolean {
  const user = process.geteuid?.();
  const known = isPossible.get(user);
  if (known !== undefined) return known;
  const [first = '', ...rest] = confinement;
  const found = spawnSync(first, [...rest, 'true'], { stdio: 'ignore', env: programEnv }).status === 0;
  // A refusal to root may pass, such as a lack of processes for a moment: it is asked again.
  if (found || user !== 0) isPossible.set(user, found);
  return found;
}
