// What happens after a failure: undos and cleanups run, and the first error is the one that is thrown.
import { expect, test } from 'vitest';
import { withCleanup, withRevert } from '../../../server/lib/revert.ts';
import { runAll } from '../../../server/lib/run-all.ts';

const silent = (): void => {};
const fails = (text: string) => async (): Promise<never> => Promise.reject(new Error(text));

test('undos run newest first, and one that fails neither stops the others nor hides the error of the work', async () => {
  const [ran, failed]: [string[], unknown[]] = [[], []];
  const work = withRevert(
    async (revert) => {
      revert.push(() => void ran.push('first'));
      revert.push(fails('cannot undo'));
      revert.push(() => void ran.push('last'));
      throw new Error('no room');
    },
    (error) => failed.push(error),
  );
  await expect(work).rejects.toThrow('no room');
  expect([ran, failed]).toEqual([['last', 'first'], [new Error('cannot undo')]]);
});

test('a cleanup runs after work that fails, and does not hide its error', async () => {
  const failed: unknown[] = [];
  const cleaned = withCleanup(fails('no room'), fails('still busy'), (error) => failed.push(error));
  await expect(cleaned).rejects.toThrow('no room');
  expect(failed).toEqual([new Error('still busy')]);
  await expect(withCleanup(async () => 1, fails('still busy'), silent)).rejects.toThrow('still busy');
});

test('all works run although some fail, and the error names each failure', async () => {
  const ran: string[] = [];
  const works = [fails('one'), () => void ran.push('between'), fails('two'), () => void ran.push('last')];
  await expect(runAll(works)).rejects.toThrow('one; two');
  expect(ran).toEqual(['between', 'last']);
  const only = new Error('only');
  await expect(runAll([async () => Promise.reject(only)])).rejects.toBe(only);
});
