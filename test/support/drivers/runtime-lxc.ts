// Runs the runtime suite on real LXC containers: bridge, root file systems, kernel state. Tests nothing itself.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allGroupDirs, readCgroupTree, readGroupFile } from '../../../server/drivers/runtime/cgroup/cgroup.ts';
import type { RuntimeDriver } from '../../../server/drivers/runtime/driver.ts';
import { hostIdMap } from '../../../server/drivers/runtime/idmap/id-map.ts';
import { lxcAvailable, openLxcRuntime } from '../../../server/drivers/runtime/lxc/lxc.ts';
import { LxcPaths } from '../../../server/drivers/runtime/lxc-paths.ts';
import { type Log, silentLog } from '../../../server/lib/log.ts';
import type { RuntimeHarness } from '../../conformance/runtime-world.ts';
import { busyboxMissing, makeBusyboxRootfs } from '../images/busybox-rootfs.ts';
import { until } from '../until.ts';
import { execIn } from './exec-in.ts';

const never = new AbortController().signal;

/** The reason why real containers cannot be tested here; undefined when they can. */
export async function lxcTestsMissing(): Promise<string | undefined> {
  const available = await lxcAvailable();
  return available.ok ? busyboxMissing() : available.reason;
}

export interface LxcHarness extends RuntimeHarness {
  readonly dir: string;
  readonly base: string;
  readonly paths: LxcPaths;
  readonly bridge: string;
}

/** `tag` separates bridges and interfaces of test files: one or two characters. */
export async function lxcHarness(tag: string, log: Log = silentLog): Promise<LxcHarness> {
  const base = mkdtempSync(join(realpathSync(tmpdir()), 'gantry-lxc-'));
  const dir = join(base, 'runtime');
  const bridge = `gtytb${tag}`;
  const tree = readCgroupTree();
  const paths = new LxcPaths(dir);
  const map = await hostIdMap();
  const names = new Set<string>();
  let count = 0;
  // Removes the leftover of a killed run.
  spawnSync('ip', ['link', 'delete', bridge]);
  run('ip', 'link', 'add', bridge, 'type', 'bridge');
  run('ip', 'link', 'set', bridge, 'up');

  return {
    dir,
    base,
    paths,
    bridge,
    open: async () => openLxcRuntime({ dir, log }),
    prepare: async (name, kind = 'ordinary') => {
      count++;
      const number = count;
      names.add(name);
      const home = join(base, `c${number}`);
      await makeBusyboxRootfs(join(home, 'rootfs'), {
        dhcp: false,
        ...(kind === 'deaf' ? { deafToShutdown: true } : {}),
        ...(kind === 'with-console' ? { consoleShell: true } : {}),
        ...(kind === 'short-lived' ? { init: '#!/bin/sh\nexit 3\n' } : {}),
      });
      const hostName = `gtyt${tag}${number}`;
      const hwaddr = `00:16:3e:00:${(number >> 8).toString(16).padStart(2, '0')}:${(number & 255).toString(16).padStart(2, '0')}`;
      return {
        name,
        hostname: `c${number}`,
        rootfs: join(home, 'rootfs'),
        logDir: join(home, 'logs'),
        architecture: 'x86_64',
        idmap: map,
        config: {},
        nics: [{ device: 'eth0', kind: 'veth', name: 'eth0', hostName, hwaddr, link: bridge }],
        mounts: [],
      };
    },
    poweroffInside: async (driver, name) => leave(driver, name, 'poweroff'),
    rebootInside: async (driver, name) => leave(driver, name, 'reboot'),
    whileDown: async (name, target) => {
      const { initPid, monitorPid } = JSON.parse(readFileSync(paths.stateFile(name), 'utf8')) as Record<string, number>;
      const command = `/bin/busybox ${target === 'stop' ? 'poweroff' : 'reboot'} -f`;
      const lxcArgs = ['-P', paths.lxcPath, '-n', paths.key(name)];
      try {
        execFileSync('lxc-attach', [...lxcArgs, '--', '/bin/sh', '-c', command], { stdio: 'ignore' });
      } catch {
        // The process dies with its container.
      }
      await until(() => !existsSync(`/proc/${initPid}/root/etc`));
      if (target === 'stop') await until(() => !existsSync(`/proc/${monitorPid}/exe`) || isZombie(monitorPid ?? 0));
    },
    memoryLimit: (_driver, name) => {
      const text = readGroupFile(tree, paths.group(name), tree.version === 1 ? 'memory.limit_in_bytes' : 'memory.max');
      const limit = Number(text);
      return Number.isFinite(limit) && limit < 2 ** 60 ? limit : undefined;
    },
    processLimit: (_driver, name) => {
      const text = readGroupFile(tree, paths.group(name), 'pids.max');
      return text === 'max' ? undefined : Number(text);
    },
    remains: (config) => [
      ...config.nics.map((nic) => `/sys/class/net/${nic.hostName}`).filter((path) => existsSync(path)),
      ...allGroupDirs(tree, paths.group(config.name)).filter((path) => existsSync(path)),
      ...mountsBelow(config.rootfs),
    ],
    sabotage: async (good) => ({
      run: { ...good, nics: good.nics.map((nic) => ({ ...nic, link: 'gtytabsent' })) },
      reason: /gtytabsent/,
    }),
    cleanup: async () => {
      const driver = await openLxcRuntime({ dir, log });
      await driver.recover([...names]);
      for (const name of names) {
        if (driver.probe(name).status !== 'stopped') await driver.stop(name, { force: true }, never);
        await driver.forget(name);
      }
      await driver.close();
      run('ip', 'link', 'delete', bridge);
      rmSync(base, { recursive: true, force: true });
    },
  };

  async function leave(driver: RuntimeDriver, name: string, how: 'poweroff' | 'reboot'): Promise<void> {
    // The command dies with its container, so its result has no meaning.
    await execIn(driver, name, ['/bin/busybox', how, '-f']).catch(() => {});
  }
}

function run(...argv: [string, ...string[]]): void {
  execFileSync(argv[0], argv.slice(1), { stdio: 'pipe' });
}

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

function mountsBelow(path: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${path} `) || line.includes(` ${path}/`));
}
