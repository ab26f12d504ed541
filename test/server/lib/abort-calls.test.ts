// Calls of one signal share a listener, and leave nothing behind.
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { whenAborted } from '../../../server/lib/shared/abort-calls.ts';
import { pause, within } from '../../../server/lib/shared/deadline.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('an abort calls each waiting function once, in their order, and no withdrawn one', () => {
  const abort = new AbortController();
  const called: string[] = [];
  whenAborted(abort.signal, () => called.push('a'));
  const withdraw = whenAborted(abort.signal, () => called.push('b'));
  whenAborted(abort.signal, () => called.push('c'));
  withdraw();
  abort.abort();
  abort.abort();
  expect(called).toEqual(['a', 'c']);
});

test('a call may withdraw another one while the signal aborts', () => {
  const abort = new AbortController();
  const called: string[] = [];
  whenAborted(abort.signal, () => {
    called.push('a');
    withdraw();
  });
  const withdraw = whenAborted(abort.signal, () => called.push('b'));
  abort.abort();
  expect(called).toEqual(['a']);
});

test('a signal that has aborted calls nothing and gets no listener', () => {
  const signal = AbortSignal.abort();
  whenAborted(signal, () => expect.unreachable())();
  expect(listeners(signal)).toBe(0);
});

test('a signal has one listener while a hundred calls and pauses wait, and none when they have ended', async () => {
  const { signal } = new AbortController();
  const waiting = Array.from({ length: 100 }, () => [within(1000, () => pause(20, signal), signal), pause(20, signal)]);
  expect(listeners(signal)).toBe(1);
  await Promise.all(waiting.flat());
  expect(listeners(signal)).toBe(0);
});

test('a call that is added after all others were withdrawn is made', () => {
  const abort = new AbortController();
  whenAborted(abort.signal, () => expect.unreachable())();
  let isCalled = false;
  whenAborted(abort.signal, () => (isCalled = true));
  abort.abort();
  expect(isCalled).toBe(true);
});
