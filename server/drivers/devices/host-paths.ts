// The places where the kernel shows its devices, and readers for them; tests use trees of their own.
import { readlinkSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { textOrNothing } from '../../lib/shared/missing-files.ts';
import { attempt } from '../../lib/shared/attempt.ts';

export interface HostPaths {
  /** /sys */
  readonly sys: string;
  /** /dev */
  readonly dev: string;
  /** Number of the device node at a path as `major:minor` with its kind; undefined if there is none. Tests use plain files. */
  readonly node: (path: string) => NodeNumbers | undefined;
  /** The host is another one: requirements of devices are assumed to exist there, without a check. */
  readonly isOtherHost?: boolean;
}

export interface NodeNumbers {
  readonly kind: 'char' | 'block';
  readonly major: number;
  readonly minor: number;
}

export const thisHost: HostPaths = { sys: '/sys', dev: '/dev', node: readNode };

function readNode(path: string): NodeNumbers | undefined {
  try {
    const found = statSync(path);
    if (!found.isCharacterDevice() && !found.isBlockDevice()) return undefined;
    return { kind: found.isCharacterDevice() ? 'char' : 'block', ...splitDev(found.rdev) };
  } catch {
    return undefined;
  }
}

/** The kernel's device number as stat(2) gives it. */
export function splitDev(dev: number): { readonly major: number; readonly minor: number } {
  const number = BigInt(dev);
  return {
    major: Number(((number >> 8n) & 0xfffn) | ((number >> 32n) & 0xfffff000n)),
    minor: Number((number & 0xffn) | ((number >> 12n) & 0xffffff00n)),
  };
}

/** Text of a small file without the line end; '' when there is none. */
export const readText = (path: string): string => textOrNothing(path).trim();

/** Sorted names in a directory; none if it does not exist. */
export const list = (path: string): readonly string[] => attempt(() => readdirSync(path).toSorted(), []);

/** Last part of a link's target; '' if there is no link. */
export const linkName = (path: string): string => attempt(() => readlinkSync(path).split('/').at(-1) ?? '', '');

export const interfaceDir = (host: HostPaths, name: string): string => join(host.sys, 'class/net', name);
