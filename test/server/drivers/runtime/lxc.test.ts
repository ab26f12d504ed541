// The LXC runtime on real containers: the common suite, and its own cases.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readCgroupTree, readGroupFile } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import type { RunConfig, RuntimeDriver, RuntimeExit } from '../../../../server/drivers/runtime/driver.ts';
import { openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
import { readBootId, readProcess } from '../../../../server/lib/shared/processes.ts';
import { readRunningRecord, removeRunningRecord } from '../../../../server/drivers/runtime/lxc/running-record.ts';
import { loadLibc } from '../../../../server/drivers/runtime/host/syscalls.ts';
import { bootSeconds } from '../../../../server/drivers/runtime/guard/guard-line.ts';
import { startUntilLine } from '../../../../server/drivers/runtime/guard/start-until.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { runtimeConformance } from '../../../conformance/runtime.ts';
import { type LxcHarness, lxcHarness, lxcTestsMissing } from '../../../support/drivers/runtime-lxc.ts';
import { until } from '../../../support/until.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await lxcTestsMissing();
if (missing === undefined) {
  runtimeConformance('the LXC runtime', async () => lxcHarness('a'));
  quirks();
} else {
  console.log(`skipped: the LXC runtime: ${missing}`);
  describe.skip(`the LXC runtime (${missing})`, () => test('needs a host that can run LXC', () => {}));
}

function quirks(): void {
  describe('LXC in particular', () => {
    const never = new AbortController().signal;
    let harness: LxcHarness;
    let driver: RuntimeDriver;
    let exits: RuntimeExit[] = [];
    const inside = async (name: string, script: string): Promise<string> => {
      const result = await execIn(driver, name, ['sh', '-c', script]);
      return `${result.stdout}${result.stderr}`.trim();
    };
    const open = async (): Promise<void> => {
      driver = await harness.open();
      exits = [];
      driver.onExit((exit) => exits.push(exit));
    };

    beforeAll(async () => {
      harness = await lxcHarness('b');
    });
    afterAll(async () => {
      await harness?.cleanup();
    });
    beforeEach(open);
    afterEach(async () => {
      if (driver.probe('c1').status !== 'stopped') await driver.stop('c1', { force: true }, never);
      await driver.forget('c1');
      await driver.close();
    });

    test('koffi loads, so that metrics and idmapped mounts use the fast path', async () => {
      expect(await loadLibc()).toBeDefined();
    });

    describe('a container whose monitor was killed', () => {
      let run: RunConfig;
      beforeEach(async () => {
        // By LXC's default init dies with its monitor; then there is no such container.
        run = { ...(await harness.prepare('c1')), config: { 'raw.lxc': 'lxc.monitor.signal.pdeath = SIGCONT' } };
        await driver.start(run, never);
        const { monitorPid } = readRunningRecord(harness.paths.stateFile('c1')) ?? { monitorPid: 0 };
        process.kill(monitorPid, 'SIGKILL');
        await until(() => readProcess(monitorPid)?.isZombie !== false);
      });

      test('counts as running, is not started a second time, and can be ended by force', async () => {
        const { initPid } = driver.probe('c1');
        expect(driver.probe('c1').status).toBe('running');
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
        await expect(execIn(driver, 'c1', ['true'])).rejects.toMatchObject({ code: 'Failed' });
        await driver.stop('c1', { force: true }, never);
        expect(existsSync(`/proc/${initPid}/root/etc`)).toBe(false);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
        expect(harness.remains(run)).toEqual([]);
        await driver.start(run, never);
        expect(await inside('c1', 'echo alive')).toBe('alive');
      });

      test('is found again after a restart of the daemon, even when its state file is lost', async () => {
        const before = driver.probe('c1');
        await driver.close();
        removeRunningRecord(harness.paths.stateFile('c1'));
        await open();
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
        await driver.recover(['c1']);
        expect(driver.probe('c1')).toEqual(before);
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
      });

      test('is announced when it ends by itself', async () => {
        process.kill(driver.probe('c1').initPid, 'SIGKILL');
        await until(() => exits.length > 0);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
        expect(harness.remains(run)).toEqual([]);
      });
    });

    test('a start delayed before it has a control group does not begin after its deadline', async () => {
      const prepared = await harness.prepare('c1');
      const startUntilFile = join(harness.base, 'start-until');
      writeFileSync(startUntilFile, startUntilLine(bootSeconds() + 2, readBootId()));
      const lastStep = join(harness.base, 'last-step');
      const init = join(prepared.rootfs, 'sbin/init');
      rmSync(init);
      writeFileSync(init, '#!/bin/sh\necho > /began\nexec sleep 300\n', { mode: 0o755 });
      const hooks = `lxc.hook.pre-start = /bin/sleep 3\nlxc.hook.start-host = /bin/touch ${lastStep}`;
      const run = { ...prepared, startUntilFile, config: { 'raw.lxc': hooks } };
      await expect(driver.start(run, never)).rejects.toMatchObject({
        cause: { message: 'its deadline for starting on this host has passed' },
      });
      const began = join(prepared.rootfs, 'began');
      expect([existsSync(lastStep), existsSync(began), harness.remains(run)]).toEqual([true, false, []]);
      rmSync(startUntilFile);
      await driver.start(run, never);
      await until(() => existsSync(began));
    });

    test('the death of a monitor ends its container, is announced, and hinders no new start', async () => {
      const run = await harness.prepare('c1');
      await driver.start(run, never);
      process.kill(readRunningRecord(harness.paths.stateFile('c1'))?.monitorPid ?? 0, 'SIGKILL');
      await until(() => exits.length > 0);
      expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
      expect(harness.remains(run)).toEqual([]);
      await driver.start(run, never);
    });

    test('a daemon finds the containers of a killed one, and rewrites no record of one that runs as recorded', async () => {
      await driver.start(await harness.prepare('c1'), never);
      const before = driver.probe('c1');
      const file = harness.paths.stateFile('c1');
      const { ino } = statSync(file);
      const killed = driver;
      await open();
      await driver.recover(['c1']);
      expect(driver.probe('c1')).toEqual(before);
      expect(statSync(file).ino).toBe(ino);
      await killed.close();
      expect(driver.probe('c1')).toEqual(before);
    });

    test('commands that a killed daemon left are ended by the next one, and only those', async () => {
      await driver.start(await harness.prepare('c1'), never);
      const attach = `lxc-attach -P ${harness.paths.lxcPath} -n c1 -- sleep`;
      // The shell ends at once, like a killed daemon.
      execFileSync('/bin/sh', ['-c', `GANTRY_ATTACH=1 ${attach} 611 & ${attach} 612 &`], { stdio: 'ignore' });
      const own = await driver.spawn('c1', { argv: ['sleep', '613'], stdio: { kind: 'null' } }, never);
      const running = async (): Promise<string> => inside('c1', 'ps -o args | grep -o "^sleep 61[0-9]" | sort');
      await until(async () => (await running()) === 'sleep 611\nsleep 612\nsleep 613');
      const next = await harness.open();
      await until(async () => (await running()) === 'sleep 612\nsleep 613');
      await next.close();
      own.kill();
      expect(await own.exited).toBe(137);
    });

    test('files belong to root inside and to 0:0 on disk, also after a reboot from inside', async () => {
      const run = await harness.prepare('c1');
      await driver.start(run, never);
      expect(driver.rootfsIdmapped).toBe(true);
      expect(await inside('c1', 'stat -c %u:%g /etc/passwd; touch /root/made')).toBe('0:0');
      expect(statSync(join(run.rootfs, 'root/made')).uid).toBe(0);
      await harness.rebootInside(driver, 'c1');
      await until(() => exits.length > 0);
      expect(await inside('c1', 'stat -c %u:%g /etc/passwd; touch /root/again')).toBe('0:0');
      expect(statSync(join(run.rootfs, 'root/again')).uid).toBe(0);
      expect(
        readFileSync(`/proc/${driver.probe('c1').initPid}/uid_map`, 'utf8')
          .trim()
          .split(/\s+/)[1],
      ).not.toBe('0');
    });

    test('files on a file system without idmapped mounts are shifted to the mapped ids, once', async () => {
      const given = await harness.prepare('c1');
      const place = mkdtempSync(join(tmpdir(), 'gantry-unmapped-'));
      execFileSync('mount', ['-t', 'ramfs', 'none', place]);
      try {
        execFileSync('cp', ['-a', given.rootfs, join(place, 'rootfs')]);
        const run = { ...given, rootfs: join(place, 'rootfs'), fileMaps: [[], given.idmap] };
        expect(await driver.mapsFilesAt?.(given.rootfs)).toBe(true);
        expect(await driver.mapsFilesAt?.(run.rootfs)).toBe(false);
        for (const round of ['first', 'second']) {
          await driver.start(run, never);
          expect(await inside('c1', `stat -c %u:%g /etc/passwd; touch /root/${round}`)).toBe('0:0');
          expect(statSync(join(run.rootfs, 'root', round)).uid).toBe(given.idmap[0]?.hostid);
          await driver.stop('c1', { force: true }, never);
        }
      } finally {
        await driver.stop('c1', { force: true }, never).catch(() => {});
        execFileSync('umount', ['--lazy', place]);
        rmdirSync(place);
      }
    });

    test('a rootfs with the mapped ids is used unchanged', async () => {
      const run = await harness.prepare('c1');
      const base = run.idmap[0]?.hostid ?? 0;
      execFileSync('chown', ['-hR', `${base}:${base}`, run.rootfs]);
      await driver.start(run, never);
      expect(await inside('c1', 'stat -c %u /etc/passwd')).toBe('0');
      expect(statSync(join(run.rootfs, 'etc/passwd')).uid).toBe(base);
    });

    test('a privileged container gets its rootfs back from the mapped ids, keeping setuid bits', async () => {
      const run = await harness.prepare('c1');
      const base = run.idmap[0]?.hostid ?? 0;
      execFileSync('sh', ['-c', 'chown -hR "$1:$1" "$2"; chmod 4755 "$2/bin/busybox"', 'sh', `${base}`, run.rootfs]);
      await driver.start({ ...run, idmap: [] }, never);
      expect(await inside('c1', 'stat -c %u:%a /bin/busybox')).toBe('0:4755');
      expect(await inside('c1', 'cat /proc/self/uid_map')).toMatch(/^0\s+0\s/);
      expect(await inside('c1', 'mknod /root/disk b 254 0 && cat /root/disk | head -c 1')).toMatch(/not permitted/);
      expect(await inside('c1', 'echo 1 > /proc/sys/kernel/panic')).toMatch(/Read-only|denied|not permitted/);
    });

    test('mounts: read-only, single files, mapped volumes, absent optional ones; the same after a reboot', async () => {
      const run = await harness.prepare('c1');
      const host = join(harness.base, 'a host dir');
      const volume = join(harness.base, 'volume');
      for (const dir of [host, volume]) mkdirSync(dir, { recursive: true });
      writeFileSync(join(host, 'file'), 'from the host\n');
      const mount = { kind: 'dir', readonly: false, optional: false, recursive: false } as const;
      const mounts = [
        { ...mount, device: 'a', source: host, target: '/mnt/with space', readonly: true },
        { ...mount, device: 'b', source: join(host, 'file'), target: '/etc/given', kind: 'file' as const },
        { ...mount, device: 'c', source: volume, target: '/srv/data', idmapped: true },
        { ...mount, device: 'd', source: '/nonexistent', target: '/mnt/none', optional: true },
      ];
      await driver.start({ ...run, mounts }, never);
      const look = async (): Promise<void> => {
        expect(await inside('c1', 'cat "/mnt/with space/file" /etc/given')).toBe('from the host\nfrom the host');
        expect(await inside('c1', 'touch "/mnt/with space/x"')).toMatch(/Read-only/);
        expect(await inside('c1', 'stat -c %u /etc/given; stat -c %u /srv/data; touch /srv/data/x')).toBe('65534\n0');
        expect(statSync(join(volume, 'x')).uid).toBe(0);
      };
      await look();
      await harness.rebootInside(driver, 'c1');
      await until(() => exits.length > 0);
      await look();
      await driver.stop('c1', { force: true }, never);
      expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(harness.paths.containerDir('c1'));
    });

    test('settings reach the container: host name, environment, kernel limits, cpus, device rules, system calls', async () => {
      const run = await harness.prepare('c1');
      const config = {
        'environment.GREETING': 'hello "world"',
        'limits.kernel.nofile': '2048:4096',
        'limits.cpu': '1-1',
        'limits.cpu.allowance': '20ms/100ms',
        'security.nesting': 'true',
        'raw.lxc': '# a comment\nlxc.environment = RAW=yes',
      };
      await driver.start({ ...run, hostname: 'myhost', config }, never);
      expect(await inside('c1', 'hostname')).toBe('myhost');
      const environment = await inside('c1', 'tr "\\0" "\\n" < /proc/1/environ');
      expect(environment).toContain('GREETING=hello "world"');
      expect(environment).toContain('RAW=yes');
      expect(await inside('c1', 'grep "open files" /proc/1/limits')).toMatch(/2048\s+4096/);
      expect(await inside('c1', 'grep Seccomp: /proc/1/status')).toMatch(/2$/);
      expect(await inside('c1', 'ls /dev/.lxc/proc/version')).toBe('/dev/.lxc/proc/version');
      const tree = readCgroupTree();
      expect(readGroupFile(tree, harness.paths.group('c1'), 'cpuset.cpus')).toBe('1');
      if (tree.version === 1) {
        expect(readGroupFile(tree, harness.paths.group('c1'), 'cpu.cfs_quota_us')).toBe('20000');
        expect(readGroupFile(tree, harness.paths.group('c1'), 'devices.list')).not.toContain('a *:* rwm');
      }
    });

    test('two drivers on one host run containers of the same name side by side', async () => {
      const other = await lxcHarness('c');
      try {
        const second = await other.open();
        const [a, b] = [await harness.prepare('c1'), await other.prepare('c1')];
        const pids = [await driver.start(a, never), await second.start(b, never)].map((one) => one.initPid);
        expect(new Set(pids).size).toBe(2);
        await second.stop('c1', { force: true }, never);
        expect(driver.probe('c1')).toEqual({ status: 'running', initPid: pids[0] });
        await second.forget('c1');
        await second.close();
        expect(existsSync(other.paths.lxcPath)).toBe(false);
      } finally {
        await other.cleanup();
      }
    });

    test('an interface name that is taken on the host is refused and left alone', async () => {
      const run = await harness.prepare('c1');
      const taken = { ...run, nics: run.nics.map((nic) => ({ ...nic, hostName: harness.bridge })) };
      const error: unknown = await driver.start(taken, never).catch((thrown: unknown) => thrown);
      expect(String((error as Error).cause)).toContain(harness.bridge);
      expect(existsSync(`/sys/class/net/${harness.bridge}`)).toBe(true);
    });

    test('the readable copy of its configuration is rewritten only after a change', async () => {
      const run = await harness.prepare('c1');
      const copy = join(run.logDir, 'lxc.conf');
      const startAgain = async (hostname: string): Promise<number> => {
        await driver.start({ ...run, hostname }, never);
        await driver.stop('c1', { force: true }, never);
        expect(readFileSync(copy, 'utf8')).toContain(`lxc.uts.name = ${hostname}\n`);
        return statSync(copy).mtimeMs;
      };
      const first = await startAgain('one');
      expect(await startAgain('one')).toBe(first);
      expect(await startAgain('two')).toBeGreaterThan(first);
    });

    test('a missing init is named as the reason', async () => {
      const run = await harness.prepare('c1');
      execFileSync('rm', [join(run.rootfs, 'sbin/init')]);
      const error: unknown = await driver.start(run, never).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'Failed' });
      expect(String((error as Error).cause)).toMatch(/No such file or directory.*\/sbin\/init/);
    });

    test('LXC and what it starts find every program of the host, but not those that ask /etc/subuid for id maps', async () => {
      const run = await harness.prepare('c1');
      const seen = join(harness.base, 'path');
      const hook = `lxc.hook.pre-start = /bin/sh -c 'env > ${seen}; for one in newuidmap newgidmap cat; do command -v $one; done >> ${seen}' #`;
      await driver.start({ ...run, config: { 'raw.lxc': hook } }, never);
      const said = readFileSync(seen, 'utf8');
      expect(said).toContain(
        `PATH=${harness.paths.hidingDir}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      );
      expect(said).toContain('LC_ALL=C');
      const [uidmap = '', gidmap = '', cat = ''] = said.trim().split('\n').slice(-3);
      for (const file of [uidmap, gidmap]) expect(statSync(file).mode & 0o4000).toBe(0);
      expect([dirname(uidmap), dirname(gidmap)]).toEqual([harness.paths.hidingDir, harness.paths.hidingDir]);
      expect(cat).toMatch(/^\/(usr\/)?bin\/cat$/);
    });

    test('a container is forgotten with the AppArmor profile that LXC left when its monitor died', async () => {
      await harness.prepare('c1');
      const left = join(harness.paths.containerDir('c1'), 'apparmor');
      mkdirSync(left, { recursive: true });
      writeFileSync(join(left, 'lxc-c1_profile'), 'profile');
      await driver.forget('c1');
      expect(existsSync(dirname(left))).toBe(false);
    });

    test('large output arrives whole, and leftover processes of a command do not delay its end', async () => {
      await driver.start(await harness.prepare('c1'), never);
      const big = await execIn(driver, 'c1', ['sh', '-c', 'head -c 3000000 /dev/zero | tr "\\0" x']);
      expect(big.stdout).toHaveLength(3_000_000);
      const started = performance.now();
      const result = await execIn(driver, 'c1', ['sh', '-c', 'sleep 300 & echo done; exit 3']);
      expect(result).toMatchObject({ exitCode: 3, stdout: 'done\n' });
      expect(performance.now() - started).toBeLessThan(10_000);
      expect((await execIn(driver, 'c1', ['sh', '-c', 'kill -9 $$'])).exitCode).toBe(137);
    });

    test('a host reboot is not mistaken for a stop: state of another boot is dropped silently', async () => {
      const run = await harness.prepare('c1');
      await driver.start(run, never);
      const file = harness.paths.stateFile('c1');
      const state = readFileSync(file, 'utf8');
      await driver.stop('c1', { force: true }, never);
      await driver.close();
      writeFileSync(file, JSON.stringify({ ...JSON.parse(state), bootId: 'another' }));
      await open();
      await driver.recover(['c1']);
      expect(exits).toEqual([]);
      expect(existsSync(file)).toBe(false);
    });

    test('is refused with a reason where it cannot run', async () => {
      const file = join(harness.base, 'not-a-directory');
      writeFileSync(file, '');
      await expect(openLxcRuntime({ dir: file, log: silentLog })).rejects.toThrow();
    });
  });
}
