// The suite of every device type: its callers' expectations at a start, a change, an unplugging and a move.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { deviceHome, deviceSchema, type DeviceConfig, type DeviceHome } from '../../server/api/devices/index.ts';
import { noParts, type DeviceParts } from '../../server/drivers/device-parts.ts';
import { DriverError } from '../../server/drivers/driver-error.ts';
import type { DeviceHandler, DeviceRun } from '../../server/drivers/devices/device.ts';
import type { HostPaths, NodeNumbers } from '../../server/drivers/devices/host-paths.ts';
import { deviceHandler } from '../../server/drivers/devices/index.ts';

/** A fake host for a device. Reads nothing real. */
export interface MadeUpHost extends HostPaths {
  readonly dir: string;
  /** Writes a file below /sys. */
  file(path: string, text: string): void;
  link(path: string, target: string): void;
  /** A node of the host. */
  addNode(path: string, numbers: NodeNumbers): void;
}

export interface DeviceSample {
  readonly properties: DeviceConfig;
  /** Prepares what the device needs of its host; absent: nothing. */
  readonly prepare?: (host: MadeUpHost) => DeviceConfig | void;
  readonly home: DeviceHome;
}

export function makeUpHost(): MadeUpHost {
  const dir = mkdtempSync(join(tmpdir(), 'gantry-device-'));
  const nodes = new Map<string, NodeNumbers>();
  const sys = join(dir, 'sys');
  const at = (path: string): string => {
    mkdirSync(dirname(join(sys, path)), { recursive: true });
    return join(sys, path);
  };
  mkdirSync(join(dir, 'dev'));
  mkdirSync(sys);
  return {
    dir,
    sys,
    dev: join(dir, 'dev'),
    node: (path) => nodes.get(path),
    file: (path, text) => writeFileSync(at(path), `${text}\n`),
    link: (path, target) => symlinkSync(target, at(path)),
    addNode: (path, numbers) => void nodes.set(path, numbers),
  };
}

export function deviceConformance(name: string, sample: DeviceSample): void {
  describe(name, () => {
    let host: MadeUpHost;
    let properties: DeviceConfig;
    let handler: DeviceHandler;
    beforeEach(() => {
      host = makeUpHost();
      properties = { ...sample.properties, ...sample.prepare?.(host) };
      handler = handlerOf(properties);
    });
    afterEach(() => rmSync(host.dir, { recursive: true, force: true }));

    const start = (on: HostPaths = host): Promise<DeviceRun> =>
      handler.start({
        device: 'dev0',
        properties,
        containerUuid: 'u',
        volatile: { hwaddr: '00:16:3e:00:00:01' },
        takenNames: new Set(),
        rootfs: host.dir,
        host: on,
        volumeOf: () => undefined,
      });

    test('preparing a start twice gives equal results, and changes nothing on the host', async () => {
      const before = everythingIn(host.dir);
      const run = await start();
      expect(await start()).toEqual(run);
      expect(everythingIn(host.dir)).toEqual(before);
    });

    test('the parts of a start are plain data under the name of the device', async () => {
      const run = await start();
      expect(JSON.parse(JSON.stringify(run))).toEqual(run);
      const parts = [...run.nics, ...run.mounts, ...run.nodes, ...run.diskRates, ...run.proxies];
      expect(parts.filter(({ device }) => device !== 'dev0')).toEqual([]);
    });

    test('a host without what the device needs is refused by a typed error that names the device', async () => {
      const empty = makeUpHost();
      try {
        const run = await start(empty).catch((error: unknown) => error);
        if (run instanceof Error) {
          expect(run).toBeInstanceOf(DriverError);
          expect(run.message).toContain('dev0');
        } else expect(run).toMatchObject({ warnings: [] });
      } finally {
        rmSync(empty.dir, { recursive: true, force: true });
      }
    });

    test('forwarders depend on the properties alone, so that a later daemon opens the same ones', async () => {
      expect(handler.forwards?.('dev0', properties) ?? []).toEqual((await start()).proxies);
    });

    test('a change without other parts leaves the parts that are in force', async () => {
      const { nics, mounts, nodes, diskRates } = await start();
      const parts: DeviceParts = { nics, mounts, nodes, diskRates };
      expect(handler.change?.(parts, parts) ?? parts).toEqual(parts);
    });

    test('a device whose parts were omitted at the start is plugged by a change', async () => {
      const { nics, mounts, nodes, diskRates } = await start();
      const parts: DeviceParts = { nics, mounts, nodes, diskRates };
      const after = handler.change?.(noParts, parts) ?? parts;
      if (after !== 'replug') expect(after).toEqual(parts);
      // A runtime adds no mounts to a device that stays plugged in.
      expect(after === 'replug' || mounts.length === 0).toBe(true);
    });

    test('a device that follows hardware says which directories to watch', async () => {
      const isWatched = handler.followsHardware?.(properties) === true;
      expect((await start()).watch.length > 0).toBe(isWatched);
    });

    test('a device with hardware of its host stays there when the container moves', () => {
      expect(deviceHome(properties)).toBe(sample.home);
      const needsHost = handler.needsHost?.(properties) !== false;
      if (sample.home === 'any' && needsHost) expect(properties['path']).toBe('/');
    });
  });
}

function handlerOf(properties: DeviceConfig): DeviceHandler {
  const handler = deviceHandler(properties);
  if (handler === undefined || deviceSchema(properties['type']) === undefined)
    throw new Error(`there is no device type ${properties['type']}`);
  return handler;
}

const everythingIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((path) => `${path} ${statSync(join(dir, path), { throwIfNoEntry: false })?.mtimeMs}`);
