// Describes a tree so that two trees can be compared regardless of their place and their owners on disk.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Kind, mode, owner (as the container sees it), device, content, hard links and extended attributes including ACLs of everything below a
 * path. `times`: also mtimes in seconds, as in LXD backups; a boot changes them.
 */
export function treeFacts(root: string, { times = false } = {}): Readonly<Record<string, string>> {
  const base = lstatSync(root).uid;
  const found: Record<string, string> = { attributes: attributesBelow(root) };
  const firstNames = new Map<number, string>();
  const walk = (path: string): void => {
    for (const name of readdirSync(bytesOf(join(root, path)), 'latin1').toSorted()) {
      const at = join(path, name);
      const full = bytesOf(join(root, at));
      const { mode, uid, gid, rdev, size, ino, mtimeMs } = lstatSync(full);
      const kind = mode & 0o170000;
      const isFile = kind === 0o100000;
      const content =
        kind === 0o120000
          ? readlinkSync(full, 'latin1')
          : isFile
            ? createHash('sha256').update(readFileSync(full)).digest('hex')
            : '';
      const first = firstNames.get(ino) ?? at;
      firstNames.set(ino, first);
      const facts = [mode.toString(8), uid - base, gid - base, rdev, isFile ? size : '', content];
      if (first !== at) facts.push(`is ${first}`);
      if (times) facts.push(Math.round(mtimeMs / 1000));
      found[at] = facts.join(' ');
      if (kind === 0o040000) walk(at);
    }
  };
  walk('.');
  return found;
}

/** Names are any bytes. */
const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1');

/** Sorted, since the order of directory entries is arbitrary. */
function attributesBelow(root: string): string {
  const all = execFileSync('getfattr', ['-R', '-h', '-d', '-m', '-', '.'], {
    cwd: root,
    encoding: 'latin1',
    maxBuffer: 1 << 26,
  });
  return all.split('\n\n').toSorted().join('\n\n');
}
