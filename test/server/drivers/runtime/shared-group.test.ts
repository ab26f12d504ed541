// The cgroup that all daemons of a host share: the last one removes it, and no daemon removes another's.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CgroupTree } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import { LxcPaths } from '../../../../server/drivers/runtime/lxc-paths.ts';
import { removeEmptyPlaces } from '../../../../server/drivers/runtime/lxc/liveness.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('the last daemon of a host removes the control group that daemons share', () => {
  const folder = tempFolder('gantry-groups-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const tree: CgroupTree = { version: 2, roots: new Map([['', folder]]) };
  const [one, other] = ['/one', '/other'].map((dir) => new LxcPaths(dir, folder)) as [LxcPaths, LxcPaths];
  for (const { groupRoot } of [one, other]) mkdirSync(join(folder, groupRoot), { recursive: true });

  removeEmptyPlaces(tree, one);
  expect(existsSync(join(folder, one.groupRoot))).toBe(false);
  expect(existsSync(join(folder, other.groupRoot))).toBe(true);

  removeEmptyPlaces(tree, other);
  expect(existsSync(join(folder, 'gantry'))).toBe(false);
});
