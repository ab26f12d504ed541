// Runs once before the tests: derives the bindings for CDKTF, compiles the files that must be real JavaScript (a worker thread, child
// processes) and publishes their paths, and makes the folder of this run for things that test files share.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeCdktf } from '../../provider/bindings/write-cdktf.ts';
import { buildEntries, makeBuildFolder, repositoryRoot, workerEntries } from './build-daemon.ts';

export function setup(): () => void {
  writeCdktf(repositoryRoot);
  const outdir = makeBuildFolder('gantry-store');
  buildEntries({ ...workerEntries, 'store-child': 'test/support/store/child.ts' }, outdir);
  for (const name of Object.keys(workerEntries)) {
    const variable = `GANTRY_${name.toUpperCase().replaceAll('-', '_')}`;
    process.env[variable] = pathToFileURL(join(outdir, `${name}.js`)).href;
  }
  process.env['GANTRY_STORE_CHILD'] = join(outdir, 'store-child.js');
  const built = join(outdir, 'built');
  mkdirSync(built);
  process.env['GANTRY_TEST_BUILT'] = built;
  return () => rmSync(outdir, { recursive: true, force: true });
}
