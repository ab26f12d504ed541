// The attributes of a file that name ids of users: access lists, and for whose root a file capability is.
import { libcCalls } from '../../libc-calls.ts';

type ShiftId = (kind: 'uid' | 'gid', id: number) => number;

export interface AttributeCalls {
  /** Undefined where the file has none, or the file system knows no attributes. */
  read(path: Buffer, name: string): Buffer | undefined;
  /** Throws an error with the code of lsetxattr(2). */
  write(path: Buffer, name: string, value: Buffer): void;
  remove(path: Buffer, name: string): void;
}

const maxBytes = 65_536;

/** Symbolic links are not followed. */
export const loadAttributes = libcCalls<AttributeCalls>((libc, { failed }) => {
  const get = libc.func('long lgetxattr(const uint8_t *path, const uint8_t *name, _Out_ uint8_t *value, ulong size)');
  const set = libc.func(
    'int lsetxattr(const uint8_t *path, const uint8_t *name, const uint8_t *value, ulong size, int flags)',
  );
  const remove = libc.func('int lremovexattr(const uint8_t *path, const uint8_t *name)');
  const buffer = Buffer.alloc(maxBytes);
  const ended = (text: Buffer | string): Buffer => Buffer.concat([Buffer.from(text as string), Buffer.of(0)]);
  return {
    read(path, name) {
      const length = Number(get(ended(path), ended(name), buffer, buffer.length));
      return length < 0 ? undefined : Buffer.from(buffer.subarray(0, length));
    },
    write(path, name, value) {
      if (Number(set(ended(path), ended(name), value, value.length, 0)) < 0)
        throw failed(`cannot write ${name} of a file`);
    },
    remove: (path, name) => void remove(ended(path), ended(name)),
  };
});

const capability = 'security.capability';
/** A change of the owner takes the capability away: it is here until it is back, also over a crash. */
const kept = 'trusted.gantry.capability';
const accessLists = ['system.posix_acl_access', 'system.posix_acl_default'] as const;

/** Done a second time it changes nothing: ids of one map are none of the other. */
export function shiftAccessLists(calls: AttributeCalls, path: Buffer, shift: ShiftId): void {
  for (const name of accessLists) {
    const before = calls.read(path, name);
    if (before === undefined) continue;
    const after = shiftedAccessList(before, shift);
    if (!after.equals(before)) calls.write(path, name, after);
  }
}

/** Puts the capability aside before the owner changes; `putBackCapability` must follow. */
export function putAsideCapability(calls: AttributeCalls, path: Buffer): void {
  const found = calls.read(path, capability);
  if (found !== undefined) calls.write(path, kept, found);
}

/** Also what a crash left aside. */
export function putBackCapability(calls: AttributeCalls, path: Buffer, shift: ShiftId): void {
  const found = calls.read(path, kept);
  if (found === undefined) return;
  calls.write(path, capability, shiftedCapability(found, shift));
  calls.remove(path, kept);
}

const [ofUser, ofGroup] = [0x02, 0x08];

/** Pure: `struct posix_acl_xattr_header`, then entries of tag, rights and id. What it does not know stays. */
export function shiftedAccessList(value: Buffer, shift: ShiftId): Buffer {
  const shifted = Buffer.from(value);
  for (let at = 4; at + 8 <= shifted.length; at += 8) {
    const tag = shifted.readUInt16LE(at);
    if (tag !== ofUser && tag !== ofGroup) continue;
    const id = shift(tag === ofUser ? 'uid' : 'gid', shifted.readUInt32LE(at + 4));
    shifted.writeUInt32LE(id, at + 4);
  }
  return shifted;
}

const [revisionMask, revision2, revision3] = [0xff000000, 0x02000000, 0x03000000];
const [bytesOf2, bytesOf3] = [20, 24];

/** Pure: `struct vfs_ns_cap_data`. Revision 2 is for root of the host, revision 3 names whose root. What it does not know stays. */
export function shiftedCapability(value: Buffer, shift: ShiftId): Buffer {
  if (value.length < bytesOf2) return value;
  const magic = value.readUInt32LE(0);
  const revision = (magic & revisionMask) >>> 0;
  const isNamed = revision === revision3 && value.length === bytesOf3;
  if (!isNamed && revision !== revision2) return value;
  const root = shift('uid', isNamed ? value.readUInt32LE(bytesOf2) : 0);
  const flags = (magic & ~revisionMask) >>> 0;
  const shifted = Buffer.alloc(root === 0 ? bytesOf2 : bytesOf3);
  value.copy(shifted, 0, 0, bytesOf2);
  shifted.writeUInt32LE((root === 0 ? revision2 : revision3) + flags, 0);
  if (root !== 0) shifted.writeUInt32LE(root, bytesOf2);
  return shifted;
}
