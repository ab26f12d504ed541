// Finds programs of the host, whatever PATH the daemon was started with.
import { accessSync, constants } from 'node:fs';

export const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** Absolute path of a host program, wherever the daemon's own PATH points. */
export function findProgram(name: string): string | undefined {
  return searchPath
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
