// Confines programs that process untrusted data, and makes programs end with this process: one that outlived its killed parent would write
// into files that the next one removes.
import { spawnSync } from 'node:child_process';
import { fenced, noFenceHere, type Fence } from './fence.ts';
import { programEnv } from './program-env.ts';

export interface Confinement extends Fence {
  /** Capabilities that it keeps when run as root; none otherwise. */
  readonly keeps?: readonly string[];
  /** It continues when this process ends. */
  readonly outlives?: boolean;
}

export interface ConfinedCommand {
  readonly argv: readonly string[];
  readonly confinement: Confinement;
}

/** Capabilities for reading trees of any owner. Attributes named `trusted.*`, which images with overlay layers have, need sys_admin. */
export const keptToRead: readonly string[] = ['dac_read_search', 'sys_admin'];
/** Capabilities for creating files of any owner. */
export const keptToWrite: readonly string[] = [
  ...keptToRead,
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'mknod',
  'setfcap',
];

/** For programs that only read open files, and write to a pipe or an open file. */
export const filter: Confinement = { reads: [], writes: [] };

/** Decompressors of honest images need less than 1 GiB. */
const maxDataBytes = 4 * 1024 ** 3;
/** More than any honest image takes on an emulated processor. */
const maxCpuSeconds = 12 * 3600;

/** `ofUser`: restrictions that an unprivileged user can put on its own programs. */
export type Strength = 'fenced' | 'withoutFence' | 'ofUser' | 'mortal';

/** The same program, confined as far as this host and user allow, and killed by the kernel when this process ends. */
export function confined({ argv, confinement }: ConfinedCommand): readonly string[] {
  const strength = strengthHere();
  if (strength === 'mortal') return confinement.outlives === true ? argv : mortal(argv);
  return [...commandLine(confinement, strength), ...argv];
}

/** Programs that each exec the next. */
function commandLine(confinement: Confinement, strength: Exclude<Strength, 'mortal'>): readonly string[] {
  const { keeps = [], outlives = false, isServer = false } = confinement;
  const isOfUser = strength === 'ofUser';
  const fence =
    strength === 'withoutFence' ? undefined : fenced(isOfUser ? { ...confinement, isOfUser: true } : confinement);
  const rights = ['--bounding-set', ['-all', ...keeps.map((name) => `+${name}`)].join(','), '--inh-caps', '-all'];
  return [
    ...(fence ?? (isServer ? [] : ['unshare', '--net', '--ipc', '--'])),
    'prlimit',
    '--core=0',
    `--data=${maxDataBytes}`,
    '--nofile=1024',
    ...(outlives ? [] : [`--cpu=${maxCpuSeconds}`]),
    '--',
    'setpriv',
    ...(outlives ? [] : ['--pdeathsig', 'KILL']),
    '--no-new-privs',
    ...(isOfUser ? [] : rights),
    '--',
  ];
}

/** By effective user: a process may drop its privileges and regain them. */
const strengths = new Map<number | undefined, Strength>();

/** The confinement that this host and user allow. */
export function strengthHere(): Strength {
  const user = process.geteuid?.();
  const known = strengths.get(user);
  if (known !== undefined) return known;
  const { strength, isFinal } = judgeStrength((one) => statusOf(commandLine({ writes: [] }, one)), user === 0);
  if (isFinal) strengths.set(user, strength);
  return strength;
}

/** The first strength whose trial ends with 0. A failure as root may be temporary, such as a lack of processes: then it is tried again,
 *  unless the kernel has no fence. */
export function judgeStrength(
  trial: (strength: Exclude<Strength, 'mortal'>) => number | null,
  isRoot: boolean,
): { readonly strength: Strength; readonly isFinal: boolean } {
  const fence = trial('fenced');
  if (fence === 0) return { strength: 'fenced', isFinal: true };
  if (trial('withoutFence') === 0) return { strength: 'withoutFence', isFinal: !isRoot || fence === noFenceHere };
  return { strength: trial('ofUser') === 0 ? 'ofUser' : 'mortal', isFinal: !isRoot };
}

const statusOf = ([file = '', ...args]: readonly string[]): number | null =>
  spawnSync(file, [...args, 'true'], { stdio: 'ignore', env: programEnv }).status;

let mortalPrefix: readonly string[] | undefined;

/** The same program, killed by the kernel when its parent ends. Unchanged if the host's setpriv (busybox) cannot do it. */
export function mortal(argv: readonly string[]): readonly string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--'];
  mortalPrefix ??= canSetpriv() || statusOf(prefix) === 0 ? prefix : [];
  return [...mortalPrefix, ...argv];
}

/** Every other strength includes it. */
function canSetpriv(): boolean {
  const known = strengths.get(process.geteuid?.());
  return known !== undefined && known !== 'mortal';
}
