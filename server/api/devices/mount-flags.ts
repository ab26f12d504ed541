// Mount options of a disk: flags of the mount itself, and those of the file system if the source is a block device.
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

const wordsOf = (value: string | undefined): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');

const isFlag = (word: string): word is MountFlag => mountFlags.some((flag) => flag === word);

/** A comma list of words, NAME or NAME=VALUE, with at most one access time mode. */
export const mountOptions: Check = (value) => {
  const bad = wordsOf(value).find((word) => !/^[a-z0-9_.-]+(=[!-~]+)?$/i.test(word));
  if (bad !== undefined) return `has ${is.shown(bad)} where NAME or NAME=VALUE belongs`;
  if (wordsOf(value).some((word) => /^source(=|$)/i.test(word))) return 'must not have source: the disk has its own';
  const kept = flagsOf(value).filter((flag) => times.includes(flag));
  return new Set(kept).size > 1 ? `must have one of ${times.join(', ')} at most` : undefined;
};

/** Options of the file system on a block device, rather than of the mount. */
export const fileSystemOptions = (value: string | undefined): readonly string[] =>
  wordsOf(value).filter((word) => !isFlag(word));

export const flagsOf = (value: string | undefined): readonly MountFlag[] =>
  mountFlags.filter((flag) => wordsOf(value).includes(flag));
