// Confines the programs that work on what strangers made, and makes programs end together with this process: a copy that continues after its
// caller was killed would write into files that the next one removes.
import { spawnSync } from 'node:child_process';
import { fenced, noFenceHere, type Fence } from './fence.ts';
import { programEnv } from './program-env.ts';

export interface Confinement extends Fence {
  /** Capabilities that it keeps where it runs as root; none otherwise. */
  readonly keeps?: readonly string[];
  /** It continues when this process ends. */
  readonly outlives?: boolean;
}

export interface ConfinedCommand {
  readonly argv: readonly string[];
  readonly confinement: Confinement;
}

/** What reading trees of any owner needs. Attributes named `trusted.*`, which images with overlay layers have, need sys_admin. */
export const keptToRead: readonly string[] = ['dac_read_search', 'sys_admin'];
/** What files of any owner need when they are made. */
export const keptToWrite: readonly string[] = [
  ...keptToRead,
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'mknod',
  'setfcap',
];

/** For programs that read what is open already, and write to a pipe or an open file. */
export const filter: Confinement = { reads: [], writes: [] };

/** Decompressors of honest images need less than 1 GiB. */
const maxDataBytes = 4 * 1024 ** 3;
/** More than any honest image takes, at the speed of an emulated processor. */
const maxCpuSeconds = 12 * 3600;

/** `ofUser`: what a user who is not root may take from its own programs. */
export type Strength = 'fenced' | 'withoutFence' | 'ofUser' | 'mortal';

/** The same program, confined as far as this host and user may, and killed by the kernel when this process ends. */
export function confined({ argv, confinement }: ConfinedCommand): readonly string[] {
  const strength = strengthHere();
  if (strength === 'mortal') return confinement.outlives === true ? argv : mortal(argv);
  return [...commandLine(confinement, strength), ...argv];
}

/** Programs that each replace themselves by the next. */
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

/** By effective user: a process may give its rights up and take them back. */
const strengths = new Map<number | undefined, Strength>();

/** How much this host and user allow. */
export function strengthHere(): Strength {
  const user = process.geteuid?.();
  const known = strengths.get(user);
  if (known !== undefined) return known;
  const { strength, isFinal } = judgeStrength((one) => statusOf(commandLine({ writes: [] }, one)), user === 0);
  if (isFinal) strengths.set(user, strength);
  return strength;
}

/**
 * The first strength whose trial ends with 0. A refusal to root may pass, such as a lack of processes for a moment: then it is asked again,
 * unless the kernel has no fence.
 */
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

/** The same program, killed by the kernel whenever the process that starts it ends. Unchanged where the setpriv of the host (busybox) cannot. */
export function mortal(argv: readonly string[]): readonly string[] {
  const prefix = ['setpriv', '--pdeathsig', 'KILL', '--'];
  mortalPrefix ??= canSetpriv() || statusOf(prefix) === 0 ? prefix : [];
  return [...mortalPrefix, ...argv];
}

/** Every other strength has been tried with it. */
function canSetpriv(): boolean {
  const known = strengths.get(process.geteuid?.());
  return known !== undefined && known !== 'mortal';
}
