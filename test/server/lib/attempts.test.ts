// Guessing of secrets gets slower with each attempt of an address.
import { expect, test } from 'vitest';
import { Attempts, forgetAttemptsMs } from '../../../server/lib/shared/attempts.ts';

const limits = { free: 3, firstDelayMs: 500, maxDelayMs: 30_000, maxAddresses: 1024 };

function at(): { attempts: Attempts; pass: (ms: number) => void } {
  let now = 0;
  return { attempts: new Attempts(() => now, limits), pass: (ms) => void (now += ms) };
}

/** How long each of several attempts at the same moment waits. */
const waits = (attempts: Attempts, count: number, address = '10.0.0.1'): number[] =>
  Array.from({ length: count }, () => {
    const waitMs = attempts.waitMs(address);
    attempts.count(address, waitMs);
    return waitMs;
  });

test('the first three are checked at once, later ones wait longer and longer', () => {
  expect(waits(at().attempts, 7)).toEqual([0, 0, 0, 500, 1500, 3500, 7500]);
});

test('failures at the same moment do not add up their delays when none waited', () => {
  const { attempts } = at();
  for (let count = 0; count < 5; count += 1) attempts.count('10.0.0.1');
  expect(attempts.waitMs('10.0.0.1')).toBe(2000);
});

test('an attempt may be repeated after its delay', () => {
  const { attempts, pass } = at();
  waits(attempts, 6);
  expect(attempts.waitMs('10.0.0.1')).toBe(7500);
  pass(7500);
  expect(attempts.waitMs('10.0.0.1')).toBe(0);
});

test('the delay never exceeds its maximum, however many attempts there were', () => {
  const { attempts } = at();
  for (let count = 0; count < 2000; count += 1) attempts.count('10.0.0.1');
  expect(attempts.waitMs('10.0.0.1')).toBe(limits.maxDelayMs);
});

test('addresses do not slow down each other, but a whole IPv6 network counts as one', () => {
  const { attempts } = at();
  waits(attempts, 6);
  expect(attempts.waitMs('10.0.0.2')).toBe(0);
  waits(attempts, 6, '2001:db8::1');
  expect(attempts.waitMs('2001:db8:0:0:ffff::7')).toBe(7500);
  expect(attempts.waitMs('2001:db8:0:1::1')).toBe(0);
  expect(attempts.waitMs('::ffff:10.0.0.1')).toBe(7500);
});

test('success and a long pause reset the count', () => {
  const { attempts, pass } = at();
  waits(attempts, 6);
  attempts.succeeded('10.0.0.1');
  expect(waits(attempts, 6)).toEqual([0, 0, 0, 500, 1500, 3500]);
  pass(forgetAttemptsMs + 60_000);
  expect(waits(attempts, 4)).toEqual([0, 0, 0, 500]);
});

test('the number of remembered addresses is bounded', () => {
  const { attempts } = at();
  for (let index = 0; index < 3000; index += 1) attempts.count(`10.1.${index >> 8}.${index & 255}`);
  expect(attempts.size).toBe(limits.maxAddresses);
});

test('a clock that was set back prolongs no delay', () => {
  const { attempts, pass } = at();
  waits(attempts, 4);
  pass(-86_400_000);
  expect(waits(attempts, 2)).toEqual([0, 2000]);
});
