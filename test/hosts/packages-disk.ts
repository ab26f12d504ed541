// A disk with packages of the release and their dependencies that checks install: downloaded once, cached beside the base disk.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BaseDisk } from './base-disk.ts';
import { program } from './program.ts';
import { mirror, type Release } from './releases.ts';

const label = 'packages';
const mounted = '/run/packages';

/** Makes that disk the only source of apt in the machine, which has no network. */
export const packageSource = `
  if ! mountpoint -q ${mounted}; then
    mkdir -p ${mounted}; mount -o ro /dev/disk/by-label/${label} ${mounted}
    echo 'deb [trusted=yes] file:${mounted} ./' >/etc/apt/sources.list
    apt-get -q update
  fi
  # Building an initrd, which the lane does not boot, takes half an hour there.
  [ ! -f /etc/initramfs-tools/update-initramfs.conf ] || sed -i 's/^update_initramfs=.*/update_initramfs=no/' /etc/initramfs-tools/update-initramfs.conf`;

/** Installs packages of that disk in the machine. */
export const installing = (...names: readonly string[]): string => `${packageSource}
  DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends ${names.join(' ')}`;

export async function packagesDisk(release: Release, base: BaseDisk, names: readonly string[]): Promise<string> {
  const key = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 12);
  const disk = join(dirname(base.disk), `packages-${key}`);
  if (existsSync(disk)) return disk;
  const work = await mkdtemp(`${disk}-`);
  try {
    await fetchPackages(release, base, names, work);
    const content = join(work, 'archives');
    for (const name of await readdir(content))
      if (!name.endsWith('.deb')) await rm(join(content, name), { recursive: true });
    await writeFile(join(content, 'Packages'), await indexOf(content));
    await program('truncate', ['-s', '1G', join(work, 'disk')]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-L', label, '-d', content, join(work, 'disk')]);
    await rename(join(work, 'disk'), disk);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return disk;
}

/** Downloads like the apt of that release, which knows the packages of its base tree. */
async function fetchPackages(
  { suite }: Release,
  base: BaseDisk,
  names: readonly string[],
  work: string,
): Promise<void> {
  for (const folder of ['lists/partial', 'archives/partial']) await mkdir(join(work, folder), { recursive: true });
  const [status, sources] = [join(work, 'status'), join(work, 'sources.list')];
  await writeFile(status, await program('debugfs', ['-R', 'cat /var/lib/dpkg/status', base.disk]));
  await writeFile(sources, `deb ${mirror} ${suite} main\n`);
  const settings = {
    'Dir::Etc::sourcelist': sources,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State': work,
    'Dir::State::status': status,
    'Dir::Cache': work,
    'APT::Architecture': 'amd64',
    'APT::Sandbox::User': 'root',
  };
  const apt = (...args: string[]): Promise<string> =>
    program('apt-get', [...Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]), ...args]);
  await apt('-q', 'update');
  await apt('-q', '-y', '--no-install-recommends', '--download-only', 'install', ...names);
}

/** Makes the package index, which apt needs to resolve dependencies. */
async function indexOf(folder: string): Promise<string> {
  const entries = (await readdir(folder)).toSorted().map(async (name) => {
    const file = join(folder, name);
    const bytes = await readFile(file);
    const sum = createHash('sha256').update(bytes).digest('hex');
    return `${(await program('dpkg-deb', ['--field', file])).trim()}\nFilename: ./${name}\nSize: ${bytes.length}\nSHA256: ${sum}\n`;
  });
  return (await Promise.all(entries)).join('\n');
}
