// The environment of lxc-start: it finds every program of the host but the two that take id maps from /etc/subuid.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { findProgram } from '../host/programs.ts';
import { programEnv } from '../../../lib/program-env.ts';

/** LXC has them write the id maps, where they have the rights to: three times slower, and refused when root has no such range. */
const mapPrograms = ['newuidmap', 'newgidmap'] as const;

/** Pure. `hidingDir`: as `hideMapPrograms` fills it. */
export const startEnv = (hidingDir: string): Readonly<Record<string, string>> => ({
  ...programEnv,
  PATH: `${hidingDir}:${programEnv.PATH}`,
});

/** Puts programs of these names into the directory that have no rights: LXC looks at the first on its path, and writes the maps itself. */
export function hideMapPrograms(hidingDir: string): void {
  mkdirSync(hidingDir, { recursive: true, mode: 0o700 });
  for (const name of mapPrograms) {
    rmSync(`${hidingDir}/${name}`, { force: true });
    symlinkSync(findProgram('false') ?? '/bin/false', `${hidingDir}/${name}`);
  }
}
