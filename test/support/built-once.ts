// Programs or releases that several test files of one run need: the first file builds them and the others copy them.
import { chmodSync, cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of this run for built things; set by store-setup.ts. Without it every test file builds. */
const kept = (name: string): string | undefined => {
  const folder = process.env['GANTRY_TEST_BUILT'];
  return folder === undefined ? undefined : join(folder, name);
};

/** True when the thing was built before: a copy of it is in `folder` now. */
export function copyBuilt(name: string, folder: string): boolean {
  const from = kept(name);
  if (from === undefined || !existsSync(from)) return false;
  cpSync(from, folder, { recursive: true });
  return true;
}

/** Keeps a copy of the things built in `folder`. */
export function keepBuilt(name: string, folder: string): void {
  const to = kept(name);
  if (to === undefined) return;
  const copy = mkdtempSync(join(dirname(to), `${name}-`));
  cpSync(folder, copy, { recursive: true });
  // Copies have the mode of this folder, and programs also run as other users.
  chmodSync(copy, 0o755);
  try {
    renameSync(copy, to);
  } catch {
    // Another test file has built the same at the same time.
    rmSync(copy, { recursive: true, force: true });
  }
}
