// Runs the runtime suite on the simulated runtime. Tests nothing itself.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseBytes } from '../../../server/api/text/byte-size.ts';
import type { RunConfig, RuntimeDriver } from '../../../server/drivers/runtime/driver.ts';
import { encodeName } from '../../../server/drivers/runtime/safe-names.ts';
import { endWhileDown, openSimRuntime, type SimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import type { RuntimeHarness } from '../../conformance/runtime-world.ts';

export async function simHarness(): Promise<RuntimeHarness> {
  const base = mkdtempSync(join(tmpdir(), 'gantry-sim-'));
  const dir = join(base, 'runtime');
  let current: SimRuntime | undefined;
  const deaf = new Set<string>();
  const brief = new Set<string>();
  const sim = (driver: RuntimeDriver): SimRuntime => driver as SimRuntime;

  return {
    open: async () => {
      current = await openSimRuntime({ dir });
      for (const name of deaf) current.faults.ignoreShutdown(name);
      return current;
    },
    prepare: async (name, kind = 'ordinary') => {
      const rootfs = join(base, 'rootfs', encodeName(name));
      mkdirSync(join(rootfs, 'etc'), { recursive: true });
      writeFileSync(join(rootfs, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
      if (kind === 'deaf') current?.faults.ignoreShutdown(name);
      if (kind === 'deaf') deaf.add(name);
      if (kind === 'short-lived') current?.faults.exitAtOnce(name);
      if (kind === 'short-lived') brief.add(name);
      return simRun(name, rootfs, join(base, 'logs', encodeName(name)));
    },
    poweroffInside: async (driver, name) => sim(driver).poweroff(name),
    rebootInside: async (driver, name) => sim(driver).reboot(name),
    whileDown: async (name, target) => endWhileDown(dir, name, target),
    memoryLimit: (driver, name) => {
      const text = sim(driver).limits(name)['limits.memory'];
      return text === undefined ? undefined : parseBytes(text);
    },
    processLimit: (driver, name) => {
      const text = sim(driver).limits(name)['limits.processes'];
      return text === undefined ? undefined : Number(text);
    },
    remains: () => [],
    sabotage: async (run) => {
      current?.faults.inject({ operation: 'start', container: run.name, error: 'the disk is on fire', times: 1 });
      return { run, reason: /the disk is on fire/ };
    },
    cleanup: async () => rmSync(base, { recursive: true, force: true }),
  };
}

function simRun(name: string, rootfs: string, logDir: string): RunConfig {
  return {
    name,
    hostname: 'sim',
    rootfs,
    logDir,
    architecture: 'x86_64',
    idmap: [],
    config: {},
    nics: [
      { device: 'eth0', kind: 'veth', name: 'eth0', hostName: 'gtytsim0', hwaddr: '00:16:3e:00:00:01', link: 'br0' },
    ],
    mounts: [],
  };
}
