// Projects of trees over a stand-in of the kernel's calls, and the bytes of the real ones; on real file systems: test/hosts/suite.
import { fstatSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { QuotaCalls } from '../../../../server/drivers/storage/quota/calls.ts';
import { ProjectQuotas } from '../../../../server/drivers/storage/quota/project-quotas.ts';
import {
  holdsIn,
  projectIn,
  quotaIn,
  quotaWith,
  readQuota,
  readState,
  withProject,
  writeQuota,
} from '../../../../server/drivers/storage/quota/structs.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

interface FakeKernel extends QuotaCalls {
  readonly projects: Map<number, { id: number; isInherited: boolean }>;
  readonly limits: Map<number, { bytes: number | undefined; isBeginning: boolean }>;
  readonly used: Map<number, number>;
  holds: boolean;
  /** Calls of setProject until one fails. */
  left: number;
}

/** A file counts for its project while the test does not say that it is gone. */
function fakeKernel(): FakeKernel {
  const kernel: FakeKernel = {
    projects: new Map(),
    limits: new Map(),
    used: new Map(),
    holds: true,
    left: Infinity,
    projectOf: (fd) => kernel.projects.get(fstatSync(fd).ino) ?? { id: 0, isInherited: false },
    setProject(fd, id, isDirectory) {
      if (kernel.left <= 0) throw new Error('killed');
      kernel.left -= 1;
      kernel.projects.set(fstatSync(fd).ino, { id, isInherited: isDirectory });
    },
    quotaOf: (_fd, id) => ({
      limit: kernel.limits.get(id)?.bytes,
      isBeginning: kernel.limits.get(id)?.isBeginning ?? false,
      used: kernel.used.get(id) ?? 0,
      files: [...kernel.projects.values()].filter((each) => each.id === id).length,
    }),
    setLimit: (_fd, id, bytes, isBeginning = false) => void kernel.limits.set(id, { bytes, isBeginning }),
    hold: () => kernel.holds,
  };
  return kernel;
}

async function opened(kernel = fakeKernel()) {
  const root = tempFolder('quotas');
  for (const folder of ['tmp', 'containers', 'custom']) mkdirSync(join(root, folder));
  const quotas = new ProjectQuotas(() => Promise.resolve(kernel));
  await quotas.find(root);
  const tree = (path: string): string => {
    mkdirSync(join(root, path), { recursive: true });
    return join(root, path);
  };
  const projectOf = async (path: string): Promise<number> => kernel.projects.get((await lstat(path)).ino)?.id ?? 0;
  return { root, kernel, quotas, tree, projectOf };
}

describe('a tree', () => {
  test('has a project that no other tree has, and a removed one leaves it to the next, without its limit', async () => {
    const { kernel, quotas, tree, projectOf } = await opened();
    const [a, b] = [tree('custom/a'), tree('custom/b')];
    for (const path of [a, b]) quotas.begin(path);
    const id = await projectOf(a);
    expect([id > 10_000_000, await projectOf(b)]).toEqual([true, id + 1]);
    await quotas.limit(a, 4096, false);
    const { ino } = await lstat(a);
    await quotas.forget(a, async () => {
      rmSync(a, { recursive: true });
      kernel.projects.delete(ino);
    });
    expect(kernel.limits.get(id)?.bytes).toBeUndefined();
    const c = tree('custom/c');
    quotas.begin(c);
    expect(await projectOf(c)).toBe(id);
  });

  test('whose files another tree shares keeps project and limit when the other goes', async () => {
    const { root, kernel, quotas, tree, projectOf } = await opened();
    const [old, fresh] = [tree('custom/v'), tree('tmp/fresh')];
    quotas.begin(old);
    await quotas.limit(old, 8192, false);
    quotas.share(fresh, old);
    expect(await projectOf(fresh)).toBe(await projectOf(old));
    const { ino } = await lstat(fresh);
    await quotas.forget(fresh, async () => {
      rmSync(fresh, { recursive: true });
      kernel.projects.delete(ino);
    });
    expect(quotas.limitsIn(root)).toEqual(new Map([['custom/v', 8192]]));
  });

  test('gets no limit below what it holds when that must hold, and keeps the one that it has', async () => {
    const { root, kernel, quotas, tree, projectOf } = await opened();
    const path = tree('containers/c');
    quotas.begin(path);
    await quotas.limit(path, 10_240, true);
    kernel.used.set(await projectOf(path), 9000);
    expect(quotas.used(path)).toBe(9000);
    expect(await codeOf(quotas.limit(path, 4096, true))).toBe('Invalid');
    expect(quotas.limitsIn(root).get('containers/c')).toBe(10_240);
    await quotas.limit(path, 4096, false);
    expect(quotas.limitsIn(root).get('containers/c')).toBe(4096);
    await quotas.limit(path, undefined, false);
    expect(quotas.limitsIn(root).size).toBe(0);
  });
});

describe('a tree that is older than the quotas', () => {
  async function older() {
    const all = await opened();
    const path = all.tree('custom/old');
    mkdirSync(join(path, 'deep', 'er'), { recursive: true });
    for (const file of ['top', 'deep/one', 'deep/er/two']) writeFileSync(join(path, file), file);
    const outside = join(all.root, 'outside');
    writeFileSync(outside, 'theirs');
    symlinkSync(outside, join(path, 'deep', 'link'));
    linkSync(join(path, 'top'), join(path, 'deep', 'same'));
    return { ...all, path, outside };
  }

  test('gets one with its first limit: all directories and files, and nothing that a link leads to', async () => {
    const { path, outside, quotas, projectOf } = await older();
    await quotas.limit(path, undefined, false);
    expect(await projectOf(path)).toBe(0);
    await quotas.limit(path, 65_536, false);
    const id = await projectOf(path);
    expect(id).not.toBe(0);
    for (const each of ['deep', 'deep/er', 'top', 'deep/one', 'deep/er/two'])
      expect(await projectOf(join(path, each))).toBe(id);
    expect([await projectOf(outside), await projectOf(join(path, 'deep', 'link'))]).toEqual([0, 0]);
  });

  test('is done again after a crash in the middle, with the same project', async () => {
    const { root, path, kernel, quotas, projectOf } = await older();
    kernel.left = 3;
    await expect(quotas.limit(path, 65_536, false)).rejects.toThrow('killed');
    kernel.left = Infinity;
    expect(quotas.limitsIn(root).size).toBe(0);
    const id = await projectOf(path);
    const next = new ProjectQuotas(() => Promise.resolve(kernel));
    await next.find(root);
    await next.limit(path, 65_536, false);
    for (const each of ['', 'deep', 'deep/er', 'top', 'deep/one', 'deep/er/two'])
      expect(await projectOf(join(path, each))).toBe(id);
    expect(kernel.limits.get(id)).toEqual({ bytes: 65_536, isBeginning: false });
  });
});

describe('a pool cannot limit', () => {
  test('where the file system does not enforce projects: a limit is refused with what to do, none is fine', async () => {
    const kernel = fakeKernel();
    kernel.holds = false;
    const { root, quotas, tree, projectOf } = await opened(kernel);
    const path = tree('custom/v');
    quotas.begin(path);
    expect([quotas.holdIn(root), await projectOf(path), quotas.used(path)]).toEqual([false, 0, undefined]);
    await quotas.limit(path, undefined, true);
    await expect(quotas.limit(path, 1, true)).rejects.toThrow(/prjquota/);
  });

  test('where its directory is missing, which others report', async () => {
    const { root, quotas } = await opened();
    rmSync(root, { recursive: true });
    await quotas.find(root);
    expect(quotas.holdIn(root)).toBe(false);
  });

  test('where its directory is in a project of an administrator, or the kernel refuses this process', async () => {
    const kernel = fakeKernel();
    const { root, quotas } = await opened(kernel);
    expect(quotas.holdIn(root)).toBe(true);
    kernel.projects.set((await lstat(root)).ino, { id: 7, isInherited: true });
    await quotas.find(root);
    expect(quotas.holdIn(root)).toBe(false);
    kernel.projects.clear();
    const refusing = new ProjectQuotas(() =>
      Promise.resolve({
        ...kernel,
        quotaOf: () => {
          throw new Error('EPERM');
        },
      }),
    );
    await refusing.find(root);
    expect(refusing.holdIn(root)).toBe(false);
  });
});

describe('the bytes of the calls', () => {
  test('commands are those of quotactl(2) for projects', () => {
    expect([readQuota, writeQuota, readState].map((each) => each.toString(16))).toEqual([
      '80000702',
      '80000802',
      '580502',
    ]);
  });

  test('a project changes its own field, and a directory hands it on; other flags stay', () => {
    const attributes = Buffer.alloc(28, 0);
    attributes.writeUInt32LE(0x8000_0001, 0);
    attributes.writeUInt32LE(99, 4);
    const directory = withProject(attributes, 0x8000_0000, true);
    expect(projectIn(directory)).toEqual({ id: 0x8000_0000, isInherited: true });
    expect([directory.readUInt32LE(0), directory.readUInt32LE(4)]).toEqual([0x8000_0201, 99]);
    expect(projectIn(withProject(attributes, 5, false))).toEqual({ id: 5, isInherited: false });
  });

  test('a limit is in KiB, rounded up, and only limits of blocks are set', () => {
    const block = quotaWith(1025);
    expect([block.length, block.readBigUInt64LE(0), block.readUInt32LE(64)]).toEqual([72, 2n, 1]);
    expect(quotaIn(block)).toEqual({ limit: 2048, used: 0, files: 0, isBeginning: false });
    expect(quotaIn(quotaWith(undefined))).toMatchObject({ limit: undefined, isBeginning: false });
    expect(quotaIn(quotaWith(undefined, true))).toMatchObject({ limit: undefined, isBeginning: true });
    expect(quotaIn(quotaWith(Number.MAX_SAFE_INTEGER)).limit).toBeGreaterThan(2 ** 52);
  });

  test('limits hold where use is counted and enforced', () => {
    const state = (flags: number): Buffer => Buffer.from([1, 0, flags, 0]);
    expect([0x30, 0x3f, 0x10, 0x20, 0x0f].map((flags) => holdsIn(state(flags)))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
