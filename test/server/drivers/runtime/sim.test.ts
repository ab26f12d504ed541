// The simulated runtime: the common suite, and its own cases.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunConfig } from '../../../../server/drivers/runtime/driver.ts';
import { openSimRuntime, type SimRuntime } from '../../../../server/drivers/runtime/sim/sim.ts';
import { runtimeConformance } from '../../../conformance/runtime.ts';
import { simHarness } from '../../../support/drivers/runtime-sim.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

runtimeConformance('the simulated runtime', simHarness);

describe('the simulation in particular', () => {
  const never = new AbortController().signal;
  let base: string;
  let sim: SimRuntime;
  let now = 1_000_000;
  const runOf = (name: string): RunConfig => ({
    name,
    hostname: name,
    rootfs: base,
    logDir: base,
    architecture: 'x86_64',
    idmap: [],
    config: {},
    nics: [{ device: 'eth0', kind: 'veth', name: 'eth0', hostName: 'veth0', hwaddr: '00:16:3e:00:00:01' }],
    mounts: [],
  });

  beforeEach(async () => {
    base = tempFolder('gantry-sim-');
    sim = await openSimRuntime({
      dir: join(base, 'state'),
      now: () => now,
      addressesOf: () => [{ family: 'inet', address: '10.1.2.3', netmask: '24', scope: 'global' }],
    });
  });
  afterEach(() => sim.close());

  test('an injected failure hits the named container the given number of times', async () => {
    sim.faults.inject({ operation: 'start', container: 'a', error: 'no luck', times: 1 });
    await expect(sim.start(runOf('a'), never)).rejects.toMatchObject({ code: 'Failed', cause: new Error('no luck') });
    expect(sim.probe('a').status).toBe('stopped');
    await sim.start(runOf('b'), never);
    await sim.start(runOf('a'), never);
    expect(sim.probe('a').status).toBe('running');
  });

  test('a fault can be taken back, and errors of any kind pass through', async () => {
    const error = new TypeError('odd');
    const back = sim.faults.inject({ operation: 'freeze', error });
    await sim.start(runOf('a'), never);
    await expect(sim.freeze('a')).rejects.toBe(error);
    back();
    await sim.freeze('a');
    expect(sim.probe('a').status).toBe('frozen');
  });

  test('a slow start can be aborted and leaves nothing', async () => {
    sim.faults.inject({ operation: 'start', delayMs: 60_000 });
    const abort = new AbortController();
    const starting = sim.start(runOf('a'), abort.signal);
    abort.abort(new Error('changed my mind'));
    await expect(starting).rejects.toThrow('changed my mind');
    expect(sim.probe('a').status).toBe('stopped');
  });

  test('metrics are equal for the same moment, and change with the clock', async () => {
    await sim.start(runOf('a'), never);
    now += 500;
    const figures = async (): Promise<object> => {
      const found = await sim.metrics('a');
      return { ...found, usage: found.usage() };
    };
    const before = await figures();
    expect(await figures()).toEqual(before);
    const first = await sim.metrics('a');
    now += 500;
    const second = await sim.metrics('a');
    expect(second.cpuUsageNs).toBeGreaterThan(first.cpuUsageNs);
    expect(second.network['eth0']?.counters.bytes_received).toBeGreaterThan(
      first.network['eth0']?.counters.bytes_received ?? 0,
    );
    expect(first.network['eth0']?.addresses.map((one) => one.address)).toEqual(['10.1.2.3', 'fe80::216:3eff:fe00:1']);
  });

  test('memory stays below its limit', async () => {
    await sim.start({ ...runOf('a'), config: { 'limits.memory': '4MiB' } }, never);
    expect((await sim.metrics('a')).memory.usage).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  test('pids are unique', async () => {
    const { initPid } = await sim.start(runOf('a'), never);
    expect(() => process.kill(initPid, 0)).toThrow();
  });

  test('cat stays inside the root file system', async () => {
    mkdirSync(join(base, 'etc'));
    writeFileSync(join(base, 'etc/motd'), 'hi\n');
    symlinkSync('/etc/hostname', join(base, 'etc/out'));
    await sim.start(runOf('a'), never);
    const cat = async (path: string): Promise<string> => (await execIn(sim, 'a', ['cat', path])).stdout;
    expect(await cat('/etc/motd')).toBe('hi\n');
    expect(await cat('../etc/motd')).toBe('hi\n');
    expect(await cat('/etc/out')).toBe('');
    expect(await cat('/../../../../../../etc/hostname')).toBe('');
  });

  test('a command enters no folder of the host through a link of the guest', async () => {
    mkdirSync(join(base, 'srv/deep'), { recursive: true });
    symlinkSync('/proc', join(base, 'srv/out'));
    symlinkSync('deep', join(base, 'srv/in'));
    await sim.start(runOf('a'), never);
    const entered = async (cwd: string): Promise<string> => (await execIn(sim, 'a', ['pwd'], { cwd })).stdout;
    expect(await entered('/srv/in')).toBe('/srv/in\n');
    expect(await entered('/srv/out')).toBe('/\n');
    expect(await entered('/srv/missing')).toBe('/\n');
  });
});
