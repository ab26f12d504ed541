// The commit of the manifests that a run records: git is asked only where there is a work tree.
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commitOf } from '../../../../reconciler/cli/session/git-commit.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const root = tempFolder('gantry-commit-');
const asked = join(root, 'asked');
mkdirSync(join(root, 'bin'));
writeFileSync(join(root, 'bin/git'), `#!/bin/sh\n: > ${asked}\nexit 128\n`, { mode: 0o755 });
for (const folder of ['plain/manifests', 'tree/.git', 'tree/deep/manifests'])
  mkdirSync(join(root, folder), { recursive: true });
symlinkSync(join(root, 'tree/deep'), join(root, 'plain/link'));

const ask = (folder: string, more: Record<string, string> = {}): Promise<string | undefined> =>
  commitOf(
    ['-', join(root, folder, 'gantry.yaml')],
    { PATH: join(root, 'bin'), ...more },
    new AbortController().signal,
  );

test('git is not started for a folder outside of any work tree', async () => {
  expect(await ask('plain/manifests')).toBeUndefined();
  expect(existsSync(asked)).toBe(false);
});

test.each([
  ['a folder deep in a work tree', 'tree/deep/manifests', {}],
  ['a link into a work tree', 'plain/link', {}],
  ['a folder whose work tree the environment names', 'plain/manifests', { GIT_DIR: '/elsewhere' }],
  ['a folder that cannot be looked at', 'plain/absent', {}],
])('git is asked about %s', async (_which, folder, env) => {
  rmSync(asked, { force: true });
  expect(await ask(folder, env)).toBeUndefined();
  expect(existsSync(asked)).toBe(true);
});
