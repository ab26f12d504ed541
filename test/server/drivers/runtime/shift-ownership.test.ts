// Trees that are shifted to other ids on the disk, as on hosts without idmapped mounts.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shiftOwnership } from '../../../../server/drivers/runtime/idmap/shift-ownership.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: giving trees to other ids, since that needs root');

test.skipIf(!isRoot)('files whose names are not UTF-8 are shifted, too', async () => {
  const root = tempFolder('gshift-');
  const inBash = (script: string): string => execFileSync('bash', ['-ec', script], { cwd: root, encoding: 'utf8' });
  inBash(`mkdir -p $'caf\\xe9'; echo x > $'caf\\xe9/latin-\\xff'; ln -s nowhere $'caf\\xe9/\\xfe'`);
  const map = [{ isuid: true, isgid: true, hostid: 100_000, nsid: 0, maprange: 65_536 }];
  await shiftOwnership(root, [], map);
  expect(inBash(`find . -printf '%U:%G\\n' | sort | uniq -c`).trim()).toBe('4 100000:100000');
  await shiftOwnership(root, map, []);
  expect(inBash(`find . -printf '%U:%G\\n' | sort | uniq -c`).trim()).toBe('4 0:0');
});
