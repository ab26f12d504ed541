// A root file system with everything that real distributions and odd builders produce, the real tools that pack it, and a comparable
// text of a tree.
import { execFileSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBusyboxRootfs } from './busybox-rootfs.ts';

const MiB = 1024 * 1024;
const metadata = 'architecture: x86_64\ncreation_date: 1700000000\n';

const shell = (cwd: string, script: string): string =>
  execFileSync('bash', ['-euo', 'pipefail', '-c', script], { cwd, encoding: 'latin1', maxBuffer: 64 * MiB });

/** The first program or ability that is missing here. */
export function oddTreesMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'owners, nodes and capabilities need root';
  const programs = ['tar', 'gzip', 'bzip2', 'xz', 'zstd', 'mksquashfs', 'setcap', 'setfacl', 'getfattr', 'setfattr'];
  const missing = programs.filter((program) => {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`]);
      return false;
    } catch {
      return true;
    }
  });
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`;
}

/** `dir` gets metadata.yaml and rootfs/; the root file system boots. */
export async function makeOddTree(dir: string): Promise<void> {
  const root = join(dir, 'rootfs');
  await makeBusyboxRootfs(root);
  await writeFile(join(dir, 'metadata.yaml'), metadata);
  await mkdir(join(root, 'odd'));
  sparseFile(join(root, 'odd/sparse'));
  // Deeper than any name that a header of tar holds.
  shell(root, `mkdir -p odd/${'d/'.repeat(140)} && echo deep > odd/${'d/'.repeat(140)}file`);
  shell(root, `cd odd && mkdir ${'l'.repeat(200)} && echo long > ${'l'.repeat(200)}/${'f'.repeat(250)}`);
  addOddFiles(join(root, 'odd'));
  shell(root, asDebootstrap);
}

/** Links, nodes, owners, modes, access lists, attributes and names that copies tend to lose. */
export function addOddFiles(dir: string): void {
  for (const script of [linksAndNodes, ownersAndAttributes, names]) shell(dir, script);
}

/** Three islands of data in 12 MiB. */
function sparseFile(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const at of [0, 4 * MiB, 10 * MiB + 17]) writeSync(file, `data at ${at}\n`, at);
    ftruncateSync(file, 12 * MiB);
  } finally {
    closeSync(file);
  }
}

const linksAndNodes = `
echo same > first; ln first second; mkdir far; ln first far/third; ln -s first soft; ln soft hard-to-soft
ln -s /nowhere/at/all dangling; ln -s ../../../../../../etc/passwd up; ln -s "$(printf 'x%.0s' {1..200})" long-target
mkfifo pipe; mknod null c 1 3; mknod disk b 8 0; mkdir empty; touch nothing`;

const ownersAndAttributes = `
echo a > setuid; chmod 6755 setuid; mkdir sticky; chmod 1777 sticky; echo b > secret; chmod 0000 secret
echo c > owned; chown 12345:54321 owned; mkdir theirs; chown 65534:65534 theirs; chmod 2750 theirs
echo d > capable; chmod 755 capable; setcap cap_net_raw,cap_net_bind_service+ep capable
echo e > listed; setfacl -m u:1234:rw,g:4321:r listed; mkdir inherits; setfacl -d -m u:1234:rwx inherits
echo f > tagged; setfattr -n trusted.tag -v "value of it" tagged; touch -d 1999-12-31T23:59:59Z old; touch -h -d 2001-01-01T00:00:00Z soft`;

const names = `
echo 1 > 'with space'; echo 2 > $'new\\nline'; echo 3 > 'quote"and'"'"'other'; echo 4 > 'back\\slash'; echo 5 > $'tab\\there'
echo 6 > 'Ünïcode-日本'; echo 7 > $'latin-\\xe9\\xff'; echo 8 > -dash; echo 9 > '*star?'; echo 10 > '~tilde'; echo 11 > '.hidden'
echo 12 > 'percent%41'; echo 13 > '#comment'; mkdir 'dir with space'; echo 14 > 'dir with space/ '`;

/** As debootstrap leaves a merged /usr. */
const asDebootstrap = `
mkdir -p usr/lib/x86_64-linux-gnu usr/lib64 var/lib/dpkg/info var/lib/apt var/spool run
ln -s usr/lib64 lib64; [ -e lib ] || ln -s usr/lib lib; ln -sfn /run var/run; ln -sfn /run/lock var/lock
ln -s libc.so.6.real usr/lib/x86_64-linux-gnu/libc.so.6; echo elf > usr/lib/x86_64-linux-gnu/libc.so.6.real
printf 'Package: base-files\\nStatus: install ok installed\\n' > var/lib/dpkg/status
echo list > var/lib/dpkg/info/base-files.list; echo md5 > var/lib/dpkg/info/base-files.md5sums
echo tool > usr/perl5.36; ln usr/perl5.36 usr/perl; mkdir -p var/mail; chown 0:8 var/mail; chmod 2775 var/mail`;

export interface Packed {
  readonly metadata: string;
  readonly rootfs?: string;
}

export type Pack = (tree: string, to: string) => Packed;

const whole =
  (flags: string, members = 'metadata.yaml rootfs'): Pack =>
  (tree, to) => {
    shell(tree, `tar ${flags} -cf '${to}' ${members}`);
    return { metadata: to };
  };

const all = '--format=posix --xattrs --xattrs-include="*" --acls';

const squashfs =
  (compression: string) =>
  (root: string, to: string): void => {
    // -e continues to the end of the line.
    shell(
      root,
      `mksquashfs . '${to}' -comp ${compression} -no-progress -quiet -wildcards -e 'odd/new*' >/dev/null 2>&1`,
    );
  };

function split(pack: (root: string, to: string) => void): Pack {
  return (tree, to) => {
    shell(tree, `tar -czf '${to}' metadata.yaml`);
    pack(join(tree, 'rootfs'), `${to}.rootfs`);
    return { metadata: to, rootfs: `${to}.rootfs` };
  };
}

export type Attributes = 'all' | 'without access lists' | 'none';

/** The features of a tree that a packing preserves. */
export interface Kept {
  readonly attributes: Attributes;
  /** Names that have one. */
  readonly lineBreaks: boolean;
}

export const everything: Kept = { attributes: 'all', lineBreaks: true };
const plain: Kept = { attributes: 'none', lineBreaks: true };
const ofSquashfs: Kept = { attributes: 'without access lists', lineBreaks: false };

export const packings: Readonly<Record<string, Kept & { readonly pack: Pack }>> = {
  'GNU tar, sparse, GNU long names': { pack: whole('--format=gnu --sparse'), ...plain },
  'old GNU tar, sparse': { pack: whole('--format=oldgnu --sparse'), ...plain },
  'PAX, not sparse': { pack: whole(all), ...everything },
  'PAX, sparse format 0.0': { pack: whole(`${all} --sparse --sparse-version=0.0`), ...everything },
  'PAX, sparse format 0.1': { pack: whole(`${all} --sparse --sparse-version=0.1`), ...everything },
  'PAX, sparse format 1.0': { pack: whole(`${all} --sparse --sparse-version=1.0`), ...everything },
  'PAX in gzip, numeric owners': { pack: whole(`${all} --sparse --numeric-owner -z`), ...everything },
  'PAX in bzip2': { pack: whole(`${all} --sparse -j`), ...everything },
  'PAX in xz': { pack: whole(`${all} --sparse -I 'xz -T1 -1'`), ...everything },
  'PAX in zstd': { pack: whole(`${all} --sparse --zstd`), ...everything },
  'the whole directory as ./': { pack: whole(`${all} --sparse`, '.'), ...everything },
  'the root file system first, sorted by name': {
    pack: whole(`${all} --sparse --sort=name`, 'rootfs metadata.yaml'),
    ...everything,
  },
  'absolute member names': { pack: whole(`${all} --sparse -P --transform='flags=rh;s,^,/,'`), ...everything },
  'blocks of 10 KiB and zeros behind the end': {
    pack: (tree, to) => {
      shell(tree, `tar ${all} --sparse -b 20 -cf '${to}' metadata.yaml rootfs && head -c 20480 /dev/zero >> '${to}'`);
      return { metadata: to };
    },
    ...everything,
  },
  'split, PAX in xz': {
    pack: split((root, to) => shell(root, `tar ${all} --sparse -I 'xz -T1 -1' -cf '${to}' .`)),
    ...everything,
  },
  // squashfs cannot hold access lists; names with a line break in a squashfs are refused.
  'split, squashfs': {
    pack: split(squashfs('gzip')),
    ...ofSquashfs,
  },
  'split, squashfs in zstd': {
    pack: split(squashfs('zstd')),
    ...ofSquashfs,
  },
};

/** Everything but device nodes: kinds, modes, owners, sizes, links, times, contents, and attributes when they are wanted. */
export function contentsOf(root: string, { attributes, lineBreaks }: Kept): string {
  const kept = '! -type b ! -type c';
  const files = shell(root, `find . ${kept} -type f -printf '%p|%m|%U:%G|%s|%n|%Ts\\0' | sort -z`);
  const others = shell(root, `find . ${kept} ! -type f -printf '%p|%y|%m|%U:%G|%l\\0' | sort -z`);
  const sums = shell(root, `find . -type f -print0 | sort -z | xargs -0 sha256sum -z`);
  const inodes = shell(root, `find . -type f -links +1 -printf '%i|%p\\0' | sort -z`);
  const found = attributes === 'none' ? [] : attributesOf(root, attributes);
  const all = [...lines(files), ...lines(others), ...lines(sums), ...groups(lines(inodes)), ...found];
  return all.filter((entry) => lineBreaks || !entry.includes('odd/new\nline')).join('\n');
}

const lines = (text: string): readonly string[] => text.split('\0').filter((line) => line !== '');

/** Groups of names that are one file, regardless of inode numbers. */
function groups(inodes: readonly string[]): readonly string[] {
  const byNumber = new Map<string, string[]>();
  for (const line of inodes) {
    const [number = '', ...name] = line.split('|');
    byNumber.set(number, [...(byNumber.get(number) ?? []), name.join('|')]);
  }
  return [...byNumber.values()].map((names) => `one file: ${names.toSorted().join(' = ')}`).toSorted();
}

function attributesOf(root: string, wanted: Attributes): readonly string[] {
  const text = shell(root, `find . ! -type l -print0 | xargs -0 getfattr -h -d -m - -e hex --absolute-names`);
  const isWanted = (line: string): boolean => wanted === 'all' || !line.startsWith('system.posix_acl');
  return text
    .split('\n\n')
    .map((each) => each.trim().split('\n').filter(isWanted))
    .filter((each) => each.length > 1)
    .map((each) => each.join('\n'))
    .toSorted();
}

/** Bytes on disk. */
export const diskBytes = (path: string): number => Number(shell('/', `stat -c %b '${path}'`)) * 512;
