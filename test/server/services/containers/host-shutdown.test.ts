// Host shutdown with containers: they stop in order, each within its time, and run again afterwards.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerDocument } from '../../../../server/records/documents.ts';
import { shutdownSeconds, stopGroups } from '../../../../server/services/containers/power/host-shutdown.ts';
import { makeBusyboxRootfs } from '../../../support/images/busybox-rootfs.ts';
import {
  createContainer,
  lifecycleOf,
  type Listening,
  makeSeeded,
  realRuntimeMissing,
  setState,
  statusOf,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type Bundle } from '../../../support/daemons/child-process.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const missing = await realRuntimeMissing();

describe('the order', () => {
  const entry = (name: string) => ({ name, document: {} as ContainerDocument, modRev: 1 });
  const groups = (priorities: Record<string, string | undefined>): string[][] =>
    stopGroups(Object.keys(priorities).map(entry), ({ name }) => {
      const value = priorities[name];
      return value === undefined ? {} : { 'boot.stop.priority': value };
    }).map((group) => group.map(({ name }) => name));

  test('is by priority, highest first; equal ones stop together, unset is 0', () => {
    expect(groups({ a: '5', b: undefined, c: '-3', d: '10', e: '0', f: '5' })).toEqual([
      ['d'],
      ['a', 'f'],
      ['b', 'e'],
      ['c'],
    ]);
    expect(groups({})).toEqual([]);
  });

  test('allows each 30 seconds, or its configured time', () => {
    expect(
      ['', '5', '0', '-1', '99999999999'].map((value) => shutdownSeconds({ 'boot.host_shutdown_timeout': value })),
    ).toEqual([30, 5, 0, 0, 2 ** 31 / 1000 - 60]);
    expect(shutdownSeconds({})).toBe(30);
  });
});

for (const runtime of ['sim', 'lxc'] as const) {
  describe.skipIf(runtime === 'lxc' && missing !== undefined)(`a host shutdown, on ${runtime}`, () => {
    let daemon: TestDaemon;
    const settings: Record<string, Record<string, string>> = {
      last: { 'boot.stop.priority': '-1' },
      middle1: {},
      middle2: {},
      first: { 'boot.stop.priority': '10', 'boot.autostart.priority': '1' },
      deaf: { 'boot.stop.priority': '5', 'boot.host_shutdown_timeout': '1' },
      hasty: { 'boot.stop.priority': '5', 'boot.host_shutdown_timeout': '0' },
      once: { 'boot.autostart': 'false' },
      idle: {},
    };
    const names = Object.keys(settings);

    beforeAll(async () => {
      daemon = await makeSeeded({ runtime });
      for (const name of names) {
        await createContainer(daemon, name, { config: settings[name] });
        const rootfs = join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs');
        if (runtime === 'lxc') await makeBusyboxRootfs(rootfs, { dhcp: false, deafToShutdown: name === 'deaf' });
        else if (name === 'deaf') daemon.sim.faults.ignoreShutdown(name);
      }
      await createContainer(daemon, 'gone', { ephemeral: true });
      if (runtime === 'lxc') {
        await makeBusyboxRootfs(join(daemon.dir, 'storage-pools/default/containers/gone/rootfs'), { dhcp: false });
      }
      for (const name of [...names.filter((one) => one !== 'idle'), 'gone']) {
        expect((await setState(daemon, name, 'start')).err).toBe('');
      }
      await setState(daemon, 'middle2', 'freeze');
    });
    afterAll(() => daemon.cleanUp());

    const stops = (events: Listening): string[] =>
      events.events.flatMap((event) => {
        const { action, source } = lifecycleOf(event);
        return /^container-(stopped|shutdown)$/.test(action)
          ? [`${source.slice('/1.0/containers/'.length)} ${action}`]
          : [];
      });

    test('stops them in order, by force after their time, deletes the ephemeral ones, and the next start starts the others again', async () => {
      const listening = await daemon.listen('lifecycle');
      await daemon.daemon.shutDown();
      await until(() => stops(listening).length >= 8);
      const order = stops(listening);
      const at = (text: string): number => order.findIndex((line) => line.startsWith(`${text} `));
      expect(order[0]).toBe('first container-shutdown');
      expect(new Set(order.slice(1, 3))).toEqual(new Set(['deaf container-stopped', 'hasty container-stopped']));
      for (const name of ['middle1', 'middle2', 'once', 'gone']) expect(at(name), name).toBeGreaterThan(2);
      expect(order.at(-1)).toBe('last container-shutdown');
      expect(order).toHaveLength(8);

      await daemon.restart();
      const stayed = new Set(['once', 'idle']);
      await until(async () => {
        const states = await Promise.all(names.map(async (name) => [name, await statusOf(daemon, name)] as const));
        return states.every(([name, status]) => status === (stayed.has(name) ? 'Stopped' : 'Running'));
      });
      expect((await daemon.call('GET', '/1.0/containers/gone')).status).toBe(404);
    });
  });
}

describe('the process', () => {
  let bundle: Bundle;
  const dirs: string[] = [];
  const makeDir = (): string => {
    const dir = tempFolder('gtyp-');
    dirs.push(dir);
    return dir;
  };
  beforeAll(() => void (bundle = bundleDaemon()));
  afterAll(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
  });

  test('treats SIGPWR as a host shutdown and SIGTERM as its own end; gantryd shutdown sends the one and waits', async () => {
    const dir = makeDir();
    let child = await startChild(bundle, dir, 'sim');
    await settle(child, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    const root = { type: 'disk', path: '/', pool: 'default' };
    await settle(child, 'PUT', '/1.0/profiles/default', { devices: { root } });
    await settle(child, 'POST', '/1.0/containers', { name: 'c', source: { type: 'none' } });
    await settle(child, 'PUT', '/1.0/containers/c/state', { action: 'start' });
    const lastUsed = async (): Promise<string> => (await read(child, '/1.0/containers/c')).last_used_at as string;
    const first = await lastUsed();
    await child.kill('SIGTERM');
    child = await startChild(bundle, dir, 'sim');
    expect(await lastUsed()).toBe(first);
    expect((await read(child, '/1.0/containers/c')).status).toBe('Running');
    await child.kill('SIGPWR');
    expect(await child.exited).toEqual({ code: 0, signal: null });
    child = await startChild(bundle, dir, 'sim');
    await until(async () => (await read(child, '/1.0/containers/c')).status === 'Running');
    expect(await lastUsed()).not.toBe(first);
    // Without a synchronous wait: the daemon is a child of this process, which has to notice its end.
    await promisify(execFile)(process.execPath, [bundle.entry, 'shutdown', '--state-dir', dir], { timeout: 60_000 });
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('gantryd shutdown reports errors', () => {
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bundle.entry, 'shutdown', ...args], { encoding: 'utf8', timeout: 60_000 });
    expect(run()).toMatchObject({ status: 64, stderr: expect.stringContaining('--state-dir is required') as string });
    expect(run('--state-dir', '/nonexistent')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('No daemon answers on /nonexistent/unix.socket') as string,
    });
    expect(run('--state-dir', '/x', '--timeout', 'soon')).toMatchObject({ status: 64 });
  });
});
