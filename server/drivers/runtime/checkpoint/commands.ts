// The command lines of lxc-checkpoint and CRIU. Pure.

/** `-q`: a tool whose daemon died must not write to a closed pipe. */
export function checkpointArgv(
  program: string,
  options: {
    readonly lxcPath: string;
    readonly key: string;
    readonly images: string;
    readonly toolLog: string;
    readonly args: readonly string[];
  },
): readonly string[] {
  const { lxcPath, key, images, toolLog, args } = options;
  return [program, '-q', '-P', lxcPath, '-n', key, '-D', images, '-o', toolLog, '-l', 'WARN', ...args];
}

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
