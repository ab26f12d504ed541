// Limits and pauses longer than a timer of Node can be, which would fire at once.
import { execFileSync } from 'node:child_process';
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

test('a limit beside a signal comes, although nothing else refers to it when memory is collected', () => {
  const urlOf = (path: string): string => new URL(path, import.meta.url).href;
  const program = `
    import { withLimit } from '${urlOf('../../../server/lib/shared/deadline.ts')}';
    const stop = new AbortController();
    let ended = 0;
    const begin = () => withLimit(stop.signal, 3000).addEventListener('abort', () => (ended += 1));
    for (let count = 0; count < 10; count += 1) begin();
    for (let round = 0; ended < 10 && round < 200; round += 1) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    console.log(ended);`;
  const flags = ['--expose-gc', `--import=${urlOf('../../support/run-typescript.mjs')}`, '--input-type=module'];
  expect(execFileSync(process.execPath, [...flags, '-e', program]).toString()).toBe('10\n');
});
