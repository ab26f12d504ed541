import { expect, test } from 'vitest';
import { missingPrograms, skipLines } from './skip-reporter.ts';

test('a skipped test that misses a program of Debian is named', () => {
  const lines = skipLines(
    'noise\nskipped: tests with a real etcd: etcd and etcdctl are not installed (apt-get install etcd-client)\nskipped: needs root\n',
  );
  expect(lines).toHaveLength(2);
  expect(missingPrograms(lines)).toEqual([expect.stringContaining('etcdctl')]);
});

test('a program that Debian does not have may be missing', () => {
  expect(missingPrograms(['skipped: terraform is not installed'])).toEqual([]);
});
