// The product as Debian users get it: a disk with the packages of the built tree.
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { program } from './program.ts';

/** Makes the disk `file`, which a guest mounts. */
export async function productDisk(file: string): Promise<void> {
  const work = await mkdtemp(`${file}-`);
  try {
    const [release, content] = [join(work, 'release'), join(work, 'content')];
    await program(process.execPath, ['dist/packaging/build/main.js', release], {
      env: { ...process.env, GANTRY_NO_IMAGE: '1' },
    });
    await mkdir(content);
    for (const name of await readdir(release))
      if (name.endsWith('.deb')) await rename(join(release, name), join(content, name));
    await program('truncate', ['-s', '512M', file]);
    await program('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-d', content, file]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
