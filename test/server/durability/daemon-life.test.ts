// The life of the daemon as a process: start, stop, restart, crash, a second one on the same directory.
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import { runDaemonCommand } from '../../../server/daemon/daemon-command.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Operations } from '../../../server/operations/manager.ts';
import { autostartOrder } from '../../../server/services/containers/power/autostart.ts';
import {
  createContainer,
  type Json,
  listenOn,
  makeDaemon,
  realRuntimeMissing,
  seed,
  setState,
  statusOf,
  withDaemon,
} from '../../support/daemons/daemon.ts';
import {
  bundleDaemon,
  DaemonFailed,
  read,
  settle,
  startChild,
  type ChildDaemon,
} from '../../support/daemons/child-process.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const bundle = bundleDaemon();
const missing = await realRuntimeMissing();

async function inDir(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = tempFolder('gtya-life-');
  try {
    await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function prepare(daemon: ChildDaemon): Promise<void> {
  await settle(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  await settle(daemon, 'PUT', '/1.0/profiles/default', {
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
  });
}

describe('the command gantryd', () => {
  test('prints one line when it is ready, keeps a second one off its directory, and ends at once on SIGTERM with 0 and without its socket', () =>
    inDir(async (dir) => {
      const daemon = await startChild(bundle, dir, 'sim');
      expect(daemon.socketPath).toBe(join(dir, 'unix.socket'));
      expect((await read(daemon, '/1.0')).environment.server_pid).toBe(daemon.pid);
      await prepare(daemon);
      await expect(startChild(bundle, dir, 'sim')).rejects.toThrow(DaemonFailed);
      const container = { name: 'c', source: { type: 'none' } };
      expect((await settle(daemon, 'POST', '/1.0/containers', container)).operation?.status).toBe('Success');
      const listening = await listenOn(`ws+unix://${daemon.socketPath}:/1.0/events`);
      const started = Date.now();
      await daemon.kill('SIGTERM');
      expect(Date.now() - started).toBeLessThan(10_000);
      expect(await daemon.exited).toEqual({ code: 0, signal: null });
      expect(existsSync(daemon.socketPath)).toBe(false);
      listening.close();
    }));

  test('ends when its start fails, even while work of the start is in progress', () =>
    inDir(async (dir) => {
      const NODE_OPTIONS = '--import=data:text/javascript,setInterval(()=>{},1000)';
      const start = startChild(bundle, dir, 'sim', ['--https', '192.0.2.1:8443'], { NODE_OPTIONS });
      await expect(start).rejects.toThrow(/192\.0\.2\.1/);
    }));

  test('does not replace the socket of another program', () =>
    inDir(async (dir) => {
      const other = createServer().listen(join(dir, 'unix.socket'));
      await new Promise((resolve) => other.once('listening', resolve));
      try {
        await expect(makeDaemon({ dir })).rejects.toThrow(/already listens/);
        expect(existsSync(join(dir, 'unix.socket'))).toBe(true);
      } finally {
        other.close();
      }
    }));

  test('refuses an unknown runtime, an address that is none and an unknown group with the reason', () =>
    inDir(async (dir) => {
      const complained = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      onTestFinished(() => complained.mockRestore());
      expect(await runDaemonCommand(['--state-dir', dir, '--runtime', 'qemu'])).toBe(64);
      expect(complained.mock.calls.join('')).toContain('--runtime must be auto, lxc or sim, is qemu');
      await expect(makeDaemon({ dir, https: 'no address' })).rejects.toThrow(/address/i);
      const options = { stateDir: dir, runtime: 'sim', group: 'no-such-group-here', log: silentLog } as const;
      await expect(startDaemon(options)).rejects.toThrow(/group/);
    }));

  test.each([
    ['', 10_000],
    ['0', 0],
    ['7', 420_000],
  ])('waits for operations under way at its stop for core.shutdown_timeout %j, in ms %i', async (minutes, ms) => {
    const close = vi.spyOn(Operations.prototype, 'close');
    onTestFinished(() => close.mockRestore());
    await withDaemon({}, async (daemon) => {
      const config = { 'core.shutdown_timeout': minutes };
      expect((await daemon.call('PATCH', '/1.0', { config })).status).toBe(200);
    });
    expect(close.mock.calls).toEqual([[ms]]);
  });

  test('finishes running requests before it ends on SIGTERM', () =>
    inDir(async (dir) => {
      const daemon = await startChild(bundle, dir, 'sim');
      await prepare(daemon);
      const created = Array.from({ length: 20 }, (_, index) =>
        settle(daemon, 'POST', '/1.0/containers', { name: `c${index}`, source: { type: 'none' } }).catch(
          () => undefined,
        ),
      );
      await until(
        () =>
          existsSync(join(dir, 'storage-pools/default/containers')) &&
          readdirSync(join(dir, 'storage-pools/default/containers')).length > 0,
      );
      await daemon.kill('SIGTERM');
      await Promise.all(created);
      const again = await startChild(bundle, dir, 'sim');
      const names = ((await read(again, '/1.0/containers?recursion=1')) as Json[]).map((each) => each.name as string);
      expect(readdirSync(join(dir, 'storage-pools/default/containers')).toSorted()).toEqual(names.toSorted());
      expect(again.log.filter((line) => line.includes('a crash interrupted'))).toEqual([]);
      await again.kill('SIGTERM');
    }));
});

describe('a restart', () => {
  test('finds running and frozen containers unchanged, and everything recorded', async () => {
    await withDaemon({}, async (daemon) => {
      await seed(daemon);
      await daemon.call('POST', '/1.0/networks', {
        name: 'gtyalife',
        config: { 'ipv4.address': '10.214.5.1/24', 'ipv6.address': 'none' },
      });
      for (const name of ['run', 'ice', 'off']) await createContainer(daemon, name);
      for (const name of ['run', 'ice']) await setState(daemon, name, 'start');
      await setState(daemon, 'ice', 'freeze');
      const kinds = ['containers', 'profiles', 'networks', 'storage-pools'];
      const before = await Promise.all(kinds.map((kind) => daemon.get(`/1.0/${kind}?recursion=1`)));
      const pid = (await daemon.get('/1.0/containers/run/state')).pid;
      await daemon.restart();
      expect(await Promise.all(kinds.map((kind) => daemon.get(`/1.0/${kind}?recursion=1`)))).toEqual(before);
      expect((await daemon.get('/1.0/containers/run/state')).pid).toBe(pid);
      expect(await daemon.get('/1.0/operations')).toEqual([]);
    });
  });

  test('restores networks that the host has lost', async () => {
    await withDaemon({}, async (daemon) => {
      await daemon.call('POST', '/1.0/networks', {
        name: 'gtyalost',
        config: { 'ipv4.address': '10.214.5.1/24', 'ipv6.address': 'none' },
      });
      await daemon.host.network.down('gtyalost');
      expect((await daemon.call('GET', '/1.0/networks/gtyalost/state')).status).toBe(404);
      await daemon.restart();
      expect((await daemon.get('/1.0/networks/gtyalost/state')).state).toBe('up');
    });
  });

  test('a restart after a host shutdown starts the autostart containers in order of priority and name', async () => {
    await withDaemon({}, async (daemon) => {
      await seed(daemon);
      const wanted: Record<string, object> = {
        early: { 'boot.autostart': 'true', 'boot.autostart.priority': '5' },
        b: { 'boot.autostart': 'yes' },
        a: { 'boot.autostart': '1' },
        never: { 'boot.autostart': 'false' },
        was: {},
        stopped: {},
      };
      for (const [name, config] of Object.entries(wanted)) await createContainer(daemon, name, { config });
      for (const name of ['never', 'was']) await setState(daemon, name, 'start');
      // The state after a host shutdown: no container runs, and their end is not recorded.
      await daemon.restart(() => rm(join(daemon.dir, 'runtime'), { recursive: true }));
      await until(async () => (await statusOf(daemon, 'was')) === 'Running');
      const list = (await daemon.get('/1.0/containers?recursion=1')) as Json[];
      const started = list
        .filter((each) => each.status === 'Running')
        .toSorted((x, y) => (x.last_used_at < y.last_used_at ? -1 : 1));
      expect(started.map((each) => each.name)).toEqual(['early', 'a', 'b', 'was']);
    });
  });

  test('continues with the others when one cannot start', async () => {
    await withDaemon({}, async (daemon) => {
      await seed(daemon);
      const source = join(daemon.dir, 'nowhere');
      await mkdir(source);
      const broken = { data: { type: 'disk', path: '/data', source } };
      await createContainer(daemon, 'a', { config: { 'boot.autostart': 'true' }, devices: broken });
      await createContainer(daemon, 'b', { config: { 'boot.autostart': 'true' } });
      await daemon.restart(() => rmdir(source));
      await until(async () => (await statusOf(daemon, 'b')) === 'Running');
      expect(await statusOf(daemon, 'a')).toBe('Stopped');
      expect(daemon.logged.some((line) => line.startsWith('error:') && line.includes('/nowhere'))).toBe(true);
    });
  });
});

describe('autostart order', () => {
  const entry = (name: string, config: Record<string, string>, lifecycle = 'ready') =>
    ({ name, modRev: 1, document: { config, lifecycle } }) as never;
  test('is by priority, then by name; only autostart containers without a running saga', () => {
    const entries = [
      entry('z', { 'boot.autostart': 'true' }),
      entry('a', { 'boot.autostart': 'on' }),
      entry('low', { 'boot.autostart': 'true', 'boot.autostart.priority': '-1' }),
      entry('high', { 'boot.autostart': 'true', 'boot.autostart.priority': '10' }),
      entry('was', { 'volatile.last_state.power': 'RUNNING' }),
      entry('off', { 'volatile.last_state.power': 'STOPPED' }),
      entry('no', { 'boot.autostart': 'false', 'volatile.last_state.power': 'RUNNING' }),
      entry('half', { 'boot.autostart': 'true' }, 'creating'),
    ];
    const order = autostartOrder(entries, (each) => each.document.config);
    expect(order.map((each) => each.name)).toEqual(['high', 'a', 'was', 'z', 'low']);
  });
});

describe.skipIf(missing !== undefined)('with real containers', () => {
  test('SIGTERM leaves them running; a new daemon finds them, notices ended ones, and can stop them', () =>
    inDir(async (dir) => {
      const built = await buildBusyboxImage(join(dir, 'built'), { busybox: { dhcp: false } });
      let daemon = await startChild(bundle, dir, 'lxc');
      try {
        await prepare(daemon);
        expect((await settle(daemon, 'POST', '/1.0/images', await readFile(built.metadataPath))).operation?.err).toBe(
          '',
        );
        const source = { type: 'image', fingerprint: built.fingerprint };
        for (const name of ['stays', 'ends']) {
          expect(
            (await settle(daemon, 'POST', '/1.0/containers', { name, source, ephemeral: name === 'ends' })).operation
              ?.err,
          ).toBe('');
          expect(
            (await settle(daemon, 'PUT', `/1.0/containers/${name}/state`, { action: 'start' })).operation?.err,
          ).toBe('');
        }
        const [stays, ends] = [
          (await read(daemon, '/1.0/containers/stays/state')).pid as number,
          (await read(daemon, '/1.0/containers/ends/state')).pid as number,
        ];
        await daemon.kill('SIGTERM');
        expect([existsSync(`/proc/${stays}/ns`), existsSync(`/proc/${ends}/ns`)]).toEqual([true, true]);
        process.kill(ends, 'SIGKILL');
        await until(() => !existsSync(`/proc/${ends}/ns`));
        daemon = await startChild(bundle, dir, 'lxc');
        expect((await read(daemon, '/1.0/containers/stays/state')).pid).toBe(stays);
        await until(async () => ((await read(daemon, '/1.0/containers')) as string[]).length === 1);
        expect(
          (await settle(daemon, 'PUT', '/1.0/containers/stays/state', { action: 'stop', timeout: 10 })).operation?.err,
        ).toBe('');
        expect(existsSync(`/proc/${stays}/ns`)).toBe(false);
        expect((await settle(daemon, 'DELETE', '/1.0/containers/stays')).operation?.err).toBe('');
      } finally {
        await daemon.kill('SIGKILL').catch(() => {});
        const last = await makeDaemon({ runtime: 'lxc', dir });
        await last.cleanUp();
      }
    }));
});
