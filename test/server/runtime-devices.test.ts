// Devices of running containers, on both runtimes: the common suite, and what only the real one has to get right.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import type { RuntimeDriver } from '../../server/drivers/runtime/driver.ts';
import type { SimRuntime } from '../../server/drivers/runtime/sim.ts';
import { liveDevicesConformance } from '../conformance/runtime-devices.ts';
import { lxcHarness, lxcTestsMissing } from '../support/runtime-lxc-harness.ts';
import { simHarness } from '../support/runtime-sim-harness.ts';

const never = new AbortController().signal;

liveDevicesConformance('the simulated runtime', async () => {
  const harness = await simHarness();
  const sim = (driver: RuntimeDriver): SimRuntime => driver as SimRuntime;
  return {
    ...harness,
    bridge: 'br0',
    readInside: async (driver, name, path) => {
      const { mounts } = sim(driver).runOf(name);
      const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
      const file = mount && join(mount.source, path.slice(mount.target.length));
      return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    },
    interfacesInside: async (driver, name) =>
      sim(driver)
        .runOf(name)
        .nics.map((nic) => nic.name),
  };
});

const missing = await lxcTestsMissing();
if (missing === undefined) {
  liveDevicesConformance('the LXC runtime', async () => {
    const harness = await lxcHarness('l');
    const inside = async (driver: RuntimeDriver, name: string, ...argv: string[]): Promise<string | undefined> => {
      const { exitCode, stdout } = await driver.exec(name, argv, {}, never);
      return exitCode === 0 ? stdout : undefined;
    };
    return {
      ...harness,
      readInside: (driver, name, path) => inside(driver, name, 'cat', path),
      interfacesInside: async (driver, name) =>
        (await inside(driver, name, 'ls', '/sys/class/net'))?.split('\n').filter((one) => one !== '' && one !== 'lo') ??
        [],
    };
  });
} else {
  console.log(`skipped: devices of running LXC containers: ${missing}`);
  describe.skip(`devices of running LXC containers (${missing})`, () => it('needs a host that can run LXC', () => {}));
}
