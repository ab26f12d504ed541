// The daemon gives freed memory back to the host, where the C library can.
import { afterEach, expect, test, vi } from 'vitest';
import { returnFreedMemory } from '../../../../server/drivers/runtime/host/return-memory.ts';
import { loadLibc, type Libc } from '../../../../server/drivers/runtime/host/syscalls.ts';

afterEach(() => vi.useRealTimers());

test('freed memory is returned every 15 seconds until the daemon stops', async () => {
  vi.useFakeTimers();
  const kept: number[] = [];
  const mallocTrim = (bytes: number): number => kept.push(bytes);
  const stop = await returnFreedMemory(async () => ({ mallocTrim }) as unknown as Libc);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(kept).toEqual([0, 0]);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kept).toEqual([0, 0]);
});

test('nothing is called where the C library has no malloc_trim or cannot be loaded', async () => {
  vi.useFakeTimers();
  for (const libc of [undefined, { mallocTrim: undefined } as unknown as Libc]) {
    (await returnFreedMemory(async () => libc))();
    expect(vi.getTimerCount()).toBe(0);
  }
});

const hostTrim = (await loadLibc())?.mallocTrim;
if (hostTrim === undefined) console.log('skipped: the call of malloc_trim, since this C library has none');

test.skipIf(hostTrim === undefined)('the C library of this host takes the call', () => {
  expect([0, 1]).toContain(hostTrim?.(0));
});
