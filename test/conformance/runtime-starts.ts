// Starts and stops of all runtime drivers.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bootSeconds } from '../../server/drivers/runtime/guard/guard-line.ts';
import { startUntilLine } from '../../server/drivers/runtime/guard/start-until.ts';
import { readBootId } from '../../server/lib/shared/processes.ts';
import { execIn } from '../support/drivers/exec-in.ts';
import { until } from '../support/until.ts';
import { never, type RuntimeWorld } from './runtime-world.ts';

const oddNames = [`a"b'c`, '$HOME', '*', '-n', '..x', '{a;b|c}', '&<>`~#%', 'x'.repeat(64), 'UPPER', 'upper'];

export function startTests(world: RuntimeWorld): void {
  const { prepare, started, kill } = world;

  describe('start and stop', () => {
    test('a started container runs, with a pid', async () => {
      const run = await prepare('c1');
      expect(world.driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
      const { initPid } = await world.driver.start(run, never);
      expect(initPid).toBeGreaterThan(1);
      expect(world.driver.probe('c1')).toEqual({ status: 'running', initPid });
    });

    test('starting a running container is refused with InUse and harms nothing', async () => {
      const run = await started('c1');
      const before = world.driver.probe('c1');
      await expect(world.driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
      expect(world.driver.probe('c1')).toEqual(before);
      expect(world.exits).toEqual([]);
    });

    test('a container begins, and reboots from inside, only before the time that limits its start', async () => {
      const prepared = await prepare('c1');
      const startUntilFile = join(prepared.rootfs, '../start-until');
      const run = { ...prepared, startUntilFile };
      const limit = (seconds: number, bootId = readBootId()): void =>
        writeFileSync(startUntilFile, startUntilLine(bootSeconds() + seconds, bootId));
      for (const tooLate of [() => limit(-1), () => limit(3_600, 'of-another-boot')]) {
        tooLate();
        await expect(world.driver.start(run, never)).rejects.toMatchObject({
          code: 'Failed',
          cause: { message: expect.stringContaining('its deadline for starting') },
        });
        expect([world.driver.probe('c1').status, world.harness.remains(run)]).toEqual(['stopped', []]);
      }
      limit(3_600);
      await world.driver.start(run, never);
      const { initPid } = world.driver.probe('c1');
      await world.harness.rebootInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      expect(world.exits).toEqual([{ name: 'c1', target: 'reboot' }]);
      expect(world.driver.probe('c1').initPid).not.toBe(initPid);
      limit(-1);
      await world.harness.rebootInside(world.driver, 'c1');
      // A driver that mistakes the waiting process for init announces its end later.
      await until(() => world.exits.at(-1)?.target === 'stop');
      expect(world.driver.probe('c1').status).toBe('stopped');
      rmSync(startUntilFile);
      await world.driver.start(run, never);
      expect(world.driver.probe('c1').status).toBe('running');
    });

    test('exactly one of two starts at once wins', async () => {
      const run = await prepare('c1');
      const results = await Promise.allSettled([world.driver.start(run, never), world.driver.start(run, never)]);
      expect(results.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(world.driver.probe('c1').status).toBe('running');
    });

    test('a clean stop ends the container and is announced once, before it resolves', async () => {
      const run = await started('c1');
      await world.driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
      expect(world.exits).toEqual([{ name: 'c1', target: 'stop' }]);
      expect(world.driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a forced stop ends a container that ignores requests', async () => {
      const run = await prepare('deaf', 'deaf');
      await world.driver.start(run, never);
      await kill('deaf');
      expect(world.exits).toEqual([{ name: 'deaf', target: 'stop' }]);
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a clean stop that takes too long throws Timeout and the container keeps running', async () => {
      const run = await prepare('deaf', 'deaf');
      const { initPid } = await world.driver.start(run, never);
      await expect(world.driver.stop('deaf', { force: false, timeoutMs: 150 }, never)).rejects.toMatchObject({
        code: 'Timeout',
      });
      expect(world.driver.probe('deaf')).toEqual({ status: 'running', initPid });
      expect(world.exits).toEqual([]);
    });

    test('a forced stop succeeds while a clean one is waiting, and ends both', async () => {
      await world.driver.start(await prepare('deaf', 'deaf'), never);
      const clean = world.driver.stop('deaf', { force: false }, never);
      await kill('deaf');
      await clean;
      expect(world.exits).toEqual([{ name: 'deaf', target: 'stop' }]);
    });

    test('an aborted stop rejects with the reason and the container keeps running', async () => {
      await world.driver.start(await prepare('deaf', 'deaf'), never);
      const abort = new AbortController();
      const stopping = world.driver.stop('deaf', { force: false }, abort.signal);
      abort.abort(new Error('no longer wanted'));
      await expect(stopping).rejects.toThrow('no longer wanted');
      expect(world.driver.probe('deaf').status).toBe('running');
    });

    test('stopping a stopped container is NotFound', async () => {
      await expect(kill('nobody')).rejects.toMatchObject({ code: 'NotFound' });
      await started('c1');
      await kill('c1');
      await expect(kill('c1')).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('a container can be started again right after its stop, many times', async () => {
      const run = await prepare('c1');
      const pids = new Set<number>();
      for (let round = 0; round < 5; round++) {
        pids.add((await world.driver.start(run, never)).initPid);
        await world.driver.stop('c1', { force: round % 2 === 0, timeoutMs: 10_000 }, never);
      }
      expect(pids.size).toBe(5);
      expect(world.exits).toHaveLength(5);
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('an aborted start rejects with the reason and leaves nothing', async () => {
      const run = await prepare('c1');
      const abort = new AbortController();
      abort.abort(new Error('no longer wanted'));
      await expect(world.driver.start(run, abort.signal)).rejects.toThrow('no longer wanted');
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('eight containers start in parallel, and stop in parallel', async () => {
      const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
      const runs = await Promise.all(names.map(async (name) => prepare(name)));
      const pids = await Promise.all(runs.map(async (run) => (await world.driver.start(run, never)).initPid));
      expect(new Set(pids).size).toBe(8);
      expect(names.map((name) => world.driver.probe(name).status)).toEqual(names.map(() => 'running'));
      await Promise.all(names.map(async (name) => kill(name)));
      expect(world.exits.map((exit) => exit.name).sort()).toEqual(names);
      expect(runs.flatMap((run) => world.harness.remains(run))).toEqual([]);
    });

    test('names with odd characters and of 64 characters work without collisions', async () => {
      for (const name of oddNames) await started(name);
      const pids = new Set(oddNames.map((name) => world.driver.probe(name).initPid));
      expect(pids.size).toBe(oddNames.length);
      for (const name of oddNames) {
        const result = await execIn(world.driver, name, ['echo', '$HOME * "x"']);
        expect(result).toMatchObject({ exitCode: 0, stdout: '$HOME * "x"\n' });
      }
      for (const name of oddNames) await kill(name);
      expect(world.exits.map((exit) => exit.name)).toEqual(oddNames);
    });
  });

  describe('a start that fails', () => {
    test('a start that fails for a missing rootfs says so and leaves nothing', async () => {
      const run = { ...(await prepare('c1')), rootfs: '/nonexistent/rootfs' };
      await expect(world.driver.start(run, never)).rejects.toMatchObject({ code: 'Failed' });
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a start that fails half way gives the first real reason and leaves nothing; the next start works', async () => {
      const good = await prepare('c1');
      const { run, reason } = await world.harness.sabotage(good);
      const error: unknown = await world.driver.start(run, never).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'Failed' });
      expect(String((error as Error).cause)).toMatch(reason);
      expect(world.driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
      expect(world.harness.remains(run)).toEqual([]);
      expect(world.exits).toEqual([]);
      await world.driver.start(good, never);
      expect(world.driver.probe('c1').status).toBe('running');
    });

    test('a start whose init ends at once says so, or announces the exit', async () => {
      const run = await prepare('brief', 'short-lived');
      const error: unknown = await world.driver.start(run, never).catch((thrown: unknown) => thrown);
      if (error instanceof Error) expect(error).toMatchObject({ code: 'Failed' });
      else await until(() => world.exits.length === 1);
      expect(world.driver.probe('brief').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test.each([
      ['a line break in a value', { 'environment.FOO': 'a\nlxc.cap.drop =' }],
      ['a refused key in raw.lxc', { 'raw.lxc': 'lxc.net.0.type = phys' }],
      ['a line of raw.lxc without "="', { 'raw.lxc': 'lxc.aa_profile' }],
      ['a bad memory size', { 'limits.memory': '12 parsecs' }],
      ['cpus that do not exist', { 'limits.cpu': '4000-4001' }],
    ])('%s is refused with Invalid', async (_what, config) => {
      const run = await prepare('c1');
      const bad = { ...run, config: { ...run.config, ...config } };
      await expect(world.driver.start(bad, never)).rejects.toMatchObject({ code: 'Invalid' });
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });
  });
}
