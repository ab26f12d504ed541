// Limits and pauses longer than a timer of Node can be, which would fire at once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pause, within } from '../../../server/lib/shared/deadline.ts';

const month = 30 * 86_400_000;

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

test('a pause of a month ends after a month', async () => {
  let isOver = false;
  void pause(month, undefined).then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(month - 1000);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(1000);
  expect(isOver).toBe(true);
});

test('an abort ends a pause of a month in its second half', async () => {
  const stop = new AbortController();
  const paused = expect(pause(month, stop.signal)).rejects.toThrow('stopped');
  await vi.advanceTimersByTimeAsync(month - 1000);
  stop.abort(new Error('stopped'));
  await paused;
});

test('a limit of a month does not end work of a day', async () => {
  const done = within(month, (signal) => pause(86_400_000, signal).then(() => 'done'), undefined);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(await done).toBe('done');
});
