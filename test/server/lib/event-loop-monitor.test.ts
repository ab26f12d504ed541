// The watch over the event loop: which times count as blocked, which work is named, and that it costs nothing without work.
import { expect, test } from 'vitest';
import { EventLoopMonitor, type LoopTime } from '../../../server/lib/event-loop-monitor.ts';

/** Time that moves only when told to. */
class TestTime implements LoopTime {
  now = 0;
  waited = 0;
  #next: { readonly at: number; readonly call: () => void } | undefined;
  nowMs = (): number => this.now;
  waitedMs = (): number => this.waited;
  after(ms: number, call: () => void): () => void {
    this.#next = { at: this.now + ms, call };
    return () => (this.#next = undefined);
  }
  close(): void {}
  get isArmed(): boolean {
    return this.#next !== undefined;
  }
  /** The loop turns again after that time; due timers are called then. */
  turn(ms: number, waited = 0): void {
    this.now += ms;
    this.waited += waited;
    const next = this.#next;
    if (next === undefined || next.at > this.now) return;
    this.#next = undefined;
    next.call();
  }
}

function make(quietMs = 0) {
  const time = new TestTime();
  const holds: [number, readonly string[]][] = [];
  const watch = new EventLoopMonitor({
    limitMs: 50,
    quietMs,
    onBlocked: (held, names) => holds.push([held, names]),
    time,
  });
  return { time, holds, watch };
}

test('a turn above the limit counts, and the report names the current work and the work that has just ended', () => {
  const { time, holds, watch } = make();
  watch.enter(() => 'GET /a');
  const leave = watch.enter(() => 'PUT /b');
  time.turn(10);
  leave();
  time.turn(190);
  expect(holds).toEqual([[180, ['PUT /b', 'GET /a']]]);
  expect(watch.figures).toEqual({ limitMs: 50, longestMs: 180, overLimit: 1 });
});

test('a turn within the limit counts only for the longest time', () => {
  const { time, holds, watch } = make();
  watch.enter(() => 'a');
  time.turn(50);
  expect(holds).toEqual([]);
  expect(watch.figures).toEqual({ limitMs: 50, longestMs: 40, overLimit: 0 });
});

test('time without a processor for the thread does not count', () => {
  const { time, holds, watch } = make();
  watch.enter(() => 'a');
  time.turn(510, 480);
  expect(holds).toEqual([]);
  expect(watch.figures.longestMs).toBe(20);
});

test('log lines are limited, counts are complete', () => {
  const { time, holds, watch } = make(1000);
  watch.enter(() => 'a');
  for (let count = 0; count < 5; count += 1) time.turn(100);
  expect(holds).toHaveLength(1);
  expect(watch.figures.overLimit).toBe(5);
});

test('no timer runs before the first work and a second after the last', () => {
  const { time, watch } = make();
  expect(time.isArmed).toBe(false);
  const leave = watch.enter(() => 'a');
  expect(time.isArmed).toBe(true);
  leave();
  for (let count = 0; count < 99; count += 1) time.turn(10);
  expect(time.isArmed).toBe(true);
  time.turn(10);
  expect(time.isArmed).toBe(false);
});
