// The directories of a daemon's state, made when they are missing.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

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
  await mkdir(stateDir, { recursive: true, mode: 0o711 });
  for (const dir of Object.values(dirs)) await mkdir(dir, { recursive: true, mode: 0o700 });
  return dirs;
}
