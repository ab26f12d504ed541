// Turns throughput limits of block devices into cgroup values. Pure.
import type { DiskRate } from '../driver.ts';
import type { CgroupValue } from './limits.ts';

/** `gone`: rates applied before; those that `now` does not name are lifted. */
export function diskRateValues(
  now: readonly DiskRate[],
  gone: readonly DiskRate[],
  version: 1 | 2,
): readonly CgroupValue[] {
  const numbers = new Set([...gone, ...now].map((rate) => `${rate.major}:${rate.minor}`));
  return [...numbers].flatMap((number) => {
    const rates = now.filter((rate) => `${rate.major}:${rate.minor}` === number);
    return version === 1 ? values1(number, rates) : [values2(number, rates)];
  });
}

type Key = 'readBps' | 'writeBps' | 'readIops' | 'writeIops';

/** Several disks on one block device: the average, since there is only one limit for all. */
function average(rates: readonly DiskRate[], key: Key): number | undefined {
  const set = rates.flatMap((rate) => rate[key] ?? []);
  return set.length === 0 ? undefined : Math.round(set.reduce((sum, one) => sum + one, 0) / set.length);
}

const files1: readonly (readonly [Key, string])[] = [
  ['readBps', 'read_bps_device'],
  ['writeBps', 'write_bps_device'],
  ['readIops', 'read_iops_device'],
  ['writeIops', 'write_iops_device'],
];

const values1 = (number: string, rates: readonly DiskRate[]): readonly CgroupValue[] =>
  files1.map(([key, file]) => ({ file: `blkio.throttle.${file}`, value: `${number} ${average(rates, key) ?? 0}` }));

function values2(number: string, rates: readonly DiskRate[]): CgroupValue {
  const names = { readBps: 'rbps', writeBps: 'wbps', readIops: 'riops', writeIops: 'wiops' } as const;
  const parts = files1.map(([key]) => `${names[key]}=${average(rates, key) ?? 'max'}`);
  return { file: 'io.max', value: `${number} ${parts.join(' ')}` };
}
