// The product as a user gets it: the npm package of the built tree, installed globally by npm, on a disk of its own.
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { program } from './program.ts';

/** Makes the disk `file`; a guest copies its content to /usr/local. */
export async function productDisk(file: string): Promise<void> {
  const work = await mkdtemp(`${file}-`);
  try {
    await program('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', work]);
    const packages = (await readdir(work)).filter((name) => name.endsWith('.tgz'));
    const [tarball, ...others] = packages;
    if (tarball === undefined || others.length > 0) throw new Error(`npm pack made ${packages.length} packages`);
    const prefix = join(work, 'prefix');
    await mkdir(prefix);
    const flags = ['--global', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    // A cache of its own would be empty in a CI job; npm's usual one has the three dependencies since npm ci.
    await program('npm', ['install', ...flags, join(work, tarball)], { cwd: work });
    await program('truncate', ['-s', '512M', file]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-d', prefix, file]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
