// The one recipe that builds programs and worker threads for tests as the product bundles them: sibling entries with shared chunks,
// so that the look-up of siblings is tested too.
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

/** The worker threads, which the programs look up beside themselves. */
export const workerEntries = {
  'sqlite-worker': 'server/store/sqlite/sqlite-worker.ts',
  'parse-worker': 'server/drivers/parse-worker.ts',
  'terraform-worker': 'reconciler/manifest/terraform/terraform-worker.ts',
};

/** A new folder below node_modules, so that native add-ons are found from there. The caller removes it. */
export function makeBuildFolder(prefix: string): string {
  const cache = join(repositoryRoot, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  return mkdtempSync(join(cache, `${prefix}-`));
}

/** Writes one JavaScript file for each entry, and the chunks that they share, into `folder`. */
export function buildEntries(entryPoints: Readonly<Record<string, string>>, folder: string): void {
  buildSync({
    absWorkingDir: repositoryRoot,
    entryPoints,
    outdir: folder,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: ['koffi', '@photostructure/sqlite'],
    banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' },
    logLevel: 'warning',
  });
}
