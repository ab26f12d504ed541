// The looks of each minute, of which one may hang.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../server/lib/log.ts';
import { WarningWatch, type WarningWatchDeps } from '../../../../server/services/warnings/warning-watch.ts';

test('a look that hangs holds up neither the other looks nor the tasks of later minutes', async () => {
  const looked: string[] = [];
  const look = (name: string, result: Promise<void>) => ({ look: () => (looked.push(name), result) });
  const hung = new Promise<void>(() => {});
  const looks = [look('pools', hung), look('networks', Promise.resolve())];
  const book = { tidy: async () => void looked.push('tidy') };
  const watch = new WarningWatch({ looks, book, sources: [], log: silentLog } as unknown as WarningWatchDeps);
  const task = watch.task();
  await task.run(new Date(), AbortSignal.timeout(50));
  await task.run(new Date(), AbortSignal.timeout(50));
  expect(looked).toEqual(['pools', 'networks', 'tidy', 'networks', 'tidy']);
});

test('a look that fails is reported, and made again in the next minute', async () => {
  let count = 0;
  const looks = [{ look: () => Promise.reject(new Error(`failure ${(count += 1)}`)) }];
  const watch = new WarningWatch({ looks, sources: [], log: silentLog } as unknown as WarningWatchDeps);
  const task = watch.task();
  const never = new AbortController().signal;
  await expect(task.run(new Date(), never)).rejects.toThrow('failure 1');
  await expect(task.run(new Date(), never)).rejects.toThrow('failure 2');
});
