// Finds programs of the host, whatever PATH the daemon was started with.
import { accessSync, constants } from 'node:fs';
import { programDirs } from '../../../lib/program-env.ts';

/** Absolute path of a host program, whatever the daemon's own PATH. */
export function findProgram(name: string): string | undefined {
  return programDirs
    .map((dir) => `${dir}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
