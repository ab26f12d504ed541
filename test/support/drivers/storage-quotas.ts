// Opens the dir storage driver on a file system with project quotas in a loop file; closing unmounts it. Needs kernel support.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StorageFixture } from '../../conformance/storage-world.ts';
import { openDirFixture } from './storage-dir.ts';
import { unmountBelow } from '../hosts/mounts.ts';

export type QuotaFileSystem = 'ext4' | 'xfs';

const make: Readonly<Record<QuotaFileSystem, readonly string[]>> = {
  ext4: ['mkfs.ext4', '-q', '-O', 'quota,project', '-E', 'quotatype=prjquota'],
  xfs: ['mkfs.xfs', '-q'],
};

/** `options`: of its mount. */
export async function mountQuotas(fileSystem: QuotaFileSystem, options = 'prjquota'): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), 'gantry-quotas-'));
  const [file, place] = [join(base, 'disk'), join(base, 'place')];
  await mkdir(place);
  execFileSync('truncate', ['--size=600M', file]);
  const [program = '', ...args] = make[fileSystem];
  execFileSync(program, [...args, file]);
  execFileSync('mount', ['-o', `loop,${options}`, file, place]);
  return base;
}

export async function removeQuotas(base: string): Promise<void> {
  unmountBelow(base);
  await rm(base, { recursive: true, force: true });
}

export async function openQuotaFixture(fileSystem: QuotaFileSystem): Promise<StorageFixture> {
  const base = await mountQuotas(fileSystem);
  const fixture = await openDirFixture('keep', join(base, 'place'));
  return {
    ...fixture,
    close: async () => {
      await fixture.close();
      await removeQuotas(base);
    },
  };
}
