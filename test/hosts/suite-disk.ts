// A disk with the suite of storage drivers as one file, for machines whose kernel has what the drivers need.
import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { program } from './program.ts';

/** systemd reads all mounts again after each one that it sees: a fifth of the time. */
const unseen = 'unshare --mount --propagation private';

/** Root may exceed quotas of ext4 with this capability, which containers do not have. */
const withoutLeave = 'setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource';

/** Runs in the machine those tests whose full names match the pattern. The product's own modules are beside it. */
export const runSuite = (pattern: string): string => `
  mountpoint -q /run/suite || { mkdir -p /run/suite; mount -o ro /dev/disk/by-label/suite /run/suite; }
  bin=$(dirname "$(readlink -f "$(command -v gantryd)")"); cp /run/suite/suite.js "$bin/storage-suite.js"
  ${unseen} ${withoutLeave} node "$bin/storage-suite.js" '${pattern}'`;

/** Makes the disk `file`, in place of that of an earlier machine. */
export async function suiteDisk(file: string): Promise<string> {
  const work = await mkdtemp(`${file}-`);
  try {
    await build({
      entryPoints: ['test/hosts/suite/storage.ts'],
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'esm',
      alias: { vitest: './test/hosts/suite/vitest.ts' },
      external: ['koffi', '@photostructure/sqlite'],
      banner: { js: 'import{createRequire as __cr}from"node:module";const require=__cr(import.meta.url);' },
      outfile: join(work, 'suite.js'),
      logLevel: 'warning',
    });
    await rm(file, { force: true });
    await program('truncate', ['-s', '64M', file]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-L', 'suite', '-d', work, file]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return file;
}
