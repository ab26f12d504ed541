// Files that a user named are overwritten only if the user says so.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeOutput } from '../../../../reconciler/cli/output/write-text.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('a file is overwritten with --force only, and keeps its mode', async () => {
  const file = join(tempFolder('gantry-write-text-'), 'a.yaml');
  await writeOutput(file, 'one', false);
  await expect(writeOutput(file, 'two', false)).rejects.toThrow('it already exists; --force overwrites it');
  await expect(writeOutput(file, 'two')).rejects.toThrow(/it already exists$/);
  expect(readFileSync(file, 'utf8')).toBe('one');
  await writeOutput(file, 'two', true);
  expect(readFileSync(file, 'utf8')).toBe('two');
  await writeOutput('/dev/null', 'three', true);
});
