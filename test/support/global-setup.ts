// Runs once before the tests: derives the bindings for CDKTF, compiles the files that must be real JavaScript (a worker thread, child
// processes) and publishes their paths, and makes the folder of this run for things that test files share.
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { writeCdktf } from '../../provider/bindings/write-cdktf.ts';

/** Built like the bundle of the product: sibling entries with shared chunks, so that the look-up of siblings is tested too. */
export function setup(): () => void {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  writeCdktf(root);
  // Below node_modules, so that the SQLite add-on is found from there.
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const outdir = mkdtempSync(join(cache, 'gantry-store-'));
  buildSync({
    absWorkingDir: root,
    entryPoints: {
      'sqlite-worker': 'server/store/sqlite-worker.ts',
      'parse-worker': 'server/drivers/parse-worker.ts',
      'store-child': 'test/support/store/child.ts',
    },
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: ['@photostructure/sqlite'],
    banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' },
    logLevel: 'warning',
  });
  process.env['GANTRY_SQLITE_WORKER'] = pathToFileURL(join(outdir, 'sqlite-worker.js')).href;
  process.env['GANTRY_PARSE_WORKER'] = pathToFileURL(join(outdir, 'parse-worker.js')).href;
  process.env['GANTRY_STORE_CHILD'] = join(outdir, 'store-child.js');
  const built = join(outdir, 'built');
  mkdirSync(built);
  process.env['GANTRY_TEST_BUILT'] = built;
  return () => rmSync(outdir, { recursive: true, force: true });
}
