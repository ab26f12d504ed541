// Whether this host has the programs that a driver starts. They are looked for, not run: each start of a daemon asks.
import { access, constants } from 'node:fs/promises';
import { programDirs } from '../../lib/program-env.ts';

export async function isInstalled(program: string): Promise<boolean> {
  const looks = programDirs.map((dir) => access(`${dir}/${program}`, constants.X_OK));
  return (await Promise.allSettled(looks)).some(({ status }) => status === 'fulfilled');
}

/** The first missing program, with the package to install; undefined if none is missing. */
export async function missingProgram(
  programs: readonly (readonly [program: string, from: string])[],
): Promise<string | undefined> {
  for (const [program, from] of programs)
    if (!(await isInstalled(program))) return `the program ${program} is missing: install the package ${from}`;
  return undefined;
}
