// Devices of running containers, on both runtimes: the common suite, and cases of the real one.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { noParts } from '../../../../server/drivers/device-parts.ts';
import type { NicRun, NodeRun, RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import { readRunningRecord, writeRunningRecord } from '../../../../server/drivers/runtime/lxc/running-record.ts';
import type { SimRuntime } from '../../../../server/drivers/runtime/sim/sim.ts';
import { liveDevicesConformance } from '../../../conformance/runtime-devices.ts';
import { lxcHarness, lxcTestsMissing } from '../../../support/drivers/runtime-lxc.ts';
import { simHarness } from '../../../support/drivers/runtime-sim.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

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
      const { exitCode, stdout } = await execIn(driver, name, argv);
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

  describe('a daemon that died while it plugged devices into an LXC container', () => {
    test('the next daemon removes what it left, and the next attempt succeeds', async () => {
      const harness = await lxcHarness('h');
      try {
        let driver = await harness.open();
        const run = { ...(await harness.prepare('h1')), nics: [] };
        await driver.start(run, never);
        const node = {
          device: 'half',
          kind: 'char',
          major: 1,
          minor: 5,
          target: '/dev/half',
          uid: 0,
          gid: 0,
          mode: 0o660,
        };
        const nic = { device: 'half', kind: 'veth', name: 'half0', hostName: 'gtyhalf0', hwaddr: '00:16:3e:00:aa:07' };
        const half = {
          ...noParts,
          device: 'half',
          properties: { type: 'unix-char' },
          nodes: [node as NodeRun],
          nics: [{ ...nic, link: harness.bridge } as NicRun],
        };
        const inside = async (): Promise<string> =>
          (await execIn(driver, 'h1', ['sh', '-c', 'ls /sys/class/net; ls /dev | grep half'])).stdout;
        await driver.live?.plug('h1', half);
        expect(await inside()).toBe('half0\nlo\nhalf\n');
        await driver.close();
        // The last record of it was not carried out.
        const file = harness.paths.stateFile('h1');
        const state = readRunningRecord(file);
        if (state?.devices === undefined) throw new Error('no state of the running container');
        writeRunningRecord(file, { ...state, devices: { ...state.devices, properties: {} } });
        driver = await harness.open();
        await driver.recover(['h1']);
        expect(await inside()).toBe('lo\n');
        expect(existsSync('/sys/class/net/gtyhalf0')).toBe(false);
        await driver.live?.plug('h1', half);
        expect(await inside()).toBe('half0\nlo\nhalf\n');
        await driver.stop('h1', { force: true }, never);
        await driver.forget('h1');
        await driver.close();
      } finally {
        await harness.cleanup();
      }
    });
  });
} else {
  console.log(`skipped: devices of running LXC containers: ${missing}`);
  describe.skip(`devices of running LXC containers (${missing})`, () =>
    test('needs a host that can run LXC', () => {}));
}
