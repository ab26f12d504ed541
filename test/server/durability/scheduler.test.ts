// Tasks of the minute: a failing one does not delay others, and none runs once the daemon has stopped.
import { expect, test } from 'vitest';
import { silentLog } from '../../../server/lib/log.ts';
import { Scheduler } from '../../../server/services/shared/scheduler.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { testMinutes } from '../../support/daemons/clock.ts';

test('a task that throws at once is logged, and the next task runs', async () => {
  let now = Date.parse('2026-01-01T00:00:30Z');
  const logged: string[] = [];
  const ran: string[] = [];
  const fail = (): Promise<void> => {
    throw new Error('no such directory');
  };
  const good = (): Promise<void> => {
    ran.push('second');
    return Promise.resolve();
  };
  const scheduler = new Scheduler({
    tasks: [
      { name: 'First', run: fail },
      { name: 'Second', run: good },
    ],
    clock: { nowMs: () => now },
    log: { ...silentLog, error: (message) => logged.push(message) },
    timer: () => ({ stop() {} }),
  });
  now += 60_000;
  await scheduler.tick();
  expect([logged, ran]).toEqual([['First failed: no such directory'], ['second']]);
});

test('tasks run in each minute once, also after the clock went back a day', async () => {
  let now = Date.parse('2026-01-02T00:00:30Z');
  const ran: string[] = [];
  const scheduler = new Scheduler({
    tasks: [{ name: 'Only', run: async (minute) => void ran.push(minute.toISOString()) }],
    clock: { nowMs: () => now },
    log: silentLog,
    timer: () => ({ stop() {} }),
  });
  await scheduler.tick();
  now += 30_000;
  await scheduler.tick();
  await scheduler.tick();
  now -= 86_400_000;
  await scheduler.tick();
  expect(ran).toEqual(['2026-01-02T00:01:00.000Z', '2026-01-01T00:01:00.000Z']);
});

test('a task that hangs stops no other task, is named in the log once, and does not hold up the end', async () => {
  let now = Date.parse('2026-01-01T00:00:30Z');
  const warned: string[] = [];
  let [hung, ran] = [0, 0];
  const scheduler = new Scheduler({
    tasks: [
      { name: 'Hanging', run: () => ((hung += 1), new Promise(() => {})) },
      { name: 'Other', run: async () => void (ran += 1) },
    ],
    clock: { nowMs: () => now },
    log: { ...silentLog, warn: (message) => warned.push(message) },
    timer: () => ({ stop() {} }),
  });
  for (let minute = 0; minute < 100; minute += 1) {
    now += 60_000;
    void scheduler.tick();
    await new Promise(setImmediate);
  }
  expect([hung, ran]).toEqual([1, 100]);
  expect(warned).toEqual([expect.stringMatching(/^Hanging has not ended for 10 minutes/)]);
  await scheduler.stop(1);
});

test('a task that lasted longer than a minute runs for the minutes that passed meanwhile', async () => {
  let now = Date.parse('2026-01-01T00:00:30Z');
  const ran: string[] = [];
  let end = (): void => {};
  const first = new Promise<void>((resolve) => (end = resolve));
  const scheduler = new Scheduler({
    tasks: [{ name: 'Slow', run: (minute) => (ran.push(minute.toISOString().slice(11, 16)), first) }],
    clock: { nowMs: () => now },
    log: silentLog,
    timer: () => ({ stop() {} }),
  });
  const ticks: Promise<void>[] = [];
  for (let minute = 0; minute < 3; minute += 1) {
    now += 60_000;
    ticks.push(scheduler.tick());
  }
  end();
  await Promise.all(ticks);
  expect(ran).toEqual(['00:01', '00:02', '00:03']);
});

test('a daemon that has stopped removes its timer', async () => {
  const { time } = testMinutes('2026-01-01T00:00:30Z');
  let ticking = 0;
  const minutes = (): { stop(): void } => {
    ticking += 1;
    return { stop: () => void (ticking -= 1) };
  };
  const daemon = await makeDaemon({ time: { ...time, minutes } });
  expect(ticking).toBe(1);
  await daemon.stop();
  expect(ticking).toBe(0);
  await daemon.cleanUp();
});
