// A disk with the suite of storage drivers as one file, for machines whose kernel supports the drivers.
import { build } from 'esbuild';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expectMatch, type Check } from './check.ts';
import { program } from './program.ts';

/** Hides mounts from systemd, which re-reads all of them after each one: saves a fifth of the time. */
const unseen = 'unshare --mount --propagation private';

/** Drops the capability with which root may exceed ext4 quotas, and which containers lack. */
const withoutLeave = 'setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource';

/** Runs the tests whose full names match the pattern, with the product's own modules; the console has what they say, too. */
const runSuite = (pattern: string): string => `
  mountpoint -q /run/suite || { mkdir -p /run/suite; mount -o ro /dev/disk/by-label/suite /run/suite; }
  bin=$(dirname "$(readlink -f "$(command -v gantryd)")"); cp /run/suite/suite.js "$bin/storage-suite.js"
  ${unseen} ${withoutLeave} node "$bin/storage-suite.js" '${pattern}' 2>&1 | tee /dev/ttyS0`;

/** Emulated, a group takes many minutes. */
const groupSeconds = 5_400;

/** The check of a group of the suite. `begin`: a line of the script before it. */
export const suiteCheck = (group: string, begin = ''): Check => ({
  name: `the suite of storage drivers passes: ${group}`,
  async run(host) {
    const said = await host.run(`${begin}${runSuite(group)}`, groupSeconds);
    expectMatch(said, /^[1-9]\d* passed, 0 failed$/m, 'the suite');
  },
});

/** Makes the disk `file`, replacing that of an earlier machine. */
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
