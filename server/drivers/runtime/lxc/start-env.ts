// The environment of lxc-start: it finds every program of the host but the two that apply id maps from /etc/subuid.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { findProgram } from '../host/programs.ts';
import { programEnv } from '../../../lib/program-env.ts';

/** LXC runs them to write id maps if they have privileges: three times slower, and refused if root has no such range. */
const mapPrograms = ['newuidmap', 'newgidmap'] as const;

/** `hidingDir`: as filled by `hideMapPrograms`. Pure. */
export const startEnv = (hidingDir: string): Readonly<Record<string, string>> => ({
  ...programEnv,
  PATH: `${hidingDir}:${programEnv.PATH}`,
});

/** Puts unprivileged programs of these names into the directory: LXC finds them first in its path, and then writes the maps itself. */
export function hideMapPrograms(hidingDir: string): void {
  mkdirSync(hidingDir, { recursive: true, mode: 0o700 });
  for (const name of mapPrograms) {
    rmSync(`${hidingDir}/${name}`, { force: true });
    symlinkSync(findProgram('false') ?? '/bin/false', `${hidingDir}/${name}`);
  }
}
