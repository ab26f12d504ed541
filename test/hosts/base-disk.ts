// The disk of a freshly installed release with its kernel and initrd: made once by debootstrap, kept in a cache while its inputs are unchanged.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { guestFiles } from './agent.ts';
import { earlyBoot, earlyBootVersion } from './early-boot.ts';
import { program } from './program.ts';
import { basePackages, mirror, type Release } from './releases.ts';

export interface BaseDisk {
  /** An ext4 file system without a partition table; copied before it is booted. */
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

export const cacheFolder = process.env['GANTRY_HOSTS_CACHE'] ?? '/var/cache/gantry-hosts';

const diskSize = '6G';

export async function baseDisk(release: Release, say: (text: string) => void): Promise<BaseDisk> {
  const inputs = JSON.stringify([release.suite, basePackages, guestFiles, diskSize, earlyBootVersion, process.version]);
  const key = createHash('sha256').update(inputs).digest('hex').slice(0, 12);
  const folder = join(cacheFolder, `${release.suite}-${key}`);
  const base = { disk: join(folder, 'disk'), kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') };
  if (existsSync(folder)) return base;
  say(`${release.name}: making the base tree with debootstrap (kept in ${folder})`);
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'new-'));
  try {
    await makeBase(release, work);
    await removeOutdated(release);
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return base;
}

async function removeOutdated({ suite }: Release): Promise<void> {
  for (const name of await readdir(cacheFolder))
    if (name.startsWith(`${suite}-`)) await rm(join(cacheFolder, name), { recursive: true, force: true });
}

async function makeBase({ suite }: Release, work: string): Promise<void> {
  const tree = join(work, 'tree');
  await program('debootstrap', ['--variant=minbase', `--include=${basePackages.join(',')}`, suite, tree, mirror]);
  for (const { path, text, mode } of guestFiles) {
    await mkdir(join(tree, dirname(path)), { recursive: true });
    await writeFile(join(tree, path), text);
    await chmod(join(tree, path), mode);
  }
  const wants = join(tree, 'etc/systemd/system/multi-user.target.wants');
  await mkdir(wants, { recursive: true });
  await symlink('../lane-agent.service', join(wants, 'lane-agent.service'));
  for (const name of ['subuid', 'subgid']) {
    const file = join(tree, 'etc', name);
    const text = await readFile(file, 'utf8').catch(() => '');
    await writeFile(file, `${text}root:1000000:1000000000\n`);
  }
  // Debian 12 has Node 18; the product asks for 20.
  await copyFile(process.execPath, join(tree, 'usr/local/bin/node'));
  await rm(join(tree, 'var/cache/apt/archives'), { recursive: true, force: true });
  await mkdir(join(tree, 'var/cache/apt/archives/partial'), { recursive: true });
  const kernel = (await readdir(join(tree, 'boot'))).find((name) => name.startsWith('vmlinuz-'));
  if (kernel === undefined) throw new Error(`the base tree of ${suite} has no kernel`);
  await copyFile(join(tree, 'boot', kernel), join(work, 'vmlinuz'));
  await earlyBoot(tree, kernel.slice('vmlinuz-'.length), join(work, 'initrd'));
  await program('truncate', ['-s', diskSize, join(work, 'disk')]);
  await program('mke2fs', ['-q', '-t', 'ext4', '-d', tree, join(work, 'disk')]);
  await rm(tree, { recursive: true, force: true });
}
