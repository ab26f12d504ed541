// How often a source is asked.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SourceWatch } from '../../../reconciler/controller/sets/source-watch.ts';

const dayMs = 86_400_000;

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

test('a source with an interval of 30 days is asked once a day at most', async () => {
  let checks = 0;
  const watch = new SourceWatch({
    source: {
      name: 'shop',
      kind: 'git',
      url: 'https://example.org/shop.git',
      check: () => Promise.resolve({ revision: String((checks += 1)), at: '2026-01-01T00:00:00Z' }),
    },
    intervalMs: () => 30 * dayMs,
    onRevision: () => Promise.resolve(),
    onStatus: () => {},
    onError: () => {},
    nowMs: () => 0,
  });
  const stop = new AbortController();
  const ended = watch.run(stop.signal);
  await watch.checked;
  await vi.advanceTimersByTimeAsync(dayMs);
  stop.abort();
  await ended;
  expect(checks).toBe(1);
});
