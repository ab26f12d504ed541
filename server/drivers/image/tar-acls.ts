// LXD writes ACLs into backups and images in the kernel's form: as attributes, which tar drops when it reads ACLs, or as tar's records, which tar
// then cannot read. This turns them into tar's records. Pure.
import { withContent } from '../../lib/shared/tar-headers.ts';
import type { TarMember } from './tar-reader.ts';

const recordOf = new Map(
  ['access', 'default'].flatMap((which) => [
    [`SCHILY.xattr.system.posix_acl_${which}`, `SCHILY.acl.${which}`],
    [`SCHILY.acl.${which}`, `SCHILY.acl.${which}`],
  ]),
);

/** Whether tar would lose an ACL of this member. An attribute beside tar's own record of the same ACL does no harm. */
export const hasKernelAcls = (records: TarMember['records']): boolean =>
  [...recordOf].some(([key, known]) => {
    const value = records.get(key);
    if (value === undefined || (key !== known && records.has(known))) return false;
    return aclText(Buffer.from(value, 'latin1')) !== undefined;
  });

/** The headers of a member: an extended header, its records, and the header itself in LXD's archives. */
function headWithAcls({ head, records }: Pick<TarMember, 'head' | 'records'>): readonly Buffer[] {
  const [extended, , ...rest] = head;
  if (extended?.[156] !== 'x'.charCodeAt(0) || ![...recordOf.keys()].some((key) => records.has(key))) return head;
  const written = [...records].map(([key, value]) => {
    const text = aclText(Buffer.from(value, 'latin1'));
    const known = recordOf.get(key);
    return known === undefined || text === undefined ? record(key, value) : record(known, text);
  });
  return [withContent(extended, Buffer.from(written.join(''), 'latin1')), ...rest];
}

/** The whole member as tar reads it: its headers, and its content up to the end of a block. */
export async function* memberWithAcls(member: TarMember): AsyncGenerator<Buffer> {
  yield* headWithAcls(member);
  yield* member.padded();
}

/** `LENGTH KEY=VALUE\n`, where the length counts its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return `${length}${rest}`;
}

const names: Readonly<Record<number, string>> = {
  1: 'user',
  2: 'user',
  4: 'group',
  8: 'group',
  16: 'mask',
  32: 'other',
};
const version = 2;
const entryBytes = 8;

/** `user::rw-,user:1005:r--,...`; undefined: not the kernel's form. */
function aclText(list: Buffer): string | undefined {
  if (list.length % entryBytes !== 4 || list.readUInt32LE(0) !== version) return undefined;
  const entries: string[] = [];
  for (let at = 4; at < list.length; at += entryBytes) {
    const [tag, bits, id] = [list.readUInt16LE(at), list.readUInt16LE(at + 2), list.readUInt32LE(at + 4)];
    const name = names[tag];
    if (name === undefined) return undefined;
    const rights = ['r', 'w', 'x'].map((right, index) => ((bits & (4 >> index)) === 0 ? '-' : right)).join('');
    entries.push(`${name}:${tag === 2 || tag === 8 ? id : ''}:${rights}`);
  }
  return entries.join(',');
}
