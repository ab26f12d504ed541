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
