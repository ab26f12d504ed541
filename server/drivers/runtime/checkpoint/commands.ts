// The command lines of lxc-checkpoint and CRIU. Pure.

/** `-q`: a tool whose daemon died must not write to a closed pipe. */
export function restoreArgv(
  program: string,
  place: { readonly lxcPath: string; readonly key: string; readonly images: string; readonly toolLog: string },
): readonly string[] {
  const { lxcPath, key, images, toolLog } = place;
  return [program, '-q', '-P', lxcPath, '-n', key, '-D', images, '-o', toolLog, '-l', 'WARN', '--restore'];
}

export const restoreLog = 'restore.log';

export const preDumpLog = 'pre-dump.log';

/** The environment names the file with the settings. */
export const preDumpArgv = (criu: string, initPid: number, images: string): readonly string[] => [
  criu,
  'pre-dump',
  '--tree',
  initPid.toString(),
  '--images-dir',
  images,
  '--log-file',
  preDumpLog,
  '--track-mem',
];

export const dumpLog = 'dump.log';

export interface DumpPlace {
  /** Directory of the images, and of the log. */
  readonly images: string;
  readonly initPid: number;
  /** Directory of the control group that stands still meanwhile. */
  readonly freezeGroup: string;
  /** What `bindTargets` finds: LXC names these mounts to CRIU at the restore. */
  readonly binds: readonly string[];
  readonly isStopped: boolean;
  /** Runs after each step of CRIU, which its environment names. */
  readonly script?: string | undefined;
}

/** The command that lxc-checkpoint runs, without its word of the control group. */
export const dumpArgv = (criu: string, place: DumpPlace): readonly string[] => [
  criu,
  'dump',
  `--tree=${place.initPid}`,
  `--images-dir=${place.images}`,
  `--log-file=${dumpLog}`,
  '--tcp-established',
  '--file-locks',
  '--link-remap',
  '--force-irmap',
  '--skip-in-flight',
  '--manage-cgroups=full',
  '--enable-external-sharing',
  '--enable-external-masters',
  '--enable-fs=hugetlbfs',
  '--enable-fs=tracefs',
  '--ext-mount-map=auto',
  `--freeze-cgroup=${place.freezeGroup}`,
  ...place.binds.map((target) => `--ext-mount-map=/${target}:${target}`),
  ...(place.isStopped ? [] : ['--leave-running']),
  ...(place.script === undefined ? [] : [`--action-script=${place.script}`]),
];

/** Targets of the bind mounts of a configuration of LXC, as it is written there: relative to the root of the container. */
export const bindTargets = (config: string): readonly string[] =>
  [...config.matchAll(/^\s*lxc\.mount\.entry\s*=\s*(\S+)\s+(\S+)\s+\S+\s+(\S+)/gm)]
    .filter(([, , , options = '']) => options.split(',').some((option) => option === 'bind' || option === 'rbind'))
    .map(([, , target = '']) =>
      target.replaceAll(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8))),
    );
