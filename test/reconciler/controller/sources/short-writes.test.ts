// Files of sources on a disk that takes only a part of a write, or nothing: none is shorter than its source.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Checkouts } from '../../../../reconciler/controller/sources/files/checkouts.ts';
import { defaultLimits } from '../../../../reconciler/controller/sources/files/limits.ts';
import { TreeWriter } from '../../../../reconciler/controller/sources/files/tree-writer.ts';
import { keep } from '../../../../reconciler/controller/sources/http/keep.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a checkout on a full disk: the disk is mounted by root');

const contents = Buffer.from('kind: profile\nname: web\n---\nkind: profile\nname: db\n');
let folder = '';

interface Prototype {
  write: (this: unknown, data: Buffer, at?: number, length?: number) => Promise<unknown>;
}

beforeEach(async () => {
  folder = tempFolder('gantry-short-writes-');
  const handle = await open(join(folder, 'any'), 'w');
  const prototype = Object.getPrototypeOf(handle) as Prototype;
  const { write } = prototype;
  vi.spyOn(prototype, 'write').mockImplementation(function (this: unknown, data: Buffer) {
    return write.call(this, data, 0, Math.ceil(data.length / 2));
  });
  await handle.close();
});
afterEach(() => vi.restoreAllMocks());

test('a file of a checkout is whole', async () => {
  const writer = new TreeWriter(folder, 'source shop', defaultLimits);
  await writer.addFile('a.yaml', contents, false);
  await writer.finish();
  expect(readFileSync(join(folder, 'a.yaml'))).toEqual(contents);
});

test('a download is whole', async () => {
  const file = join(folder, 'download');
  await keep([contents], file, { what: 'source shop', limits: defaultLimits, digest: undefined });
  expect(readFileSync(file)).toEqual(contents);
});

test.skipIf(!isRoot)('a tree that finds no room for another file is not blamed for it', async () => {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=3', 'tmpfs', disk]);
  try {
    const writer = new TreeWriter(disk, 'source shop', defaultLimits);
    await writer.addFile('a.yaml', contents, false);
    await writer.addFile('b.yaml', contents, false);
    await expect(writer.addFile('c.yaml', contents, false)).rejects.toThrow('ENOSPC');
    await expect(writer.addFolder('d')).rejects.toThrow(/folder .*\/d: no space is left/);
    execFileSync('mount', ['-o', 'remount,nr_inodes=6,size=12k', disk]);
    const full = `cannot write ${disk}: no space is left on this machine: free some, and repeat`;
    const filled = new Checkouts(disk, []).make('r1', (dir) => writeFile(join(dir, 'a'), Buffer.alloc(9000)));
    await expect(filled).rejects.toThrow(full);
  } finally {
    execFileSync('umount', [disk]);
  }
});
