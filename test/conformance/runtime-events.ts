// What happens without a request, in containers and while the daemon is away, for all runtime drivers.
import { describe, expect, test } from 'vitest';
import { execIn } from '../support/drivers/exec-in.ts';
import { until } from '../support/until.ts';
import { never, type RuntimeWorld } from './runtime-world.ts';

export function eventTests(world: RuntimeWorld): void {
  const { started, kill, reopen } = world;

  describe('events inside', () => {
    test('a shutdown from inside is announced as a stop, once, with everything gone', async () => {
      const run = await started('c1');
      await world.harness.poweroffInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      expect(world.exits).toEqual([{ name: 'c1', target: 'stop' }]);
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a reboot from inside is announced as a reboot, and it runs with a new init', async () => {
      await started('c1');
      const before = world.driver.probe('c1').initPid;
      await world.harness.rebootInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      expect(world.exits).toEqual([{ name: 'c1', target: 'reboot' }]);
      const after = world.driver.probe('c1');
      expect(after.status).toBe('running');
      expect(after.initPid).not.toBe(before);
      expect((await execIn(world.driver, 'c1', ['true'])).exitCode).toBe(0);
    });

    test('a reboot waits for the work between the boots, even if that fails', async () => {
      await started('c1');
      const before = world.driver.probe('c1').initPid;
      const seen: unknown[] = [];
      world.driver.betweenBoots(async (name) => {
        await Promise.resolve();
        seen.push([name, world.exits.length, world.driver.probe('c1').initPid === before]);
      });
      world.driver.betweenBoots(() => Promise.reject(new Error('as if it could not')));
      await world.harness.rebootInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      expect(seen).toEqual([['c1', 0, true]]);
      expect(world.driver.probe('c1').initPid).not.toBe(before);
    });

    test('a rebooted container can be stopped', async () => {
      const run = await started('c1');
      await world.harness.rebootInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      await world.driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
      expect(world.exits.map((exit) => exit.target)).toEqual(['reboot', 'stop']);
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('limits changed while running still apply after a reboot from inside', async () => {
      const run = await started('c1');
      await world.driver.updateLimits('c1', { ...run.config, 'limits.memory': '96MiB' });
      await world.harness.rebootInside(world.driver, 'c1');
      await until(() => world.exits.length > 0);
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBe(96 * 1024 * 1024);
    });
  });

  describe('a restart of the daemon', () => {
    test('finds running containers again and announces nothing', async () => {
      await started('c1');
      const before = world.driver.probe('c1');
      await reopen(['c1', 'never-started']);
      expect(world.driver.probe('c1')).toEqual(before);
      expect(world.driver.probe('never-started').status).toBe('stopped');
      expect(world.exits).toEqual([]);
      expect((await execIn(world.driver, 'c1', ['true'])).exitCode).toBe(0);
      await world.driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
      expect(world.exits).toEqual([{ name: 'c1', target: 'stop' }]);
    });

    test('a restart does not start a second copy of a running container', async () => {
      const run = await started('c1');
      await reopen(['c1']);
      await expect(world.driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
    });

    test('a restart notices a container that ended in between, once', async () => {
      const run = await started('c1');
      await world.driver.close();
      await world.harness.whileDown('c1', 'stop');
      await reopen(['c1']);
      expect(world.exits).toEqual([{ name: 'c1', target: 'stop' }]);
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
      await reopen(['c1']);
      expect(world.exits).toEqual([]);
    });

    test('a restart notices a container that rebooted in between', async () => {
      await started('c1');
      const before = world.driver.probe('c1').initPid;
      await world.driver.close();
      await world.harness.whileDown('c1', 'reboot');
      await reopen(['c1']);
      expect(world.exits).toEqual([{ name: 'c1', target: 'reboot' }]);
      expect(world.driver.probe('c1').status).toBe('running');
      expect(world.driver.probe('c1').initPid).not.toBe(before);
    });

    test('recovering twice changes nothing', async () => {
      await started('c1');
      await reopen(['c1']);
      const before = world.driver.probe('c1');
      await world.driver.recover(['c1']);
      expect(world.driver.probe('c1')).toEqual(before);
      expect(world.exits).toEqual([]);
    });

    test('a closed world.driver calls no listener', async () => {
      await started('c1');
      const old = world.exits;
      await reopen(['c1']);
      await kill('c1');
      expect(old).toEqual([]);
      expect(world.exits).toHaveLength(1);
    });
  });
}
