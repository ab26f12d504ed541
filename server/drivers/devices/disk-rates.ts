// Finds the block device below a path, and the rates that the limits.* of a disk set for it. Changes nothing.
import { readFile, stat } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseBytes } from '../../api/text/byte-size.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { DiskRate } from '../device-parts.ts';
import { type HostPaths, readText, splitDev } from './host-paths.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

type RatesOrWarning = { readonly rates: readonly DiskRate[] } | { readonly warning: string };

export async function diskRates(
  device: string,
  properties: ConfigMap,
  path: string,
  host: HostPaths,
): Promise<RatesOrWarning> {
  const wanted = parseRates(properties);
  if (Object.keys(wanted).length === 0 || path === '') return { rates: [] };
  const numbers = await blockDevice(path, host);
  if (numbers === undefined) {
    return { warning: `disk ${device}: limits.* have no effect, as ${path} is on no block device of its own` };
  }
  return { rates: [{ device, ...numbers, ...wanted }] };
}

/** `limits.max` sets both rates; `500iops` counts operations, any other value bytes. Pure. */
export function parseRates(properties: ConfigMap): Omit<DiskRate, 'device' | 'major' | 'minor'> {
  const max = properties['limits.max'] || undefined;
  const one = (text: string | undefined): { readonly bps?: number; readonly iops?: number } => {
    if (text === undefined || text === '') return {};
    const operations = /^([0-9]+)iops$/.exec(text)?.[1];
    if (operations !== undefined) return { iops: Number(operations) };
    const bps = parseBytes(text);
    return bps === undefined || bps === 0 ? {} : { bps };
  };
  const read = one(max ?? properties['limits.read']);
  const write = one(max ?? properties['limits.write']);
  return {
    ...withoutUndefined({ readBps: read.bps, readIops: read.iops, writeBps: write.bps, writeIops: write.iops }),
  };
}

/** The whole disk that holds the path: the kernel limits disks, not partitions. Undefined for file systems without one. */
async function blockDevice(path: string, host: HostPaths): Promise<{ major: number; minor: number } | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  let { major, minor } = splitDev(found.isBlockDevice() ? found.rdev : found.dev);
  if (major === 0) {
    // btrfs and similar file systems have a number of their own; the mount names their device.
    const source = mountSource(await readFile('/proc/self/mountinfo', 'utf8'), `${major}:${minor}`);
    const numbers = source === undefined ? undefined : host.node(source);
    if (numbers?.kind !== 'block') return undefined;
    ({ major, minor } = numbers);
  }
  const dir = join(host.sys, 'dev/block', `${major}:${minor}`);
  const disk = existsSync(join(dir, 'partition')) ? readText(join(dir, '../dev')) : '';
  const [diskMajor, diskMinor] = disk.split(':').map(Number);
  return diskMajor === undefined || diskMinor === undefined ? { major, minor } : { major: diskMajor, minor: diskMinor };
}

/** Pure: parses /proc/self/mountinfo. */
export function mountSource(mountinfo: string, number: string): string | undefined {
  for (const line of mountinfo.split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    if (left.split(' ')[2] === number) return right.split(' ')[1];
  }
  return undefined;
}
