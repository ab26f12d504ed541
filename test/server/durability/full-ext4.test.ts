// A daemon on ext4, which reports reserved blocks as free: it notices that the disk is full, and its reserve then starts containers.
import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDiskSpace } from '../../../server/services/server/free-bytes.ts';
import { loopDeviceMissing } from '../../support/hosts/loop-device.ts';
import { makeDisk, mountDisk, type MountedDisk } from '../../faults/power-cut/loop-disk.ts';
import {
  bundleDaemon,
  read,
  settle,
  startChild,
  type Bundle,
  type ChildDaemon,
} from '../../support/daemons/child-process.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = loopDeviceMissing();
if (missing !== undefined) console.log(`skipped: a daemon on a full ext4: ${missing}`);

describe.skipIf(missing !== undefined)('a daemon on a full ext4', () => {
  let bundle: Bundle;
  let daemon: ChildDaemon | undefined;
  let disk: MountedDisk | undefined;
  const dir = tempFolder('gantry-ext4-full-');
  const mountPoint = (): string => join(dir, 'mounted');
  const stateDir = (): string => join(mountPoint(), 'state');
  const reserve = (): string => join(stateDir(), 'database/reserve');
  const running = (): ChildDaemon => {
    if (daemon === undefined) throw new Error('the daemon does not run');
    return daemon;
  };

  beforeAll(() => {
    bundle = bundleDaemon();
    makeDisk(join(dir, 'disk'), 256 * 1024 * 1024);
    disk = mountDisk(join(dir, 'disk'), mountPoint(), 'defaults');
  });
  afterAll(async () => {
    await daemon?.kill('SIGKILL');
    disk?.unmount();
    rmSync(dir, { recursive: true });
  });

  /** Until the disk is completely full. */
  const fill = (name: string): void => {
    execFileSync('sh', ['-c', `cat /dev/zero > ${join(mountPoint(), name)} 2>&1 || true; sync`], { stdio: 'ignore' });
  };
  const done = async (method: string, path: string, body?: object): Promise<void> => {
    const { status, operation, metadata } = await settle(running(), method, path, body);
    if (status >= 300 || (operation !== undefined && operation.status !== 'Success'))
      throw new Error(`${method} ${path} failed: ${JSON.stringify(operation ?? metadata)}`);
  };
  const setState = (name: string, action: 'start' | 'stop'): Promise<void> =>
    done('PUT', `/1.0/containers/${name}/state`, { action, force: true });

  test('has no free bytes, is read-only, and starts containers from the reserve, which a deletion has too', async () => {
    daemon = await startChild(bundle, stateDir(), 'sim');
    await done('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    for (const name of names) await done('POST', '/1.0/containers', { name, source: { type: 'none' }, devices });
    await until(() => statSync(reserve(), { throwIfNoEntry: false })?.size === 4 * 1024 * 1024);
    await daemon.kill('SIGKILL');
    for (const name of ['filler', 'more', 'last']) fill(name);
    // Reported as free, but never allocated.
    expect(statfsSync(mountPoint()).bfree).toBeGreaterThan(1000);
    expect(readDiskSpace(mountPoint()).freeBytes).toBeLessThan(256 * 1024);
    daemon = await startChild(bundle, stateDir(), 'sim');

    for (const name of names) await setState(name, 'start');
    expect((await read(running(), '/1.0')).environment.read_only).toMatch(/is full/);
    expect(statSync(reserve(), { throwIfNoEntry: false })).toBeUndefined();
    for (const name of names) await setState(name, 'stop');
    await done('DELETE', '/1.0/containers/c0');

    rmSync(join(mountPoint(), 'filler'));
    await done('POST', '/1.0/profiles', { name: 'other' });
    await until(() => statSync(reserve(), { throwIfNoEntry: false }) !== undefined);
  });
});
