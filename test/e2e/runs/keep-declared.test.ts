// `gantry run` keeps a host as declared, with restraint: not while the set is locked, not outside its windows, not endlessly against
// another client. It continues when the server is reachable again.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { dailyWindow, opensInMs } from '../../../reconciler/controller/decide/windows.ts';
import { repairPauseMs } from '../../../reconciler/core/drift/repair-pace.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

describe('on the simulation', () => {
  let bench: Bench;
  let stop: (() => Promise<CliRun>) | undefined;
  const state = tempFolder('gantry-run-');
  const env = { XDG_STATE_HOME: state };
  const at = (): readonly string[] => ['--host', `unix://${bench.daemon.socketPath}`];
  beforeAll(async () => {
    bench = await openBench('sim');
    bench.parts = { ...bench.parts, container: containerWith('config: { user.note: a }\n') };
    await bench.apply();
  });
  afterEach(async () => {
    await stop?.();
  });
  afterAll(() => bench.close());
  let printed = '';
  const onStderr = (text: string): void => void (printed += text);
  const start = (...more: readonly string[]): void => {
    printed = '';
    let interrupt = (): void => {};
    const interrupts = (given: () => void): void => void (interrupt = given);
    const run = cli(['run', join(bench.dir, 'stack.yaml'), '-y', ...at(), ...more], { env, interrupts, onStderr });
    stop = () => {
      stop = undefined;
      interrupt();
      return run;
    };
  };
  const ended = async (): Promise<CliRun> => {
    const run = await stop?.();
    if (run === undefined) throw new Error('nothing runs');
    return run;
  };
  const patch = async (note: string): Promise<void> => {
    const answer = await bench.daemon.call('PATCH', '/1.0/containers/c1', { config: { 'user.note': note } });
    expect(answer.status).toBeLessThan(300);
  };
  const noteOf = async (): Promise<string | undefined> =>
    ((await bench.get('/1.0/containers/c1')) as { config: Record<string, string> }).config['user.note'];
  const healed = (): Promise<void> => until(async () => (await noteOf()) === 'a');

  test('repairs changed and stopped objects, without a pile of equal revisions', async () => {
    start();
    await patch('b');
    await healed();
    const stopped = await bench.daemon.call('PUT', '/1.0/containers/c1/state', {
      action: 'stop',
      force: true,
      timeout: 30,
    });
    await bench.get(`${String(stopped.body.operation)}/wait`);
    await until(async () => ((await bench.get('/1.0/containers/c1')) as { status: string }).status === 'Running');
    const run = await ended();
    expect(run.code, run.stderr).toBe(0);
    const before = JSON.parse((await cli(['history', '-o', 'json', ...at()])).stdout) as { number: number }[];
    expect(before.length).toBe(2);
    expect((await bench.gantry('plan', '--detailed-exitcode')).code).toBe(0);
  });

  test('a lock suspends it and shows the reason; it continues when the lock is released', async () => {
    start();
    const locked = await cli(['lock', '--for', '1h', '--reason', 'maintenance', ...at()]);
    expect(locked.code, locked.stderr).toBe(0);
    await patch('c');
    await until(() => printed.includes('Suspended: '));
    expect(await noteOf()).toBe('c');
    expect((await cli(['force-unlock', '-y', ...at()])).code).toBe(0);
    await healed();
    const run = await ended();
    expect(run.stderr).toMatch(/Suspended: the set default is locked .*maintenance/);
  });

  test('outside its windows it only reports drift', async () => {
    const hour = new Date().getUTCHours();
    const far = (add: number): string => `${String((hour + add) % 24).padStart(2, '0')}:00`;
    await patch('d');
    start('--window', `${far(6)}-${far(7)}`);
    await until(() => printed.includes('container/c1 differ: No window for changes is open.'));
    expect((await ended()).code).toBe(0);
    expect(await noteOf()).toBe('d');
    await bench.apply();
  });

  test('continues when the server is reachable again', async () => {
    start();
    await patch('e');
    await healed();
    await (bench.daemon as TestDaemon).restart();
    await patch('f');
    await healed();
    expect((await ended()).code).toBe(0);
  });

  test('wrong arguments are refused before the first action', async () => {
    const file = join(bench.dir, 'stack.yaml');
    for (const words of [
      ['run', file],
      ['run', file, '-y', '--window', 'night'],
      ['run', file, '-y', '--interval', '1ms'],
    ])
      expect((await cli([...words, ...at()])).code, words.join(' ')).toBe(64);
    expect((await cli(['run', file, '-y', '--host', 'unix:///nowhere/socket', '--for', '1s'])).code).toBe(7);
  });
});

describe('the pace', () => {
  test('windows open by the day, also over midnight', () => {
    const at = (hour: number, minute = 0): number => Date.UTC(2030, 0, 1, hour, minute);
    const opensIn = (text: string, nowMs: number): number => {
      const window = dailyWindow(text);
      return window === undefined ? -1 : opensInMs({ allow: [window], deny: [] }, nowMs);
    };
    expect(opensIn('22:00-06:00', at(23))).toBe(0);
    expect(opensIn('22:00-06:00', at(5, 59))).toBe(0);
    expect(opensIn('22:00-06:00', at(6))).toBe(16 * 3_600_000);
    for (const wrong of ['22-06', '24:00-01:00', '10:00-10:00', '10:60-11:00', '10:00-24:30'])
      expect(dailyWindow(wrong), wrong).toBeUndefined();
    expect(opensIn('00:00-24:00', at(12))).toBe(0);
  });

  test('pauses longer the more repairs an object needed, and resets the pause after a while', () => {
    const now = 10_000_000;
    expect(repairPauseMs([], now)).toBe(0);
    expect(repairPauseMs([now - 2, now - 1], now)).toBe(0);
    expect(repairPauseMs([now - 2, now - 1, now], now)).toBe(5000);
    expect(repairPauseMs([now - 3, now - 2, now - 1, now], now)).toBe(10_000);
    expect(
      repairPauseMs(
        Array.from({ length: 20 }, () => now),
        now,
      ),
    ).toBe(300_000);
    expect(repairPauseMs([now - 900_000, now - 800_000, now - 700_000], now)).toBe(0);
  });
});
