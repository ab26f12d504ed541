// The environment of programs that the daemon starts, always the same whatever the daemon's own, and where those programs are.
import { accessSync, constants } from 'node:fs';
import { succeeds } from './shared/attempt.ts';

/** Folders of the host's programs, including the superuser's, which a daemon's PATH often lacks. */
export const programDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** Never empty: programs start programs (LXC runs apparmor_parser), and without PATH they search only /bin and /usr/bin. */
export const programEnv = { LC_ALL: 'C', PATH: programDirs.join(':') } as const;

export const isProgram = (path: string): boolean => succeeds(() => accessSync(path, constants.X_OK));

/** Its path in the first of the directories that has it. */
export const programIn = (dirs: readonly string[], name: string): string | undefined =>
  dirs.map((dir) => `${dir}/${name}`).find(isProgram);
