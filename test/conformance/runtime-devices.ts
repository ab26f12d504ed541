// The suite of runtimes that plug devices into running containers; run by the test file of each such driver.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LiveDevices, Plug, RunConfig, RuntimeDriver } from '../../server/drivers/runtime/driver.ts';
import { noParts, ownMount } from '../../server/drivers/device-parts.ts';
import type { RuntimeHarness } from './runtime-world.ts';
import { until } from '../support/until.ts';

export interface DevicesHarness extends RuntimeHarness {
  /** Text of a file in the running container; undefined when there is none. */
  readInside(driver: RuntimeDriver, name: string, path: string): Promise<string | undefined>;
  /** Interface names in the running container, without lo. */
  interfacesInside(driver: RuntimeDriver, name: string): Promise<readonly string[]>;
  /** Bridge to plug into. */
  readonly bridge: string;
}

const never = new AbortController().signal;

export function liveDevicesConformance(title: string, makeHarness: () => Promise<DevicesHarness>): void {
  describe(`${title}, devices while running`, () => {
    let harness: DevicesHarness;
    let driver: RuntimeDriver;
    let live: LiveDevices;
    let run: RunConfig;
    let shown: string;

    beforeAll(async () => {
      harness = await makeHarness();
      shown = mkdtempSync(join(tmpdir(), 'gantry-shown-'));
      mkdirSync(join(shown, 'dir'));
      writeFileSync(join(shown, 'dir/word'), 'hello\n');
      writeFileSync(join(shown, 'file'), 'single\n');
    });
    afterAll(async () => {
      await harness?.cleanup();
      if (shown !== undefined) rmSync(shown, { recursive: true, force: true });
    });
    const open = async (): Promise<void> => {
      driver = await harness.open();
      if (driver.live === undefined) throw new Error('this runtime cannot plug devices');
      live = driver.live;
    };
    const begin = async (more: Partial<RunConfig> = {}): Promise<void> => {
      run = { ...(await harness.prepare('d1')), ...more };
      await driver.start(run, never);
    };
    beforeEach(open);
    afterEach(async () => {
      if (driver.probe('d1').status !== 'stopped') await driver.stop('d1', { force: true }, never);
      await driver.forget('d1');
      await driver.close();
    });

    const diskPlug = (device: string, target: string, source = join(shown, 'dir')): Plug => ({
      ...noParts,
      device,
      properties: { type: 'disk', path: target, source },
      mounts: [
        {
          device,
          source,
          target,
          kind: source.endsWith('file') ? 'file' : 'dir',
          readonly: false,
          optional: false,
          recursive: false,
        },
      ],
    });
    const nicPlug = (device: string, name: string, hostName: string): Plug => ({
      ...noParts,
      device,
      properties: { type: 'nic', name },
      nics: [{ device, kind: 'veth', name, hostName, hwaddr: '00:16:3e:00:aa:01', link: harness.bridge }],
    });
    const read = (path: string): Promise<string | undefined> => harness.readInside(driver, 'd1', path);
    const interfaces = (): Promise<readonly string[]> => harness.interfacesInside(driver, 'd1');

    test('a driver reports the devices that a container was started with', async () => {
      await begin({ properties: { eth0: { type: 'nic' } } });
      expect(live.plugged('d1')).toEqual({ eth0: { type: 'nic' } });
    });

    test('every call for a stopped container is NotFound', async () => {
      await harness.prepare('d1');
      expect(() => live.plugged('d1')).toThrow(/not running/);
      for (const work of [
        live.plug('d1', diskPlug('data', '/data')),
        live.adjust('d1', diskPlug('data', '/data')),
        live.unplug('d1', 'data'),
      ]) {
        await expect(work).rejects.toMatchObject({ code: 'NotFound' });
      }
    });

    test('a plugged directory and a plugged file are readable, and gone when unplugged', async () => {
      await begin();
      await live.plug('d1', diskPlug('data', '/srv/deep/data'));
      await live.plug('d1', diskPlug('one', '/etc/one', join(shown, 'file')));
      expect(await read('/srv/deep/data/word')).toBe('hello\n');
      expect(await read('/etc/one')).toBe('single\n');
      expect(Object.keys(live.plugged('d1') ?? {}).sort()).toEqual(['data', 'one']);
      await live.unplug('d1', 'data');
      await live.unplug('d1', 'one');
      expect(await read('/srv/deep/data/word')).toBeUndefined();
      expect(live.plugged('d1')).toEqual({});
    });

    test('a plugged nic is an interface inside, and gone when unplugged', async () => {
      await begin();
      const before = await interfaces();
      await live.plug('d1', nicPlug('second', 'eth7', 'gtytlv0'));
      expect(await interfaces()).toEqual([...before, 'eth7']);
      await live.unplug('d1', 'second');
      expect(await interfaces()).toEqual(before);
    });

    test('a device of the start is unplugged as well', async () => {
      await begin({ mounts: diskPlug('data', '/data').mounts, properties: { eth0: {}, data: {} } });
      expect(await read('/data/word')).toBe('hello\n');
      await live.unplug('d1', 'data');
      await live.unplug('d1', 'eth0');
      expect(await read('/data/word')).toBeUndefined();
      expect(await interfaces()).toEqual([]);
    });

    test('mounts of the daemon itself are shown and hidden, belong to no device, and stay so over a reboot', async () => {
      const own = diskPlug(ownMount, '/dev/own').mounts.map((mount) => ({ ...mount, readonly: true }));
      await begin({ mounts: own, properties: {} });
      expect([await read('/dev/own/word'), live.shown('d1'), live.plugged('d1')]).toEqual([
        'hello\n',
        ['/dev/own'],
        {},
      ]);
      const other = diskPlug(ownMount, '/dev/other').mounts;
      for (const mount of other) await live.show('d1', mount);
      for (const mount of other) await expect(live.show('d1', mount)).rejects.toMatchObject({ code: 'Exists' });
      await expect(live.plug('d1', diskPlug('data', '/dev/own'))).rejects.toMatchObject({ code: 'Exists' });
      expect(await read('/dev/other/word')).toBe('hello\n');
      await live.hide('d1', '/dev/own');
      await live.hide('d1', '/dev/own');
      await harness.rebootInside(driver, 'd1');
      await until(async () => (await read('/dev/other/word').catch(() => undefined)) === 'hello\n');
      expect([await read('/dev/own/word'), live.shown('d1'), live.plugged('d1')]).toEqual([
        undefined,
        ['/dev/other'],
        {},
      ]);
      await expect(live.show('nobody', own[0] as (typeof own)[number])).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('unplugging twice does nothing the second time', async () => {
      await begin();
      await live.plug('d1', diskPlug('data', '/data'));
      await live.unplug('d1', 'data');
      await live.unplug('d1', 'data');
    });

    test('a taken device name, interface name or path is Exists and changes nothing', async () => {
      await begin();
      await live.plug('d1', diskPlug('data', '/data'));
      const before = live.plugged('d1');
      for (const plug of [
        diskPlug('data', '/other'),
        diskPlug('more', '/data', join(shown, 'file')),
        nicPlug('second', 'eth0', 'gtytlv1'),
      ]) {
        await expect(live.plug('d1', plug)).rejects.toMatchObject({ code: 'Exists' });
      }
      expect(live.plugged('d1')).toEqual(before);
      expect(await read('/data/word')).toBe('hello\n');
      expect(await read('/other/word')).toBeUndefined();
    });

    test('a device with a failing part leaves no other part behind', async () => {
      await begin();
      const plug = diskPlug('data', '/data');
      const broken = {
        ...plug,
        mounts: [...plug.mounts, { ...plug.mounts[0]!, source: '/nonexistent', target: '/b' }],
      };
      await expect(live.plug('d1', broken)).rejects.toThrow(/\/nonexistent/);
      expect(await read('/data/word')).toBeUndefined();
      expect(live.plugged('d1')).toEqual({});
      await live.plug('d1', plug);
      expect(await read('/data/word')).toBe('hello\n');
    });

    test('plugged and unplugged devices stay so over a reboot from inside and a new driver', async () => {
      await begin({ mounts: diskPlug('old', '/old').mounts, properties: { old: {}, eth0: {} } });
      await live.unplug('d1', 'old');
      await live.plug('d1', diskPlug('data', '/data'));
      await live.plug('d1', nicPlug('second', 'eth7', 'gtytlv0'));
      const { initPid } = driver.probe('d1');
      await harness.rebootInside(driver, 'd1');
      await until(() => driver.probe('d1').initPid !== initPid);
      await driver.close();
      await open();
      await driver.recover(['d1']);
      await until(async () => (await read('/data/word')) === 'hello\n');
      expect(await read('/old/word')).toBeUndefined();
      expect((await interfaces()).includes('eth7')).toBe(true);
      expect(Object.keys(live.plugged('d1') ?? {}).sort()).toEqual(['data', 'eth0', 'second']);
      await live.unplug('d1', 'data');
      expect(await read('/data/word')).toBeUndefined();
    });

    test('nothing plugged in outlives the container', async () => {
      await begin();
      const nic = nicPlug('second', 'eth7', 'gtytlv0');
      await live.plug('d1', nic);
      await live.plug('d1', diskPlug('data', '/data'));
      await driver.stop('d1', { force: true }, never);
      expect(harness.remains({ ...run, nics: [...run.nics, ...nic.nics] })).toEqual([]);
    });
  });
}
