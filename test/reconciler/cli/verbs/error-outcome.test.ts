// The message of an error that ended a command.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { messageOf } from '../../../../reconciler/cli/errors/error-outcome.ts';

const thrown = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test('an error of the file system names the file and the reason, and an unexpected one shows where it is from', () => {
  expect(messageOf(thrown(() => readFileSync('/proc/no-such-file')))).toBe(
    'cannot use /proc/no-such-file: there is no such file or folder on this machine',
  );
  expect(messageOf(new RangeError('odd'))).toMatch(/^RangeError: odd\n +at /);
});
