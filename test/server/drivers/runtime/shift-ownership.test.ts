// Trees that are shifted to other ids on the disk, as on hosts without idmapped mounts.
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { shiftedAccessList, shiftedCapability } from '../../../../server/drivers/runtime/idmap/owned-attributes.ts';
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

const guest = [{ isuid: true, isgid: true, hostid: 100_000, nsid: 0, maprange: 65_536 }];

describe.skipIf(!isRoot)('a tree that is given to other ids and back', () => {
  const make = (script: string): { root: string; sh: (script: string) => string } => {
    const root = tempFolder('gshift-');
    const sh = (more: string): string => execFileSync('bash', ['-ec', more], { cwd: root, encoding: 'utf8' });
    sh(script);
    return { root, sh };
  };
  const attribute = 'getfattr --only-values -n security.capability file | od -An -tx1 | tr -d " \\n"';

  test('keeps its access lists, whose ids change along', async () => {
    const { root, sh } = make(
      'mkdir d; echo x > d/file; setfacl -m u:33:rw,g:44:r d/file; setfacl -d -m u:33:rx d; setfacl -m u:0:x d',
    );
    const lists = (): string => sh('getfacl -n d d/file');
    const before = lists();
    await shiftOwnership(root, [], guest);
    expect(lists()).toMatch(/user:100033:rw-/);
    expect(lists()).toMatch(/group:100044:r--/);
    expect(lists()).toMatch(/default:user:100033:r-x/);
    expect(lists()).toMatch(/^user:100000:--x/m);
    await shiftOwnership(root, [], guest);
    await shiftOwnership(root, guest, []);
    expect(lists()).toBe(before);
  });

  test('keeps its file capabilities, for the root of the container', async () => {
    const { root, sh } = make('cp /bin/true file; setcap cap_net_raw+ep file');
    const before = sh(attribute);
    await shiftOwnership(root, [], guest);
    // Revision 3 ends with the root for whom it is: 100000.
    expect(sh(attribute)).toBe(`${before.replace(/^01000002/, '01000003')}a0860100`);
    expect(sh('getcap -n file')).toMatch(/cap_net_raw=ep \[rootid=100000\]/);
    await shiftOwnership(root, guest, []);
    expect(sh(attribute)).toBe(before);
  });

  test('gets a capability back that a killed daemon had put aside', async () => {
    const { root, sh } = make('cp /bin/true file; setcap cap_net_raw+ep file');
    const before = sh(attribute);
    sh(
      'setfattr -n trusted.gantry.capability -v "$(getfattr -n security.capability -e hex file | sed -n "s/.*=//p")" file; chown 100000:100000 file',
    );
    expect(() => sh('getfattr -n security.capability file 2>/dev/null')).toThrow();
    await shiftOwnership(root, [], guest);
    expect(sh(attribute)).toBe(`${before.replace(/^01000002/, '01000003')}a0860100`);
    expect(sh('getfattr -m - file')).not.toMatch(/trusted/);
  });
});

test('attributes of a shape that nobody knows stay as they are', () => {
  const shift = (): number => 7;
  for (const value of [Buffer.alloc(0), Buffer.alloc(3), Buffer.alloc(20), Buffer.alloc(64, 1)]) {
    expect(shiftedCapability(value, shift)).toEqual(value);
    expect(shiftedAccessList(value, shift)).toEqual(value);
  }
});
