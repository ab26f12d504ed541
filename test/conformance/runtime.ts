// The suite of all runtime drivers; each driver's test file only says how to open it and how to act from inside.
import { describe, expect, test } from 'vitest';
import type { ContainerUsage, RuntimeExit } from '../../server/drivers/runtime/driver.ts';
import { execIn } from '../support/drivers/exec-in.ts';
import { until } from '../support/until.ts';
import { commandTests } from './runtime-commands.ts';
import { eventTests } from './runtime-events.ts';
import { startTests } from './runtime-starts.ts';
import { never, runtimeWorld, type RuntimeHarness, type RuntimeWorld } from './runtime-world.ts';

export function runtimeConformance(title: string, makeHarness: () => Promise<RuntimeHarness>): void {
  describe(title, () => {
    const world = runtimeWorld(makeHarness);
    startTests(world);
    eventTests(world);
    commandTests(world);
    otherTests(world);
  });
}

function otherTests(world: RuntimeWorld): void {
  const { prepare, started, kill, reopen } = world;

  describe('freeze', () => {
    test('freezes and unfreezes, both idempotent, same init', async () => {
      await started('c1');
      const { initPid } = world.driver.probe('c1');
      await world.driver.freeze('c1');
      await world.driver.freeze('c1');
      expect(world.driver.probe('c1')).toEqual({ status: 'frozen', initPid });
      await world.driver.unfreeze('c1');
      await world.driver.unfreeze('c1');
      expect(world.driver.probe('c1')).toEqual({ status: 'running', initPid });
    });

    test('a frozen container can be stopped by force', async () => {
      const run = await started('c1');
      await world.driver.freeze('c1');
      await kill('c1');
      expect(world.driver.probe('c1').status).toBe('stopped');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a frozen container is thawed for a clean stop', async () => {
      await started('c1');
      await world.driver.freeze('c1');
      await world.driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
      expect(world.exits).toEqual([{ name: 'c1', target: 'stop' }]);
    });

    test('a stopped container cannot be frozen', async () => {
      await expect(world.driver.freeze('nobody')).rejects.toMatchObject({ code: 'NotFound' });
      await expect(world.driver.unfreeze('nobody')).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('a frozen container stays frozen over a restart of the daemon', async () => {
      await started('c1');
      await world.driver.freeze('c1');
      await reopen(['c1']);
      expect(world.driver.probe('c1').status).toBe('frozen');
    });
  });

  describe('figures and limits', () => {
    test('metrics are plausible and change', async () => {
      const run = await started('c1');
      const secondsOf = ({ cpus }: ContainerUsage): number =>
        cpus.reduce((sum, { userSeconds, systemSeconds }) => sum + userSeconds + systemSeconds, 0);
      let first = await world.driver.metrics('c1');
      // The kernel updates memory statistics every few seconds, and counts processor time in ticks, of which an idle container needs none.
      await until(async () => {
        await execIn(world.driver, 'c1', ['true']);
        first = await world.driver.metrics('c1');
        return first.usage().memory.rss > 0 && secondsOf(first.usage()) > 0;
      });
      expect(first.initPid).toBe(world.driver.probe('c1').initPid);
      expect(first.processes).toBeGreaterThanOrEqual(1);
      expect(first.memory.usage).toBeGreaterThan(0);
      expect(first.memory.usage_peak).toBeGreaterThanOrEqual(first.memory.usage);
      expect(first.network['lo']).toMatchObject({ type: 'loopback' });
      const usage = first.usage();
      expect(usage.memoryTotal).toBeGreaterThan(usage.memory.rss + usage.memory.cached);
      expect(Object.keys(usage.interfaces).sort()).toEqual(Object.keys(first.network).sort());
      for (const nic of run.nics) {
        expect(first.network[nic.name]).toMatchObject({
          hwaddr: nic.hwaddr,
          host_name: nic.hostName,
          state: 'up',
          type: 'broadcast',
        });
      }
      await until(async () => {
        await execIn(world.driver, 'c1', ['true']);
        return (await world.driver.metrics('c1')).cpuUsageNs > first.cpuUsageNs;
      });
    });

    test('metrics, limits and commands of a stopped container are NotFound', async () => {
      await expect(world.driver.metrics('nobody')).rejects.toMatchObject({ code: 'NotFound' });
      await expect(world.driver.updateLimits('nobody', {})).rejects.toMatchObject({ code: 'NotFound' });
      await expect(execIn(world.driver, 'nobody', ['true'])).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('limits apply from the start, and can be changed and removed while running', async () => {
      const run = await prepare('c1');
      const config = { ...run.config, 'limits.memory': '64MiB', 'limits.processes': '50' };
      await world.driver.start({ ...run, config }, never);
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBe(64 * 1024 * 1024);
      expect(world.harness.processLimit(world.driver, 'c1')).toBe(50);
      await world.driver.updateLimits('c1', {
        ...config,
        'limits.memory': '128MiB',
        'limits.cpu.allowance': '25ms/100ms',
      });
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBe(128 * 1024 * 1024);
      await world.driver.updateLimits('c1', { ...config, 'limits.memory': '48MiB', 'limits.processes': '20' });
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBe(48 * 1024 * 1024);
      expect(world.harness.processLimit(world.driver, 'c1')).toBe(20);
      await world.driver.updateLimits('c1', {});
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBeUndefined();
      expect(world.harness.processLimit(world.driver, 'c1')).toBeUndefined();
    });

    test('bad limits are refused with Invalid and the old ones stay', async () => {
      await started('c1', {});
      await world.driver.updateLimits('c1', { 'limits.memory': '64MiB' });
      await expect(world.driver.updateLimits('c1', { 'limits.memory': 'lots' })).rejects.toMatchObject({
        code: 'Invalid',
      });
      expect(world.harness.memoryLimit(world.driver, 'c1')).toBe(64 * 1024 * 1024);
    });
  });

  describe('forget', () => {
    test('is idempotent, works for strangers, and keeps the logs', async () => {
      const run = await started('c1');
      await kill('c1');
      await world.driver.forget('c1');
      await world.driver.forget('c1');
      await world.driver.forget('nobody');
      expect(world.harness.remains(run)).toEqual([]);
    });

    test('a running container is not forgotten', async () => {
      await started('c1');
      await expect(world.driver.forget('c1')).rejects.toMatchObject({ code: 'InUse' });
      expect(world.driver.probe('c1').status).toBe('running');
    });
  });

  test('a removed listener is no longer called', async () => {
    const heard: RuntimeExit[] = [];
    const off = world.driver.onExit((exit) => heard.push(exit));
    await started('c1');
    await kill('c1');
    off();
    await started('c1');
    await kill('c1');
    expect(heard).toHaveLength(1);
    expect(world.exits).toHaveLength(2);
  });
}
