// Files that a user named: a full disk leaves no part of one, and what was there before.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFile, writeOutput } from '../../../../reconciler/cli/output/write-text.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a manifest on a full disk: the disk is mounted by root');

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-write-text-')));

test('a file is overwritten with --force only, and keeps its mode', async () => {
  const file = join(folder, 'a.yaml');
  await writeOutput(file, 'one', false);
  await expect(writeOutput(file, 'two', false)).rejects.toThrow('it already exists; --force overwrites it');
  await expect(writeOutput(file, 'two')).rejects.toThrow(/it already exists$/);
  expect(readFileSync(file, 'utf8')).toBe('one');
  await writeOutput(file, 'two', true);
  expect(readFileSync(file, 'utf8')).toBe('two');
  await writeOutput('/dev/null', 'three', true);
});

describe.skipIf(!isRoot)('a full disk', () => {
  beforeEach(() => execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', folder]));
  afterEach(() => execFileSync('umount', [folder]));
  const long = 'kind: profile\n'.repeat(2000);

  test('leaves no part of a new file, which would be a manifest of fewer objects', async () => {
    const file = join(folder, 'a.yaml');
    await expect(writeOutput(file, long, false)).rejects.toThrow(/^cannot write .*a\.yaml: .*no space/i);
    await expect(createFile(file, long)).rejects.toThrow('ENOSPC');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('leaves the old text of a file that --force overwrites', async () => {
    const file = join(folder, 'a.yaml');
    writeFileSync(file, 'kind: profile\n');
    await expect(writeOutput(file, long, true)).rejects.toThrow(/no space/i);
    expect(readFileSync(file, 'utf8')).toBe('kind: profile\n');
    expect(readdirSync(folder)).toEqual(['a.yaml']);
  });
});
