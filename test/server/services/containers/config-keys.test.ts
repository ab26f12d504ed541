// Config keys over the real daemon on the simulation: an impossible change is not recorded, and the meaning of keys at daemon start.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DriverError } from '../../../../server/drivers/driver-error.ts';
import { Records } from '../../../../server/records/records.ts';
import { StoreError } from '../../../../server/store/store.ts';
import {
  createContainer,
  makeSeeded,
  seed,
  setState,
  statusOf,
  type TestDaemon,
  withDaemon,
} from '../../../support/daemons/daemon.ts';
import { until } from '../../../support/until.ts';

describe('a change of a running container', () => {
  let daemon: TestDaemon;
  let count = 0;
  const running = async (config: Record<string, string>): Promise<string> => {
    const name = `k${++count}`;
    await createContainer(daemon, name, { config });
    await setState(daemon, name, 'start');
    return name;
  };
  beforeAll(async () => (daemon = await makeSeeded()));
  afterAll(() => daemon.cleanUp());

  test.each(['PUT', 'PATCH'])(
    'by %s that the runtime refuses is reverted completely, devices and limits',
    async (method) => {
      const name = await running({ 'limits.processes': '50', 'user.note': 'old' });
      const path = `/1.0/containers/${name}`;
      const before = await daemon.get(path);
      daemon.sim.faults.inject({ operation: 'updateLimits', container: name, error: 'no', times: 1 });
      const body = {
        profiles: ['default'],
        config: { 'limits.processes': '60', 'user.note': 'new' },
        devices: { extra: { type: 'disk', source: '/etc', path: '/mnt/etc' } },
      };
      if (method === 'PUT') expect((await daemon.run('PUT', path, body)).status).toBe('Failure');
      else expect((await daemon.call('PATCH', path, body)).status).toBeGreaterThanOrEqual(400);
      expect(await daemon.get(path)).toEqual(before);
      expect(daemon.sim.limits(name)).toEqual({ 'limits.processes': '50' });
      expect(Object.keys(daemon.sim.live?.plugged(name) ?? {})).not.toContain('extra');
    },
  );

  test('refused by the runtime says why, also if the record cannot be put back', async () => {
    const name = await running({ 'limits.processes': '50' });
    const commit = vi.spyOn(Records.prototype, 'commit');
    const updateLimits = vi.spyOn(daemon.host.runtime, 'updateLimits');
    updateLimits.mockImplementationOnce(async () => {
      commit.mockRejectedValueOnce(new StoreError('Unavailable', 'the disk is full'));
      throw new DriverError('Invalid', 'no such limit');
    });
    const answer = await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'limits.processes': '60' } });
    updateLimits.mockRestore();
    commit.mockRestore();
    expect(answer.body.metadata.message).toContain('no such limit');
    expect(daemon.logged.some((line) => line.includes('Taking back the change') && line.includes('full'))).toBe(true);
    // What the record says is in force.
    expect(daemon.sim.limits(name)).toEqual({ 'limits.processes': '60' });
  });

  test('reaches the runtime for every live key, and not for others', async () => {
    const name = await running({});
    const seen: string[] = [];
    const runtime = daemon.host.runtime;
    const original = runtime.updateLimits.bind(runtime);
    runtime.updateLimits = (of, config) => {
      seen.push(Object.keys(config).join());
      return original(of, config);
    };
    onTestFinished(() => void (runtime.updateLimits = original));
    const live = {
      'limits.network.priority': '5',
      'linux.kernel_modules': 'overlay',
      'limits.hugepages.2MB': '4MiB',
    };
    for (const [key, value] of Object.entries(live)) {
      await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { [key]: value } });
      expect(seen.at(-1)).toContain(key);
    }
    await daemon.call('PATCH', `/1.0/containers/${name}`, { config: { 'boot.stop.priority': '3', 'user.x': 'y' } });
    expect(seen).toHaveLength(3);
  });
});

test('boot.autostart.priority sets the order at daemon start and boot.autostart.delay the pause before the next one', () =>
  withDaemon({}, async (daemon) => {
    await seed(daemon);
    const configs = {
      second: { 'boot.autostart': 'true' },
      first: { 'boot.autostart': 'true', 'boot.autostart.priority': '7', 'boot.autostart.delay': '1' },
      never: { 'boot.autostart': 'false' },
    };
    for (const [name, config] of Object.entries(configs)) await createContainer(daemon, name, { config });
    await daemon.restart();
    await until(async () => (await statusOf(daemon, 'second')) === 'Running');
    const startOf = async (name: string): Promise<number> =>
      Date.parse((await daemon.get(`/1.0/containers/${name}`)).last_used_at as string);
    await until(async () => (await startOf('second')) > 0);
    expect((await startOf('second')) - (await startOf('first'))).toBeGreaterThanOrEqual(990);
    expect(await statusOf(daemon, 'never')).toBe('Stopped');
  }));
