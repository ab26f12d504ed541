// The daemon returns freed memory to the host, if the C library can.
import { afterEach, expect, test, vi } from 'vitest';
import { returnFreedMemory } from '../../../../server/drivers/runtime/host/return-memory.ts';
import { loadLibc, type Libc } from '../../../../server/drivers/runtime/host/syscalls.ts';

afterEach(() => vi.useRealTimers());

const nothing = { usedMicros: () => 0, collect: () => {} };

test('freed memory is returned every 15 seconds until the daemon stops', async () => {
  vi.useFakeTimers();
  const kept: number[] = [];
  const mallocTrim = (bytes: number): number => kept.push(bytes);
  const stop = await returnFreedMemory({ ...nothing, load: async () => ({ mallocTrim }) as unknown as Libc });
  await vi.advanceTimersByTimeAsync(31_000);
  expect(kept).toEqual([0, 0]);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kept).toEqual([0, 0]);
});

test('a daemon collects garbage twice when it becomes idle, even without malloc_trim, and again after more work', async () => {
  vi.useFakeTimers();
  let usedMicros = 0;
  let collected = 0;
  const stop = await returnFreedMemory({
    load: async () => undefined,
    usedMicros: () => usedMicros,
    collect: () => {
      collected += 1;
      usedMicros += 200_000;
    },
  });
  const after = async (work: number): Promise<number> => {
    usedMicros += work;
    await vi.advanceTimersByTimeAsync(15_000);
    return collected;
  };
  expect(await after(5_000_000)).toBe(0);
  expect(await after(1_000)).toBe(1);
  expect(await after(1_000)).toBe(2);
  expect(await after(1_000)).toBe(2);
  expect(await after(5_000_000)).toBe(2);
  expect(await after(1_000)).toBe(3);
  stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('the collector of this Node.js accepts the call', async () => {
  vi.useFakeTimers();
  const gone = new WeakRef({});
  const stop = await returnFreedMemory({ load: async () => undefined, usedMicros: () => 0 });
  await vi.advanceTimersByTimeAsync(15_000);
  stop();
  expect(gone.deref()).toBeUndefined();
});

const hostTrim = (await loadLibc())?.mallocTrim;
if (hostTrim === undefined) console.log('skipped: the call of malloc_trim, since this C library has none');

test.skipIf(hostTrim === undefined)('the C library of this host accepts the call', () => {
  expect([0, 1]).toContain(hostTrim?.(0));
});
