// ACLs in LXD's backups, which are kernel attributes there, become records that tar sets.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTar } from '../../../server/drivers/image/tar-reader.ts';
import { withContent } from '../../../server/lib/shared/tar-headers.ts';
import { hasKernelAcls, memberWithAcls } from '../../../server/drivers/image/tar-acls.ts';
import { tempFolder } from '../../support/temp-folder.ts';

/** user::rw-, user:1005:r--, group::r--, mask::r--, other::r--, as the kernel has it. */
const list = [
  [1, 6, -1],
  [2, 4, 1005],
  [4, 4, -1],
  [16, 4, -1],
  [32, 4, -1],
] as const;
const kernelList = Buffer.concat([
  Buffer.from([2, 0, 0, 0]),
  ...list.map(([tag, bits, id]) => {
    const entry = Buffer.alloc(8);
    entry.writeUInt16LE(tag, 0);
    entry.writeUInt16LE(bits, 2);
    entry.writeInt32LE(id, 4);
    return entry;
  }),
]).toString('latin1');

/** An archive of one file with these records, and its conversion. */
async function converted(
  records: string,
): Promise<{ readonly records: ReadonlyMap<string, string>; readonly archive: Buffer }> {
  const dir = tempFolder('gacl-');
  mkdirSync(join(dir, 'in'));
  writeFileSync(join(dir, 'in/file'), 'content');
  const plain = execFileSync('tar', ['--format=ustar', '-c', 'file'], { cwd: join(dir, 'in') });
  const header = Buffer.from(plain.subarray(0, 512));
  header.write('x', 156);
  const archive = Buffer.concat([withContent(header, Buffer.from(records, 'latin1')), plain]);
  const pieces: Buffer[] = [];
  async function* of(bytes: Buffer): AsyncGenerator<Buffer> {
    yield bytes;
  }
  for await (const member of readTar(of(archive), () => 1e9)) {
    for await (const piece of memberWithAcls(member)) pieces.push(piece);
  }
  const after = Buffer.concat([...pieces, Buffer.alloc(1024)]);
  for await (const member of readTar(of(after), () => 1e9)) return { records: member.records, archive: after };
  throw new Error('the archive is empty');
}

const record = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length + 3).length;
  return `${length}${rest}`;
};

const forms = ['SCHILY.xattr.system.posix_acl_access', 'SCHILY.acl.access'] as const;

test.each(forms)('an access list in %s becomes a record of tar, and other attributes stay', async (key) => {
  const { records } = await converted(record(key, kernelList) + record('SCHILY.xattr.user.x', 'y'));
  expect([...records]).toEqual([
    ['SCHILY.acl.access', 'user::rw-,user:1005:r--,group::r--,mask::r--,other::r--'],
    ['SCHILY.xattr.user.x', 'y'],
  ]);
});

test('tar sets the access list', async () => {
  const { archive } = await converted(record('SCHILY.xattr.system.posix_acl_access', kernelList));
  const dir = tempFolder('gacl-');
  execFileSync('tar', ['-x', '--acls', '--xattrs'], { cwd: dir, input: archive });
  expect(execFileSync('getfacl', ['-n', 'file'], { cwd: dir, encoding: 'utf8' })).toContain('user:1005:r--');
});

test('an attribute that is no access list stays as it is', async () => {
  const { records } = await converted(record('SCHILY.xattr.system.posix_acl_access', 'odd'));
  expect([...records]).toEqual([['SCHILY.xattr.system.posix_acl_access', 'odd']]);
});

test('an access list needs a translation only where tar has no record of its own to read', () => {
  const [attribute, known] = forms;
  const text = 'user::rw-,group::r--,other::r--';
  expect(hasKernelAcls(new Map([[attribute, kernelList]]))).toBe(true);
  expect(hasKernelAcls(new Map([[known, kernelList]]))).toBe(true);
  expect(hasKernelAcls(new Map([[known, text]]))).toBe(false);
  // As tar and this daemon pack.
  expect(
    hasKernelAcls(
      new Map([
        [attribute, kernelList],
        [known, text],
      ]),
    ),
  ).toBe(false);
  expect(hasKernelAcls(new Map([[attribute, 'odd']]))).toBe(false);
});
