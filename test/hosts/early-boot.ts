// An initrd of one megabyte: busybox and the few modules that lead to the root disk. The distribution's own takes minutes under emulation.
import { cp, chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { program } from './program.ts';

/** Part of the cache key; increase it with each change of this file. */
export const earlyBootVersion = 1;

const modules = ['virtio_pci', 'virtio_blk', 'virtio_rng', 'virtio_console', 'ext4', 'crc32c_generic'];

const init = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs dev /dev
for module in $($b cat /order); do $b insmod /modules/$module; done
$b mount -t ext4 /dev/vda /new && exec $b switch_root /new /lib/systemd/systemd
`;

export async function earlyBoot(tree: string, version: string, initrd: string): Promise<void> {
  const work = `${initrd}.tree`;
  for (const folder of ['bin', 'modules', 'proc', 'sys', 'dev', 'new'])
    await mkdir(join(work, folder), { recursive: true });
  await copyFile(join(tree, 'bin/busybox'), join(work, 'bin/busybox'));
  const files: string[] = [];
  for (const name of modules) {
    const plan = await program('modprobe', ['-d', tree, '-S', version, '--show-depends', name]);
    files.push(...plan.split('\n').flatMap((line) => /^insmod (\S+)/.exec(line)?.slice(1) ?? []));
  }
  const order = [...new Set(files)];
  for (const file of order) await cp(file, join(work, 'modules', basename(file)));
  await unpack(join(work, 'modules'));
  await writeFile(join(work, 'order'), order.map((file) => `${basename(file).replace(/\.xz$/, '')}\n`).join(''));
  await writeFile(join(work, 'init'), init);
  await chmod(join(work, 'init'), 0o755);
  await program('sh', ['-c', 'cd "$1" && find . | cpio -o -H newc 2>/dev/null | gzip -1 >"$2"', 'sh', work, initrd]);
  await rm(work, { recursive: true });
}

/** Debian 13 compresses its modules, which busybox cannot read. */
async function unpack(folder: string): Promise<void> {
  await program('sh', ['-c', 'for each in "$1"/*.xz; do [ ! -e "$each" ] || unxz "$each"; done', 'sh', folder]);
}
