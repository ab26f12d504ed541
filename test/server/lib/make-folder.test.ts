import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder, makeFolderSync } from '../../../server/lib/shared/make-folder.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const home = tempFolder('gantry-make-folder-');

test('a directory is made with its parents and its mode, and made again without a change', async () => {
  const path = join(home, 'a/b/c');
  for (let time = 0; time < 2; time += 1) await makeFolder(path, 0o700);
  await makeFolder(`${path}/`);
  for (const each of ['a', 'a/b', 'a/b/c']) expect(statSync(join(home, each)).mode & 0o7777, each).toBe(0o700);
  for (let time = 0; time < 2; time += 1) makeFolderSync(join(home, 'd/e/'), 0o700);
  for (const each of ['d', 'd/e']) expect(statSync(join(home, each)).mode & 0o7777, each).toBe(0o700);
});

test('two at once make one directory', async () => {
  await Promise.all(Array.from({ length: 8 }, (_, n) => makeFolder(join(home, 'many/of/them', String(n % 2)))));
  expect(statSync(join(home, 'many/of/them/1')).isDirectory()).toBe(true);
});

test('a link to a directory counts as one', async () => {
  mkdirSync(join(home, 'real'));
  symlinkSync('real', join(home, 'link'));
  await makeFolder(join(home, 'link'));
  await makeFolder(join(home, 'link/inner'));
  expect(statSync(join(home, 'real/inner')).isDirectory()).toBe(true);
});

test.each([
  ['a file in its place', 'file', 'EEXIST'],
  ['a file among its parents', 'file/x/y', 'ENOTDIR'],
  ['a link to nothing', 'dangling', 'EEXIST'],
])('%s is refused', async (_title, path, code) => {
  writeFileSync(join(home, 'file'), '');
  try {
    symlinkSync('nowhere', join(home, 'dangling'));
  } catch {
    // A case before has made it.
  }
  await expect(makeFolder(join(home, path))).rejects.toMatchObject({ code });
  expect(() => makeFolderSync(join(home, path))).toThrow(expect.objectContaining({ code }));
});

test.each(['/proc/gantry', '/proc/gantry/x/y', '/proc/self/x/y'])(
  'the kernel refuses %s, and the call ends',
  async (path) => {
    const refusal = {
      code: 'ENOENT',
      message: expect.stringMatching(/^cannot make the folder \/proc.*takes no new folders/),
    };
    await expect(makeFolder(path)).rejects.toMatchObject(refusal);
    expect(() => makeFolderSync(path)).toThrow(expect.objectContaining(refusal));
  },
);
