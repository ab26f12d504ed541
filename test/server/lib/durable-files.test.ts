// Files that are replaced as a whole: links, owners and permissions stay, and a failure leaves the old file and no draft.
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createWhole, replaceWhole } from '../../../server/lib/durable-files.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: files of other owners and on a full disk: only root makes them');

let folder = '';
let file = '';
beforeEach(() => {
  folder = tempFolder('gantry-durable-');
  file = join(folder, 'a');
});
afterEach(() => vi.restoreAllMocks());

const chunks = (error?: Error): Readable =>
  Readable.from(
    (function* () {
      yield Buffer.from('new ');
      if (error !== undefined) throw error;
      yield Buffer.from('text');
    })(),
  );

test('a link stays one, and the file that it names keeps its permissions', async () => {
  mkdirSync(join(folder, 'real'));
  writeFileSync(join(folder, 'real/a'), 'old', { mode: 0o640 });
  symlinkSync('real/a', file);
  await replaceWhole(file, chunks(), { mode: 0o600 });
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('new text');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  await replaceWhole(file, 'secret', { isPrivate: true });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder, 'real'))).toEqual(['a']);
});

test('the file is on the disk before it gets its name, and the name is after it', async () => {
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as { sync: (this: { readonly fd: number }) => Promise<void> };
  await handle.close();
  const { sync } = prototype;
  const synced: string[] = [];
  vi.spyOn(prototype, 'sync').mockImplementation(function (this: { readonly fd: number }) {
    const name = readlinkSync(`/proc/self/fd/${this.fd}`);
    synced.push(`${name.replace(/\w{8}\.new$/, 'draft')} ${readdirSync(folder).includes('a')}`);
    return sync.call(this);
  });
  await replaceWhole(file, 'text');
  expect(synced).toEqual([`${file}.draft false`, `${folder} true`]);
});

test('content that fails leaves the old file, no draft, and its own error', async () => {
  writeFileSync(file, 'old');
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
  await expect(replaceWhole(file, chunks(lost))).rejects.toBe(lost);
  await expect(createWhole(join(folder, 'b'), chunks(lost))).rejects.toBe(lost);
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['a']);
});

test('one of many processes makes a new file, and the others leave it as it is', async () => {
  const made = await Promise.all(['1', '2', '3', '4'].map((text) => createWhole(file, text)));
  expect(made.filter(Boolean)).toHaveLength(1);
  expect(readFileSync(file, 'utf8')).toBe(String(made.indexOf(true) + 1));
  expect(await createWhole(file, chunks(new Error('read for nothing')))).toBe(false);
  expect(readdirSync(folder)).toEqual(['a']);
});

test.each([
  ['a folder', 'a', 'it is a folder'],
  ['no folder around it', 'none/b', 'there is no such file or folder on this machine'],
  ['a file as its folder', 'file/b', 'a part of the path is no folder'],
])('the error names the path: %s', async (_title, name, why) => {
  mkdirSync(file);
  writeFileSync(join(folder, 'file'), '');
  const path = join(folder, name);
  await expect(replaceWhole(path, 'text')).rejects.toThrow(`cannot write ${path}: ${why}`);
});

describe.skipIf(!isRoot)('for root', () => {
  test('a device stays one', async () => {
    execFileSync('mknod', [file, 'c', '1', '3']);
    await replaceWhole(file, chunks());
    expect(lstatSync(file).isCharacterDevice()).toBe(true);
  });

  test('a file of another user stays theirs', async () => {
    writeFileSync(file, 'old');
    chownSync(file, 1234, 1235);
    await replaceWhole(file, 'new');
    expect(statSync(file)).toMatchObject({ uid: 1234, gid: 1235 });
  });

  test('a full disk and one that is read-only keep the old file', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder]);
    try {
      writeFileSync(file, 'old');
      const full = `cannot write ${file}: no space is left on this machine: free some, and repeat`;
      await expect(replaceWhole(file, 'x'.repeat(50_000))).rejects.toThrow(full);
      execFileSync('mount', ['-o', 'remount,ro', folder]);
      await expect(replaceWhole(file, 'new')).rejects.toThrow(/: the file system is read-only: make it writable/);
      expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['old', ['a']]);
    } finally {
      execFileSync('umount', [folder]);
    }
  });
});
