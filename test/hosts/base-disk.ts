// The disk of a freshly installed release with its kernel and initrd: made once by debootstrap, kept in a cache while its inputs are unchanged.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { guestFiles } from './agent.ts';
import { earlyBoot, earlyBootVersion } from './early-boot.ts';
import { program } from './program.ts';
import { basePackages, mirror, type Extra, type Release } from './releases.ts';

export interface BaseDisk {
  /** An ext4 file system without a partition table; copied before it is booted. */
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

export const cacheFolder = process.env['GANTRY_HOSTS_CACHE'] ?? '/var/cache/gantry-hosts';

const diskSize = '6G';

export async function baseDisk(release: Release, say: (text: string) => void, extra?: Extra): Promise<BaseDisk> {
  const inputs = [release.suite, basePackages, guestFiles, diskSize, earlyBootVersion, process.version];
  const plain = await cached(`${release.suite}-`, inputs, async (work, folder) => {
    say(`${release.name}: making the base tree with debootstrap (kept in ${folder})`);
    await makeBase(release, work);
  });
  if (extra === undefined) return plain;
  return cached(`${release.suite}+${extra.name}-`, [...inputs, extra], async (work, folder) => {
    say(`${release.name}: building ${extra.name} in a copy of the base tree (kept in ${folder})`);
    for (const file of ['disk', 'vmlinuz', 'initrd'] as const)
      await program('cp', ['--sparse=always', '--reflink=auto', join(dirname(plain.disk), file), join(work, file)]);
    await install(join(work, 'disk'), release, extra);
  });
}

/** The cached folder that `make` built from these inputs. Deletes folders of other inputs. */
async function cached(
  family: string,
  inputs: readonly unknown[],
  make: (work: string, folder: string) => Promise<void>,
): Promise<BaseDisk> {
  const key = createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 12);
  const folder = join(cacheFolder, `${family}${key}`);
  const base = { disk: join(folder, 'disk'), kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') };
  if (existsSync(folder)) return base;
  await mkdir(cacheFolder, { recursive: true });
  const work = await mkdtemp(join(cacheFolder, 'new-'));
  try {
    await make(work, folder);
    for (const name of await readdir(cacheFolder))
      if (name.startsWith(family)) await rm(join(cacheFolder, name), { recursive: true, force: true });
    await rename(work, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return base;
}

/** Installs with the disk's own apt, which builds the module for the disk's kernel. */
async function install(disk: string, { suite }: Release, { component, packages, module }: Extra): Promise<void> {
  const script = `
    disk=$1 line=$2 module=$3; shift 3
    tree=$(mktemp -d); mount -o loop "$disk" "$tree"
    trap 'umount -R "$tree"; rmdir "$tree"' EXIT
    mount -t proc proc "$tree/proc"
    echo "$line" >"$tree/etc/apt/sources.list"; cp /etc/resolv.conf "$tree/etc/resolv.conf"
    export DEBIAN_FRONTEND=noninteractive
    chroot "$tree" apt-get -q update
    chroot "$tree" apt-get -q install -y --no-install-recommends "$@"
    chroot "$tree" apt-get clean
    version=$(ls "$tree/lib/modules" | head -1)
    modprobe -d "$tree" -S "$version" --show-depends "$module"`;
  const line = `deb ${mirror} ${suite} main ${component}`;
  await program('bash', ['-euc', script, 'bash', disk, line, module, ...packages]);
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
  // Debian 12 has Node 18; the product needs 20.
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
