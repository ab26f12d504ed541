// Effects of config keys on real containers: cpus, ids of files, and values in the kernel.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readCgroupTree, readGroupFile } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import type { IdMapEntry, NicRun, RunConfig, RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import { loadModules } from '../../../../server/drivers/runtime/host/kernel-modules.ts';
import { priorityTables } from '../../../../server/drivers/runtime/nic/priority.ts';
import { noParts } from '../../../../server/drivers/device-parts.ts';
import { findApparmor } from '../../../../server/drivers/runtime/apparmor/load.ts';
import { openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
import { UserNamespaces } from '../../../../server/drivers/runtime/idmap/user-namespaces.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { until } from '../../../support/until.ts';
import { type LxcHarness, lxcHarness, lxcTestsMissing } from '../../../support/drivers/runtime-lxc.ts';
import { execIn } from '../../../support/drivers/exec-in.ts';

const missing = await lxcTestsMissing();
if (missing !== undefined) console.log(`skipped: config keys in real containers: ${missing}`);

describe.skipIf(missing !== undefined)('config keys in real containers', () => {
  const never = new AbortController().signal;
  const tree = readCgroupTree();
  let harness: LxcHarness;
  let driver: RuntimeDriver;
  let names: string[] = [];
  let count = 0;

  const prepare = async (changes: Partial<RunConfig> = {}): Promise<RunConfig> => {
    count++;
    const run = { ...(await harness.prepare(`k${process.pid}-${count}`)), nics: [], ...changes };
    names.push(run.name);
    return run;
  };
  const started = async (changes: Partial<RunConfig> = {}): Promise<RunConfig> => {
    const run = await prepare(changes);
    await driver.start(run, never);
    return run;
  };
  const stop = (name: string): Promise<void> => driver.stop(name, { force: true }, never);
  const inside = async (name: string, script: string): Promise<string> => {
    const result = await execIn(driver, name, ['sh', '-c', script]);
    return `${result.stdout}${result.stderr}`.trim();
  };

  beforeAll(async () => {
    harness = await lxcHarness('k');
  });
  afterAll(async () => {
    await harness?.cleanup();
  });
  beforeEach(async () => {
    names = [];
    driver = await harness.open();
  });
  afterEach(async () => {
    for (const name of names) {
      if (driver.probe(name).status !== 'stopped') await stop(name);
      await driver.forget(name);
    }
    await driver.close();
  });

  test('counted cpus are spread over the host, and rebalanced whenever a container starts, stops or changes', async (context) => {
    const online = cpus().length;
    if (online < 2) {
      console.log('skipped: balance of cpus: this host has only one');
      context.skip();
    }
    const cpusOf = ({ name }: RunConfig, below = ''): string =>
      readGroupFile(tree, `${harness.paths.group(name)}${below}`, 'cpuset.cpus') ?? '';
    const limited = (cpus: string): Promise<RunConfig> => started({ config: { 'limits.cpu': cpus } });
    const [one, two] = [await limited('1'), await limited('1')];
    expect([one, two].map((run) => cpusOf(run)).toSorted()).toEqual(['0', '1']);
    const fixed = await limited('0-0');
    expect(cpusOf(fixed)).toBe('0');
    await stop(fixed.name);
    expect([one, two].map((run) => cpusOf(run)).toSorted()).toEqual(['0', '1']);
    await driver.updateLimits(one.name, {});
    expect(cpusOf(one)).toBe(`0-${online - 1}`);
    for (const wish of ['1-1', '0-0', '1-1']) {
      await driver.updateLimits(one.name, { 'limits.cpu': wish });
      expect(cpusOf(one)).toBe(wish.slice(0, 1));
      // The group inside a container must follow.
      if (tree.version === 1) expect(cpusOf(one, '/ns')).toBe(wish.slice(0, 1));
      if (online === 2) expect(cpusOf(two)).toBe(wish === '1-1' ? '0' : '1');
    }
    await driver.close();
    driver = await harness.open();
    await driver.recover(names);
    expect(cpusOf(one)).toBe('1');
    if (online === 2) expect(cpusOf(two)).toBe('0');
  });

  test('limits.network.priority marks what the container sends, live, over a reboot and on nics plugged in, and nothing is left', async () => {
    const table = (name: string): string => {
      const tables = priorityTables(name, harness.paths.tag);
      return tables
        .map((each) => spawnSync('nft', ['list', 'table', ...each.split(' ')], { encoding: 'utf8' }).stdout)
        .join('');
    };
    const run = await harness.prepare(`k${process.pid}-net`);
    names.push(run.name);
    const [nic] = run.nics;
    await driver.start({ ...run, config: { 'limits.network.priority': '10' } }, never);
    expect(table(run.name)).toContain(`iifname "${nic?.hostName}" meta priority set 0:a counter`);
    expect(table(run.name)).toContain(`ether saddr ${nic?.hwaddr} meta priority set 0:a`);
    await inside(run.name, 'ip addr add 10.254.253.2/30 dev eth0; ip link set eth0 up; ping -c 1 -W 1 10.254.253.1');
    expect(Number(/0:a counter packets ([0-9]+)/.exec(table(run.name))?.[1])).toBeGreaterThan(0);
    await driver.updateLimits(run.name, { 'limits.network.priority': '3' });
    expect(table(run.name)).toContain('set 0:3');
    const plugged = {
      ...nic,
      device: 'eth1',
      name: 'eth1',
      hostName: `${nic?.hostName}p`,
      hwaddr: '00:16:3e:00:fe:01',
    };
    await driver.live?.plug(run.name, { ...noParts, device: 'eth1', properties: {}, nics: [plugged as NicRun] });
    expect(table(run.name)).toContain(`iifname "${plugged.hostName}" meta priority set 0:3`);
    const reborn = new Promise((resolve) => driver.onExit(resolve));
    await harness.rebootInside(driver, run.name);
    await reborn;
    expect(table(run.name)).toContain('set 0:3');
    await driver.updateLimits(run.name, {});
    expect(table(run.name)).toBe('');
    await driver.updateLimits(run.name, { 'limits.network.priority': '1' });
    await stop(run.name);
    expect(table(run.name)).toBe('');
    // The next daemon removes leftovers of a killed one, but no other daemon's.
    const [[left], [foreign]] = [priorityTables('gone', harness.paths.tag), priorityTables('gone', 'ffffffff')];
    for (const table of [left, foreign]) execFileSync('nft', [`add table ${table}`]);
    try {
      await driver.close();
      driver = await harness.open();
      await driver.recover(names);
      const tables = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' });
      expect([tables.includes(left), tables.includes(foreign)]).toEqual([false, true]);
    } finally {
      execFileSync('nft', [`delete table ${foreign}`]);
    }
  });

  test('security.nesting lets a container make containers: processes and system files of their own', async () => {
    const nested =
      'unshare -Urmpf -n sh -c "mount -t proc proc /proc && mount -t sysfs sys /sys && echo pid $$ && ls /sys/class/net"';
    const plain = await started();
    const nesting = await started({ config: { 'security.nesting': 'true' } });
    const out = await inside(nesting.name, nested);
    expect(out).toMatch(/pid [0-9]+/);
    expect(out).toMatch(/^lo$/m);
    expect(await inside(nesting.name, 'ls /dev/.lxc/proc/1/comm')).toBe('/dev/.lxc/proc/1/comm');
    expect(await inside(plain.name, 'ls /dev/.lxc 2>&1')).toMatch(/No such file/);
  });

  test('raw.apparmor on a host without AppArmor gives a warning, and the container starts', async (context) => {
    if (findApparmor() === 'full') {
      console.log('skipped: raw.apparmor without AppArmor: this host has it');
      context.skip();
    }
    const warned: string[] = [];
    const telling = await openLxcRuntime({
      dir: harness.dir,
      log: { ...silentLog, warn: (message, about) => warned.push(`${String(about?.['container'])}: ${message}`) },
    });
    const run = await prepare({ config: { 'raw.apparmor': 'mount,' } });
    try {
      await telling.start(run, never);
      expect(warned.filter((line) => line.includes('raw.apparmor'))).toEqual([
        expect.stringContaining(`${run.name}: raw.apparmor has no effect`),
      ]);
      await telling.stop(run.name, { force: true }, never);
    } finally {
      await telling.close();
    }
  });

  test('limits of huge pages that this host cannot keep are refused, at a start and live', async () => {
    const config = { 'limits.hugepages.64KB': '1MiB' };
    const refused = { code: 'Invalid', message: expect.stringMatching(/limits\.hugepages\.64KB/) as string };
    await expect(driver.start(await prepare({ config }), never)).rejects.toMatchObject(refused);
    const run = await started({ config: { 'limits.processes': '50' } });
    await expect(driver.updateLimits(run.name, config)).rejects.toMatchObject(refused);
    expect(readGroupFile(tree, harness.paths.group(run.name), 'pids.max')).toBe('50');
  });

  test('limits of the kernel and of processes, weights and swap apply, live if possible', async () => {
    const group = (file: string, run: RunConfig): string | undefined =>
      readGroupFile(tree, harness.paths.group(run.name), file);
    const run = await started({
      config: {
        'limits.kernel.nofile': '100:200',
        'limits.processes': '77',
        'limits.memory': '64MiB',
        'limits.memory.swap': 'false',
        'linux.sysctl.net.ipv4.ip_unprivileged_port_start': '80',
      },
    });
    // cgroup v1 asks the group that processes are in, and no other.
    const own = (): string | undefined =>
      readGroupFile(tree, `${harness.paths.group(run.name)}/ns`, 'memory.swappiness');
    if (tree.version === 1) expect(own()).toBe('0');
    expect(await inside(run.name, 'ulimit -Sn; ulimit -Hn')).toBe('100\n200');
    expect(await inside(run.name, 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start')).toBe('80');
    expect(group('pids.max', run)).toBe('77');
    await driver.updateLimits(run.name, {
      'limits.processes': '88',
      'limits.memory': '96MiB',
      'limits.memory.enforce': 'soft',
      'limits.memory.swap.priority': '4',
      'limits.cpu.priority': '3',
      'limits.disk.priority': '0',
    });
    expect(group('pids.max', run)).toBe('88');
    if (tree.version === 1) {
      expect(Number(group('memory.limit_in_bytes', run))).toBeGreaterThan(2 ** 60);
      expect(group('memory.soft_limit_in_bytes', run)).toBe(`${96 * 1024 ** 2}`);
      expect([group('memory.swappiness', run), own()]).toEqual(['54', '54']);
      expect(group('cpu.shares', run)).toBe('1017');
      expect([undefined, '10']).toContain(group('blkio.weight', run));
    } else {
      expect(group('memory.high', run)).toBe(`${96 * 1024 ** 2}`);
      expect(group('cpu.weight', run)).toBe('93');
    }
    await driver.updateLimits(run.name, {});
    expect(group('pids.max', run)).toBe('max');
  });

  test('security.syscalls.* and raw.seccomp refuse what they name, to init and to commands', async () => {
    const tries = 'chmod 700 /root; echo chmod $?; mkdir /made; echo mkdir $?; hostname x; echo hostname $?';
    const outcome = async (config: Record<string, string>): Promise<string> => {
      const run = await started({ config });
      const said = (await inside(run.name, tries)).split('\n').filter((line) => /^[a-z]+ [0-9]+$/.test(line));
      await stop(run.name);
      return said.join(', ');
    };
    expect(await outcome({})).toBe('chmod 0, mkdir 0, hostname 0');
    expect(
      await outcome({ 'security.syscalls.blacklist': 'mkdir errno 1\nmkdirat errno 1\nsethostname errno 1' }),
    ).toBe('chmod 0, mkdir 1, hostname 1');
    expect(await outcome({ 'security.syscalls.deny': 'mkdir errno 1\nmkdirat errno 1' })).toBe(
      'chmod 0, mkdir 1, hostname 0',
    );
    expect(await outcome({ 'raw.seccomp': '2\nblacklist\n[all]\nsethostname errno 1' })).toBe(
      'chmod 0, mkdir 0, hostname 1',
    );
  });

  test('security.syscalls.blacklist_compat leaves 32-bit programs without the kernel', async (context) => {
    const program = join(harness.base, 'e32');
    writeFileSync(program, tiny32(), { mode: 0o755 });
    const hostSays = spawnSync(program).status;
    if (process.arch !== 'x64' || hostSays !== 42) {
      console.log('skipped: 32-bit system calls: this host does not run such programs');
      context.skip();
    }
    const outcome = async (config: Record<string, string>): Promise<string> => {
      const run = await prepare({ config });
      copyFileSync(program, join(run.rootfs, 'e32'));
      await driver.start(run, never);
      const said = await inside(run.name, '/e32; echo $?');
      return /^[0-9]+$/m.exec(said)?.[0] ?? said;
    };
    expect(await outcome({})).toBe('42');
    expect(await outcome({ 'security.syscalls.blacklist_compat': 'true' })).toBe('139');
    expect(await outcome({ 'security.syscalls.deny_compat': 'true' })).toBe('139');
    // Init and its descendants have the same filter, after a reboot and for the next daemon too.
    const { name } = await prepare();
    const config = { 'security.syscalls.blacklist_compat': 'true' };
    const run = { ...(await harness.prepare(name)), nics: [], config };
    copyFileSync(program, join(run.rootfs, 'e32'));
    writeFileSync(join(run.rootfs, 'etc/rc.local'), '#!/bin/sh\n/e32; echo $? > /root/status\n', { mode: 0o755 });
    await driver.start(run, never);
    const status = (): string => {
      try {
        return readFileSync(join(run.rootfs, 'root/status'), 'utf8').trim();
      } catch {
        return '';
      }
    };
    await until(() => status() !== '');
    expect(status()).toBe('139');
    await driver.close();
    driver = await harness.open();
    await driver.recover(names);
    expect(await inside(name, '/e32; echo $?')).toMatch(/^139$/m);
  });

  describe('linux.kernel_modules', () => {
    let dir: string;
    let published: string;
    let modular: RuntimeDriver;
    const config = (value: string) => ({ 'linux.kernel_modules': value });

    beforeEach(async () => {
      dir = join(harness.base, `modules-${++count}`);
      published = join(dir, 'told');
      mkdirSync(join(dir, 'loaded/there'), { recursive: true });
      writeFileSync(join(dir, 'filesystems'), 'nodev\tsysfs\n\text4\n');
      writeFileSync(published, '');
      const script = `#!/bin/sh\nfor m; do :; done\n[ "$m" = missing ] && { echo "modprobe: FATAL: Module $m not found." >&2; exit 1; }\necho "$m" >> ${published}; mkdir ${dir}/loaded/$m\n`;
      writeFileSync(join(dir, 'modprobe'), script, { mode: 0o755 });
      const modules = {
        loaded: join(dir, 'loaded'),
        fileSystems: join(dir, 'filesystems'),
        modprobe: join(dir, 'modprobe'),
      };
      modular = await openLxcRuntime({ dir: harness.dir, log: silentLog, modules });
    });
    afterEach(() => modular.close());

    test('modules are loaded before a start, except present ones, and more at a change', async () => {
      const run = await prepare({ config: config('there, nf-nat,ext4,br_netfilter') });
      await modular.start(run, never);
      try {
        expect(readFileSync(published, 'utf8')).toBe('nf_nat\nbr_netfilter\n');
        await modular.updateLimits(run.name, config('nf_nat,overlay'));
        expect(readFileSync(published, 'utf8')).toBe('nf_nat\nbr_netfilter\noverlay\n');
        await expect(modular.updateLimits(run.name, config('missing'))).rejects.toThrow(/missing.*not found/);
      } finally {
        await modular.stop(run.name, { force: true }, never);
      }
    });

    test('a missing module of linux.kernel_modules refuses a start with its name and the reason, and nothing is left', async () => {
      const run = await prepare({ config: config('there,missing') });
      await expect(modular.start(run, never)).rejects.toMatchObject({
        code: 'Failed',
        cause: expect.objectContaining({
          message: expect.stringMatching(/linux\.kernel_modules.*missing.*FATAL: Module missing not found/) as string,
        }) as Error,
      });
      expect(harness.remains(run)).toEqual([]);
      await expect(loadModules('x', { loaded: dir, fileSystems: '/none', modprobe: undefined })).rejects.toThrow(
        /no modprobe/,
      );
    });
  });

  test('namespaces of many maps do not all stay open, and the latest do', async () => {
    const namespaces = new UserNamespaces();
    const own = readlinkSync('/proc/self/ns/user');
    const open = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          const target = readlinkSync(`/proc/self/fd/${fd}`);
          return target.startsWith('user:') && target !== own;
        } catch {
          return false;
        }
      }).length;
    const before = open();
    const mapAt = (index: number): readonly IdMapEntry[] => [
      { isuid: true, isgid: true, hostid: 200_000 + index * 1000, nsid: 0, maprange: 1000 },
    ];
    try {
      for (let index = 0; index < 40; index++) {
        expect(readlinkSync(`/proc/self/fd/${await namespaces.fdOf(mapAt(index))}`)).toMatch(/^user:/);
      }
      expect(open() - before).toBeLessThanOrEqual(32);
      const again = await namespaces.fdOf(mapAt(39));
      expect(await namespaces.fdOf(mapAt(39))).toBe(again);
    } finally {
      await namespaces.close();
    }
    expect(open()).toBe(before);
  });

  describe('where the kernel cannot mount through id maps', () => {
    let shifting: RuntimeDriver;
    const mapAt = (hostid: number): readonly IdMapEntry[] => [
      { isuid: true, isgid: false, hostid, nsid: 0, maprange: 65_536 },
      { isuid: false, isgid: true, hostid, nsid: 0, maprange: 65_536 },
    ];
    const plain: readonly IdMapEntry[] = [];
    const owner = (path: string): readonly number[] => [lstatSync(path).uid, lstatSync(path).gid];
    const runOnce = async (run: RunConfig, look: string): Promise<string> => {
      await shifting.start(run, never);
      try {
        const result = await execIn(shifting, run.name, ['sh', '-c', look]);
        return `${result.stdout}${result.stderr}`.trim();
      } finally {
        await shifting.stop(run.name, { force: true }, never);
      }
    };

    beforeEach(async () => {
      shifting = await openLxcRuntime({ dir: harness.dir, log: silentLog, mappedMounts: false });
    });
    afterEach(() => shifting.close());

    test('files are shifted to each map, keep their ids inside, and are shifted back for a privileged container', async () => {
      const run = await prepare();
      const file = join(run.rootfs, 'root/file');
      writeFileSync(file, '');
      execFileSync('sh', ['-c', 'chown 7:8 "$1"; chmod 4755 "$1"', 'sh', file]);
      const look = 'stat -c %u:%g:%a /root/file /etc';
      const [a, b] = [mapAt(165_536), mapAt(5_000_000)];
      const steps = [
        { idmap: a, fileMaps: [plain] },
        { idmap: b, fileMaps: [a, b] },
        { idmap: plain, fileMaps: [b, plain] },
        { idmap: a, fileMaps: [plain, b] },
      ];
      for (const step of steps) {
        expect(await runOnce({ ...run, ...step }, look)).toBe('7:8:4755\n0:0:755');
        const base = step.idmap[0]?.hostid ?? 0;
        expect(owner(file)).toEqual([base + 7, base + 8]);
      }
    });

    test('an interrupted shift is finished, whatever map is wanted by then', async () => {
      const run = await prepare();
      const [a, b, c] = [mapAt(165_536), mapAt(5_000_000), mapAt(6_000_000)];
      // Shifted from a, through the ids inside, to b, when the power failed: every file is in another state.
      execFileSync('sh', [
        '-c',
        'chown -hR 165536:165536 "$1"; chown 165541:165542 "$1/etc/passwd"; chown 0:0 "$1/etc"; chown -hR 5000000:5000000 "$1/bin"',
        'sh',
        run.rootfs,
      ]);
      const look = 'stat -c %u:%g /etc/passwd /etc /bin /root';
      expect(await runOnce({ ...run, idmap: c, fileMaps: [a, b, c] }, look)).toBe('5:6\n0:0\n0:0\n0:0');
      expect(owner(join(run.rootfs, 'etc/passwd'))).toEqual([6_000_005, 6_000_006]);
    });

    test('security.protection.shift refuses a start that would change files, and no other', async () => {
      const run = await prepare({ config: { 'security.protection.shift': 'true' } });
      const [a, b] = [mapAt(165_536), mapAt(5_000_000)];
      await expect(shifting.start({ ...run, idmap: a, fileMaps: [plain] }, never)).rejects.toMatchObject({
        code: 'Failed',
        cause: expect.objectContaining({
          message: expect.stringContaining('security.protection.shift forbids') as string,
        }) as Error,
      });
      expect(statSync(run.rootfs).uid).toBe(0);
      expect(await runOnce({ ...run, idmap: a, fileMaps: [plain], config: {} }, 'id -u')).toBe('0');
      expect(await runOnce({ ...run, idmap: a, fileMaps: [a] }, 'id -u')).toBe('0');
      await expect(shifting.start({ ...run, idmap: b, fileMaps: [a, b] }, never)).rejects.toThrow();
      expect(statSync(run.rootfs).uid).toBe(165_536);
    });

    test('a host path with shift is refused: the files of the host stay as they are', async () => {
      const run = await prepare();
      const source = join(harness.base, `host-${run.name}`);
      mkdirSync(source);
      const mount = { device: 'd', source, target: '/srv', kind: 'dir', idmapped: true, hostPath: true } as const;
      const mounts = [{ ...mount, readonly: false, optional: false, recursive: false }];
      await expect(shifting.start({ ...run, mounts }, never)).rejects.toMatchObject({
        cause: expect.objectContaining({ message: expect.stringContaining('shift needs that') as string }) as Error,
      });
      expect(statSync(source).uid).toBe(0);
    });
  });
});

/** A 32-bit x86 Linux program that exits with 42, or crashes if the kernel denies it. */
function tiny32(): Buffer {
  const code = Buffer.from([0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80]);
  const base = 0x0804_8000;
  const header = Buffer.alloc(84);
  header.write('\x7fELF\x01\x01\x01', 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(3, 18);
  for (const [at, value] of [
    [20, 1],
    [24, base + 84],
    [28, 52],
    [52, 1],
    [60, base],
    [64, base],
    [68, 84 + code.length],
    [72, 84 + code.length],
    [76, 5],
    [80, 4096],
  ] as const) {
    header.writeUInt32LE(value, at);
  }
  for (const [at, value] of [
    [40, 52],
    [42, 32],
    [44, 1],
  ] as const) {
    header.writeUInt16LE(value, at);
  }
  return Buffer.concat([header, code]);
}
