// Byte sizes: the accepted spellings and the text for people.
import { describe, expect, test } from 'vitest';
import { formatBytes, parseBytes } from '../../server/api/text/byte-size.ts';

describe('parseBytes', () => {
  test.each([
    ['', 0],
    ['0', 0],
    ['512', 512],
    ['512B', 512],
    ['512 bytes', 512],
    ['10kB', 10_000],
    ['10KiB', 10_240],
    ['3MB', 3_000_000],
    ['3MiB', 3_145_728],
    ['20GB', 20_000_000_000],
    ['1GiB', 1_073_741_824],
    ['2TB', 2e12],
    ['1TiB', 2 ** 40],
    ['1PB', 1e15],
    ['1PiB', 2 ** 50],
    ['9EB', 9e18],
    ['7EiB', 7 * 2 ** 60],
    ['9223372036854775807', 2 ** 63],
  ])('%j is %d bytes', (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  test.each(['-1', '1.5GB', '10 GB', '10gb', '10KB', 'GB', ' 5', '5 ', '5byte', '0x10', '9EiB', '10EB', '1e3', '５'])(
    '%j is not a size',
    (text) => {
      expect(parseBytes(text)).toBeUndefined();
    },
  );
});

test('formatBytes shows three orders at most before its point', () => {
  expect([0, 999, 1000, 1500, 999_999, 2_345_678, 5e18, 5e21].map((n) => formatBytes(n))).toEqual([
    '0B',
    '999B',
    '1.00kB',
    '1.50kB',
    '1.00MB',
    '2.35MB',
    '5.00EB',
    '5000.00EB',
  ]);
  expect(formatBytes(1_234_567, 1)).toBe('1.2MB');
});
