// What failed by a coincidence runs again, a few times.
import { expect, test } from 'vitest';
import { repeatWhile } from '../../../server/lib/shared/repeat.ts';

/** Fails in this way until it has run so often. */
function failing(message: string, times: number): { run: () => Promise<number>; ran: () => number } {
  let ran = 0;
  const run = async (): Promise<number> => {
    ran += 1;
    if (ran <= times) throw new Error(`${message} ${ran}`);
    return ran;
  };
  return { run, ran: () => ran };
}
const repeat = { mayPass: (error: unknown) => String(error).includes('passing'), runs: 3, pauseMs: 0 };

test('a failure that passes is no failure', async () => {
  expect(await repeatWhile(failing('passing', 2).run, repeat)).toBe(3);
});

test('the last run throws its error', async () => {
  const { run, ran } = failing('passing', 9);
  await expect(repeatWhile(run, repeat)).rejects.toThrow('passing 3');
  expect(ran()).toBe(3);
});

test('another failure ends it at once', async () => {
  const { run, ran } = failing('real', 9);
  await expect(repeatWhile(run, repeat)).rejects.toThrow('real 1');
  expect(ran()).toBe(1);
});
