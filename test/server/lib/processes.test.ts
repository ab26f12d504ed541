// Processes found by /proc: which of them still run.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test, vi } from 'vitest';
import { isSameProcess, readProcess } from '../../../server/lib/shared/processes.ts';

const own = readProcess(process.pid)?.startTime ?? 0;

test('a process is the same by its pid and its start', () => {
  expect(isSameProcess(process.pid, own)).toBe(true);
  expect(isSameProcess(process.pid, own + 1)).toBe(false);
  expect(isSameProcess(2 ** 30, own)).toBe(false);
});

test.each([
  ['EMFILE', true],
  ['ENFILE', true],
  ['ENOMEM', true],
  ['ENOENT', false],
  ['ESRCH', false],
])('a process whose facts cannot be read because of %s counts as running: %s', (code, isRunning) => {
  const reading = vi.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  syncBuiltinESMExports();
  try {
    expect(isSameProcess(process.pid, own)).toBe(isRunning);
  } finally {
    reading.mockRestore();
    syncBuiltinESMExports();
  }
});
