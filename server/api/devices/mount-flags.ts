// The options that a disk's mount can have: a disk here is a second mount of files of the host, so only those of the mount itself.
import * as is from '../text/value-checks.ts';
import type { Check } from '../text/value-checks.ts';

export const mountFlags = [
  'ro',
  'nosuid',
  'nodev',
  'noexec',
  'nosymfollow',
  'nodiratime',
  'noatime',
  'relatime',
  'strictatime',
] as const;

export type MountFlag = (typeof mountFlags)[number];

const times: readonly string[] = ['noatime', 'relatime', 'strictatime'];

/** A comma list of flags, of which at most one sets how access times are kept. */
export const mountOptions: Check = (value) => {
  const broken = is.listOf(is.oneOf(...mountFlags))(value);
  if (broken !== undefined) return `${broken}; options of the file system itself belong where the host mounts it`;
  const kept = flagsOf(value).filter((flag) => times.includes(flag));
  return new Set(kept).size > 1 ? `must have one of ${times.join(', ')} at most` : undefined;
};

/** The flags of a valid list. */
export const flagsOf = (value: string | undefined): readonly MountFlag[] => {
  const words = (value ?? '').split(',').map((word) => word.trim());
  return mountFlags.filter((flag) => words.includes(flag));
};
