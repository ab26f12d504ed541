// Verbs that only read end at the first Ctrl-C, announce no steps, and say that nothing was changed.
import { expect, test } from 'vitest';
import { exitCodes } from '../../../../reconciler/cli/errors/exit-codes.ts';
import { CliError } from '../../../../reconciler/cli/errors/usage-error.ts';
import type { Context } from '../../../../reconciler/cli/session/context.ts';
import { readingOnly } from '../../../../reconciler/cli/program/reading-only.ts';

function contextOf(stop: AbortSignal, seen: string[]): Context {
  const takeAnnouncements = () => {
    seen.push('taken');
    return () => void seen.push('given back');
  };
  return { stop, takeAnnouncements } as unknown as Context;
}

test('an interruption says that nothing was changed', async () => {
  const seen: string[] = [];
  const stop = new AbortController();
  const running = readingOnly(async ({ stop: signal }) => {
    stop.abort(new CliError('Interrupted', exitCodes.interrupted));
    signal.throwIfAborted();
    return exitCodes.ok;
  })(contextOf(stop.signal, seen), []);
  await expect(running).rejects.toMatchObject({
    message: 'Interrupted: nothing was changed',
    exitCode: exitCodes.interrupted,
  });
  expect(seen).toEqual(['taken', 'given back']);
});

test('other errors and codes pass unchanged', async () => {
  const seen: string[] = [];
  const context = contextOf(new AbortController().signal, seen);
  const broken = new CliError('no such file', exitCodes.error);
  await expect(readingOnly(() => Promise.reject(broken))(context, [])).rejects.toBe(broken);
  expect(await readingOnly(async () => exitCodes.ok)(context, [])).toBe(exitCodes.ok);
});
