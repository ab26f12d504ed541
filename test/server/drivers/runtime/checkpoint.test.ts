// Checkpoints on both runtimes: the common suite, on LXC with stand-ins for CRIU, and with CRIU itself if it works; parsing of its output,
// and its command lines.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CriuProbe, reasonsIn, unchangedPercent } from '../../../../server/drivers/runtime/checkpoint/criu.ts';
import { openLxcRuntime } from '../../../../server/drivers/runtime/lxc/lxc.ts';
import {
  bindTargets,
  dumpArgv,
  preDumpArgv,
  restoreArgv,
} from '../../../../server/drivers/runtime/checkpoint/commands.ts';
import type { RuntimeDriver } from '../../../../server/drivers/runtime/driver.ts';
import type { SimRuntime } from '../../../../server/drivers/runtime/sim/sim.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { checkpointConformance } from '../../../conformance/runtime-checkpoints.ts';
import { fakeCheckpoint } from '../../../support/drivers/fake-checkpoint.ts';
import { lxcHarness, lxcTestsMissing } from '../../../support/drivers/runtime-lxc.ts';
import { simHarness } from '../../../support/drivers/runtime-sim.ts';
import { until as within } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

/** However busy the machine is. */
const until = (condition: Parameters<typeof within>[0]): Promise<void> => within(condition, 25_000);

const never = new AbortController().signal;

checkpointConformance('the simulated runtime', async () => {
  const harness = await simHarness();
  let current: SimRuntime | undefined;
  return {
    ...harness,
    open: async () => {
      current = (await harness.open()) as SimRuntime;
      return current;
    },
    fail: (kind, error) => {
      current?.faults.inject({ operation: kind === 'dump' ? 'checkpoint' : 'restore', error });
    },
    works: () => current?.faults.clear(),
    rounds: true,
  };
});

const missing = await lxcTestsMissing();
const real = await new CriuProbe({}).available();
if (missing === undefined) {
  const noConsole = { 'raw.lxc': 'lxc.console.path = none' };
  checkpointConformance('the LXC runtime with stand-ins for CRIU', async () => {
    const harness = await lxcHarness('q');
    const fake = fakeCheckpoint(join(harness.base, 'tools'));
    return {
      ...harness,
      open: () => openLxcRuntime({ dir: harness.dir, log: silentLog, programs: fake.programs }),
      prepare: async (name, kind) => ({ ...(await harness.prepare(name, kind)), config: noConsole }),
      fail: (kind, reason) =>
        fake.fail(kind, '(00.1) Error (criu/util.c:657): exited, status=1', `(00.2) Error (criu/x.c:1): ${reason}`),
      works: () => fake.works(),
      rounds: true,
    };
  });
  if (real.ok) {
    checkpointConformance('the LXC runtime with CRIU', async () => {
      const harness = await lxcHarness('r');
      return {
        ...harness,
        // Without interfaces: not every CRIU can restore them on every kernel.
        prepare: async (name, kind) => ({ ...(await harness.prepare(name, kind)), config: noConsole, nics: [] }),
        fail: undefined,
        works: () => {},
        rounds: false,
      };
    });
  } else console.log(`skipped: checkpoints with CRIU itself: ${real.reason}`);
} else {
  console.log(`skipped: checkpoints of LXC containers: ${missing}`);
  describe.skip(`checkpoints of LXC containers (${missing})`, () => test('needs a host that can run LXC', () => {}));
}

describe.skipIf(missing !== undefined)('around the tool', () => {
  test('a daemon waits for the tool of a dead predecessor to finish', async () => {
    const harness = await lxcHarness('o');
    const fake = fakeCheckpoint(join(harness.base, 'tools'));
    const open = (): Promise<RuntimeDriver> =>
      openLxcRuntime({ dir: harness.dir, log: silentLog, programs: fake.programs });
    const first = await open();
    try {
      const run = { ...(await harness.prepare('o1')), config: { 'raw.lxc': 'lxc.console.path=none' } };
      const { initPid } = await first.start(run, never);
      await first.close();
      fake.slow(1);
      const dir = join(harness.base, 'state');
      mkdirSync(join(dir, 'images'), { recursive: true });
      const freezeGroup = `/sys/fs/cgroup/${harness.paths.group('o1')}`;
      const place = { images: join(dir, 'images'), initPid, freezeGroup, binds: [], isStopped: true };
      const [program = '', ...args] = dumpArgv(fake.programs.criu ?? '', place);
      writeFileSync(join(dir, 'criu.conf'), '');
      const env = { ...process.env, CRIU_CONFIG_FILE: join(dir, 'criu.conf') };
      const child = spawn(program, args, { detached: true, stdio: 'ignore', env });
      child.unref();
      await until(() => readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').includes('--tree'));
      const second = await open();
      await second.recover(['o1']);
      expect([second.probe('o1').status, second.checkpoints?.isComplete(dir)]).toEqual(['stopped', true]);
      await second.close();
    } finally {
      await harness.cleanup();
    }
  });

  test('a dump that meets a process which just ends is repeated, a few times at most', async () => {
    const harness = await lxcHarness('s');
    const fake = fakeCheckpoint(join(harness.base, 'tools'));
    const driver = await openLxcRuntime({ dir: harness.dir, log: silentLog, programs: fake.programs });
    try {
      await driver.start({ ...(await harness.prepare('s1')), config: { 'raw.lxc': 'lxc.console.path=none' } }, never);
      const dir = join(harness.base, 'state');
      mkdirSync(dir);
      const store = async (): Promise<unknown> =>
        driver.checkpoints?.checkpoint('s1', { dir, leave: 'stopped' }, never).catch((error: unknown) => error);
      const ending =
        '(00.07) Error (compel/src/lib/infect.c:311): Unseizable non-zombie 3459 found, state R, err -1/10';
      fake.failFirst(9, ending);
      expect(String(((await store()) as Error).cause)).toContain('CRIU: Unseizable non-zombie 3459 found');
      expect([driver.probe('s1').status, driver.checkpoints?.isComplete(dir)]).toEqual(['running', false]);
      fake.failFirst(4, '(00.07) Error (criu/seize.c:275): zombie found while seizing');
      expect(await store()).toBeUndefined();
      expect([driver.probe('s1').status, driver.checkpoints?.isComplete(dir)]).toEqual(['stopped', true]);
    } finally {
      await driver.close();
      await harness.cleanup();
    }
  });

  test('a container with a console is not checkpointed, since it could not be restored; nor any without the tool', async () => {
    const harness = await lxcHarness('n');
    const fake = fakeCheckpoint(join(harness.base, 'tools'));
    const driver = await openLxcRuntime({ dir: harness.dir, log: silentLog, programs: fake.programs });
    try {
      await driver.start(await harness.prepare('n1'), never);
      const dir = join(harness.base, 'state');
      mkdirSync(dir);
      const store = async (): Promise<Error> =>
        (await driver.checkpoints
          ?.checkpoint('n1', { dir, leave: 'stopped' }, never)
          .catch((error: unknown) => error)) as Error;
      expect(await store()).toMatchObject({ code: 'NotSupported' });
      expect(String((await store()).cause)).toContain('raw.lxc');
      await expect(restoredFrom(driver, join(harness.base, 'carried'))).resolves.toMatch(/does not lie beside it/);
      rmSync(fake.programs.criu ?? '');
      expect(String((await store()).cause)).toMatch(/criu/i);
      expect(driver.probe('n1').status).toBe('running');
    } finally {
      await driver.close();
      await harness.cleanup();
    }
  });
});

/** The error of restoring a directory made elsewhere whose parent is outside. */
async function restoredFrom(driver: RuntimeDriver, dir: string): Promise<string> {
  mkdirSync(join(dir, 'last/images'), { recursive: true });
  mkdirSync(join(dir, 'round/images'), { recursive: true, mode: 0o700 });
  mkdirSync(join(dir, 'else/images'), { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, 'last/images/stats-dump'), '');
  symlinkSync('../../round/images', join(dir, 'last/images/parent'));
  symlinkSync('/etc', join(dir, 'round/images/parent'));
  const run = { name: 'n2', hostname: 'n2', rootfs: dir, logDir: dir, architecture: 'x86_64', idmap: [] };
  const restored = driver.checkpoints?.restore(
    { ...run, config: {}, nics: [], mounts: [] },
    { dir: join(dir, 'last') },
    never,
  );
  const failed = await restored?.then(
    () => 'restored',
    (error: unknown) => String(error),
  );
  expect(statSync(join(dir, 'round/images')).mode & 0o777).toBe(0o755);
  expect(statSync(join(dir, 'else/images')).mode & 0o777).toBe(0o700);
  return failed ?? '';
}

describe('CRIU', () => {
  const dir = tempFolder('gantry-criu-');

  test('CRIU on this host works, or there is a reason', () => {
    if (real.ok) return;
    expect(real.reason.length).toBeGreaterThan(10);
    expect(real.reason).not.toContain('exited, status');
  });

  test('CRIU is checked once, and again when it was replaced', async () => {
    const fake = fakeCheckpoint(join(dir, 'probe'));
    const criu = fake.programs.criu ?? '';
    const asked = join(dir, 'asked');
    const tell = (how: string): void => {
      writeFileSync(criu, `#!/bin/sh\necho x >> ${asked}\n${how}\n`);
      utimesSync(criu, new Date(), new Date(statSync(criu).mtimeMs + 1000));
    };
    const probe = new CriuProbe(fake.programs);
    tell(
      "echo 'Error (criu/vdso.c:381): vdso: Unexpected bounds' >&2; echo 'Error (criu/util.c:1): exited, status=1' >&2; exit 1",
    );
    const refused = { ok: false, reason: 'CRIU does not work on this host: vdso: Unexpected bounds' };
    expect([await probe.available(), await probe.available()]).toEqual([refused, refused]);
    expect(readFileSync(asked, 'utf8')).toBe('x\nx\n');
    tell('exit 0; # another');
    expect([await probe.available(), await probe.available()]).toEqual([{ ok: true }, { ok: true }]);
    expect(readFileSync(asked, 'utf8')).toBe('x\nx\nx\n');
  });

  test('CRIU 3.17 of Debian 12, which does not know network-lock skip, works without that setting', async () => {
    const fake = fakeCheckpoint(join(dir, 'older'));
    const criu = fake.programs.criu ?? '';
    const probe = new CriuProbe(fake.programs);
    expect(await probe.settings(criu)).toBe('network-lock skip\n');
    const refusal = "echo 'Error (criu/config.c:1033): Invalid value for --network-lock: skip' >&2; exit 1";
    writeFileSync(criu, `#!/bin/sh\ncase "$*" in *skip*) ${refusal};; esac\n`);
    expect(await probe.available()).toEqual({ ok: true });
    expect(await probe.settings(criu, { previous: '../../r1/images' })).toBe(
      'track-mem\nprev-images-dir ../../r1/images\n',
    );
  });

  test('CRIU restores processes into the group that is named, whatever group they were dumped from', async () => {
    const fake = fakeCheckpoint(join(dir, 'group'));
    const probe = new CriuProbe(fake.programs);
    expect(await probe.settings(fake.programs.criu ?? '', { group: '/gantry/a/ns' })).toBe(
      'network-lock skip\ncgroup-root /gantry/a/ns\n',
    );
  });

  test('a dump names the bind mounts of the configuration as lxc-checkpoint does', () => {
    const config = [
      'lxc.mount.auto = proc:rw',
      'lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file,optional 0 0',
      'lxc.mount.entry = tmpfs run tmpfs size=1m 0 0',
      '  lxc.mount.entry=/srv/a\\040b mnt/a\\040b none rbind,ro 0 0',
    ].join('\n');
    expect(bindTargets(config)).toEqual(['dev/fuse', 'mnt/a b']);
    const place = { images: '/d/images', initPid: 7, freezeGroup: '/sys/fs/cgroup/gantry/x/c', binds: ['mnt/a b'] };
    expect(dumpArgv('/usr/sbin/criu', { ...place, isStopped: false, script: '/s' }).join(' ')).toBe(
      '/usr/sbin/criu dump --tree=7 --images-dir=/d/images --log-file=dump.log --tcp-established --file-locks --link-remap --force-irmap' +
        ' --skip-in-flight --manage-cgroups=full --enable-external-sharing --enable-external-masters --enable-fs=hugetlbfs' +
        ' --enable-fs=tracefs --ext-mount-map=auto --freeze-cgroup=/sys/fs/cgroup/gantry/x/c --ext-mount-map=/mnt/a b:mnt/a b' +
        ' --leave-running --action-script=/s',
    );
    expect(dumpArgv('criu', { ...place, isStopped: true }).at(-1)).toBe('--ext-mount-map=/mnt/a b:mnt/a b');
  });

  test('a missing CRIU, or one without its tools, is named', async () => {
    const fake = fakeCheckpoint(join(dir, 'lacking'));
    const gone = join(dir, 'gone');
    expect(await new CriuProbe({ ...fake.programs, criu: join(gone, 'criu') }).available()).toMatchObject({
      ok: false,
    });
    expect(existsSync(gone)).toBe(false);
    const { programs } = fakeCheckpoint(join(dir, 'lonely'));
    for (const tool of ['iptables-save', 'ip6tables-restore']) rmSync(join(dir, 'lonely', tool));
    const answer = await new CriuProbe(programs).available();
    if (!answer.ok) expect(answer.reason).toMatch(/iptables-save.*package iptables/);
  });

  test.each([
    ['', ''],
    ['(00.1) Warn  (a.c:1): something\nplain text\n', ''],
    ['(00.1) Error (criu/net.c:2): net: first\n(00.2) Error (criu/x.c:1): second\n', 'net: first; second'],
    ['     1: Error (criu/net.c:2): same\n     1: Error (criu/net.c:3): same\n', 'same'],
    ["Error (criu/util.c:1): rlimit: Can't setup RLIMIT_NOFILE for self: x\nError (a.c:1): real", 'real'],
    [Array.from({ length: 9 }, (_, at) => `Error (a.c:1): e${at}`).join('\n'), 'e5; e6; e7; e8'],
  ])('of the log %j the reason is %j', (log, reason) => {
    expect(reasonsIn(log)).toBe(reason);
  });

  test('the statistics give the share of unchanged pages, 0 for an invalid file', () => {
    const file = (...fields: number[]): Uint8Array =>
      Uint8Array.from([...Array.from({ length: 12 }, () => 0), 0x0a, fields.length, ...fields]);
    expect(unchangedPercent(file(0x28, 100, 0x30, 75, 0x38, 25))).toBe(75);
    // Fields of two bytes: 300 scanned, 150 skipped.
    expect(unchangedPercent(file(0x08, 1, 0x28, 0xac, 0x02, 0x30, 0x96, 0x01))).toBe(50);
    expect(unchangedPercent(file(0x28, 0, 0x30, 0))).toBe(0);
    for (const bytes of [[], [1, 2, 3], Array.from({ length: 40 }, () => 255)]) {
      expect(unchangedPercent(Uint8Array.from(bytes))).toBe(0);
    }
  });

  test('CRIU restores through LXC with paths and without a shell', () => {
    const place = { lxcPath: '/run/x', key: 'a@27b', images: '/s/images', toolLog: '/s/lxc-restore.log' };
    expect(restoreArgv('/usr/bin/lxc-checkpoint', place).join(' ')).toBe(
      '/usr/bin/lxc-checkpoint -q -P /run/x -n a@27b -D /s/images -o /s/lxc-restore.log -l WARN --restore',
    );
    expect(preDumpArgv('/usr/sbin/criu', 7, '/s/images')).toEqual(
      expect.arrayContaining(['pre-dump', '--tree', '7', '--images-dir', '/s/images', '--track-mem']),
    );
  });
});
