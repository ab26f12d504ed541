// The directories of a daemon's state, made when they are missing.
import { join } from 'node:path';
import { makeFolder } from '../lib/shared/make-folder.ts';

export interface Directories {
  readonly guests: string;
  readonly database: string;
  readonly images: string;
  readonly backups: string;
  readonly logs: string;
}

export async function makeDirectories(stateDir: string): Promise<Directories> {
  const dirs = {
    database: join(stateDir, 'database'),
    images: join(stateDir, 'images'),
    backups: join(stateDir, 'backups'),
    logs: join(stateDir, 'logs'),
    guests: join(stateDir, 'guests'),
  };
  await makeFolder(stateDir, 0o711);
  for (const dir of Object.values(dirs)) await makeFolder(dir, 0o700);
  return dirs;
}
