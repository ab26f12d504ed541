// Members whose leases ended together acquire new ones at different times, spread by the number of members.
import { expect, test } from 'vitest';
import { rejoinSpreadMs } from '../../../server/membership/presence-rules.ts';
import { seededRandom } from '../../support/random.ts';

test('three members return at once', () => {
  expect(rejoinSpreadMs(3, 20, 1)).toBeLessThanOrEqual(30);
});

test('a thousand members that lost their leases together return spread over seconds, within half the time to live', () => {
  const random = seededRandom(7);
  const moments = Array.from({ length: 1000 }, () => rejoinSpreadMs(1000, 20, random.next()));
  expect(Math.max(...moments)).toBeLessThanOrEqual(10_000);
  const inWindow = (fromMs: number): number => moments.filter((ms) => ms >= fromMs && ms < fromMs + 500).length;
  const busiest = Math.max(...Array.from({ length: 20 }, (_, index) => inWindow(index * 500)));
  expect(busiest).toBeLessThan(100);
});
