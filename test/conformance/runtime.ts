// The suite of all runtime drivers; each driver's test file only says how to open it and how to act from inside.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunConfig, RuntimeDriver, RuntimeExit } from '../../server/drivers/runtime/driver.ts';
import type { RuntimeCommand, RuntimeProcess } from '../../server/drivers/runtime/command.ts';
import { bootSeconds } from '../../server/drivers/runtime/guard/guard-line.ts';
import { startUntilLine } from '../../server/drivers/runtime/guard/start-until.ts';
import { readBootId } from '../../server/lib/shared/processes.ts';
import { until } from '../support/until.ts';
import { execIn } from '../support/drivers/exec-in.ts';

/** `deaf` never shuts down when asked, `short-lived` ends by itself at once, `with-console` has a shell on its console. */
export type RuntimeTestKind = 'ordinary' | 'deaf' | 'short-lived' | 'with-console';

export interface RuntimeHarness {
  /** Opens the driver on the same directory each time. */
  open(): Promise<RuntimeDriver>;
  /** A fresh container. */
  prepare(name: string, kind?: RuntimeTestKind): Promise<RunConfig>;
  poweroffInside(driver: RuntimeDriver, name: string): Promise<void>;
  rebootInside(driver: RuntimeDriver, name: string): Promise<void>;
  /** Lets the container end or reboot while no driver is open. */
  whileDown(name: string, target: 'stop' | 'reboot'): Promise<void>;
  /** The current memory limit, in bytes; undefined = none. */
  memoryLimit(driver: RuntimeDriver, name: string): number | undefined;
  processLimit(driver: RuntimeDriver, name: string): number | undefined;
  /** Everything of this container that remains on the host: processes, interfaces, cgroups. */
  remains(run: RunConfig): readonly string[];
  /** Makes the next start of this prepared container fail half way; the reason must appear in the error. */
  sabotage(run: RunConfig): Promise<{ readonly run: RunConfig; readonly reason: RegExp }>;
  cleanup(): Promise<void>;
}

const never = new AbortController().signal;
export const oddNames = [`a"b'c`, '$HOME', '*', '-n', '..x', '{a;b|c}', '&<>`~#%', 'x'.repeat(64), 'UPPER', 'upper'];

export function runtimeConformance(title: string, makeHarness: () => Promise<RuntimeHarness>): void {
  describe(title, () => {
    let harness: RuntimeHarness;
    let driver: RuntimeDriver;
    let exits: RuntimeExit[];
    const used = new Set<string>();

    const listen = (to: RuntimeDriver): void => {
      exits = [];
      to.onExit((exit) => exits.push(exit));
    };
    const prepare = async (name: string, kind?: RuntimeTestKind): Promise<RunConfig> => {
      used.add(name);
      return harness.prepare(name, kind);
    };
    const started = async (name: string, changes: Partial<RunConfig> = {}): Promise<RunConfig> => {
      const run = { ...(await prepare(name)), ...changes };
      await driver.start(run, never);
      return run;
    };
    const kill = async (name: string): Promise<void> => driver.stop(name, { force: true }, never);
    const reopen = async (names: readonly string[]): Promise<void> => {
      await driver.close();
      driver = await harness.open();
      listen(driver);
      await driver.recover(names);
    };

    beforeAll(async () => {
      harness = await makeHarness();
    });
    afterAll(async () => {
      await harness?.cleanup();
    });
    beforeEach(async () => {
      driver = await harness.open();
      listen(driver);
    });
    afterEach(async () => {
      for (const name of used) {
        if (driver.probe(name).status !== 'stopped') await kill(name).catch(() => {});
        await driver.forget(name).catch(() => {});
      }
      used.clear();
      await driver.close();
    });

    describe('start and stop', () => {
      test('a started container runs, with a pid', async () => {
        const run = await prepare('c1');
        expect(driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
        const { initPid } = await driver.start(run, never);
        expect(initPid).toBeGreaterThan(1);
        expect(driver.probe('c1')).toEqual({ status: 'running', initPid });
      });

      test('starting a running container is refused with InUse and harms nothing', async () => {
        const run = await started('c1');
        const before = driver.probe('c1');
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
        expect(driver.probe('c1')).toEqual(before);
        expect(exits).toEqual([]);
      });

      test('a container begins, and reboots from inside, only before the time that limits its start', async () => {
        const prepared = await prepare('c1');
        const startUntilFile = join(prepared.rootfs, '../start-until');
        const run = { ...prepared, startUntilFile };
        const limit = (seconds: number, bootId = readBootId()): void =>
          writeFileSync(startUntilFile, startUntilLine(bootSeconds() + seconds, bootId));
        for (const tooLate of [() => limit(-1), () => limit(3_600, 'of-another-boot')]) {
          tooLate();
          await expect(driver.start(run, never)).rejects.toMatchObject({
            code: 'Failed',
            cause: { message: expect.stringContaining('its deadline for starting') },
          });
          expect([driver.probe('c1').status, harness.remains(run)]).toEqual(['stopped', []]);
        }
        limit(3_600);
        await driver.start(run, never);
        const { initPid } = driver.probe('c1');
        await harness.rebootInside(driver, 'c1');
        await until(() => exits.length > 0);
        expect(exits).toEqual([{ name: 'c1', target: 'reboot' }]);
        expect(driver.probe('c1').initPid).not.toBe(initPid);
        limit(-1);
        await harness.rebootInside(driver, 'c1');
        // A driver that mistakes the waiting process for init announces its end later.
        await until(() => exits.at(-1)?.target === 'stop');
        expect(driver.probe('c1').status).toBe('stopped');
        rmSync(startUntilFile);
        await driver.start(run, never);
        expect(driver.probe('c1').status).toBe('running');
      });

      test('exactly one of two starts at once wins', async () => {
        const run = await prepare('c1');
        const results = await Promise.allSettled([driver.start(run, never), driver.start(run, never)]);
        expect(results.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
        expect(driver.probe('c1').status).toBe('running');
      });

      test('a clean stop ends the container and is announced once, before it resolves', async () => {
        const run = await started('c1');
        await driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
        expect(driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
        expect(harness.remains(run)).toEqual([]);
      });

      test('a forced stop ends a container that ignores requests', async () => {
        const run = await prepare('deaf', 'deaf');
        await driver.start(run, never);
        await kill('deaf');
        expect(exits).toEqual([{ name: 'deaf', target: 'stop' }]);
        expect(harness.remains(run)).toEqual([]);
      });

      test('a clean stop that takes too long throws Timeout and the container keeps running', async () => {
        const run = await prepare('deaf', 'deaf');
        const { initPid } = await driver.start(run, never);
        await expect(driver.stop('deaf', { force: false, timeoutMs: 150 }, never)).rejects.toMatchObject({
          code: 'Timeout',
        });
        expect(driver.probe('deaf')).toEqual({ status: 'running', initPid });
        expect(exits).toEqual([]);
      });

      test('a forced stop succeeds while a clean one is waiting, and ends both', async () => {
        await driver.start(await prepare('deaf', 'deaf'), never);
        const clean = driver.stop('deaf', { force: false }, never);
        await kill('deaf');
        await clean;
        expect(exits).toEqual([{ name: 'deaf', target: 'stop' }]);
      });

      test('an aborted stop rejects with the reason and the container keeps running', async () => {
        await driver.start(await prepare('deaf', 'deaf'), never);
        const abort = new AbortController();
        const stopping = driver.stop('deaf', { force: false }, abort.signal);
        abort.abort(new Error('no longer wanted'));
        await expect(stopping).rejects.toThrow('no longer wanted');
        expect(driver.probe('deaf').status).toBe('running');
      });

      test('stopping a stopped container is NotFound', async () => {
        await expect(kill('nobody')).rejects.toMatchObject({ code: 'NotFound' });
        await started('c1');
        await kill('c1');
        await expect(kill('c1')).rejects.toMatchObject({ code: 'NotFound' });
      });

      test('a container can be started again right after its stop, many times', async () => {
        const run = await prepare('c1');
        const pids = new Set<number>();
        for (let round = 0; round < 5; round++) {
          pids.add((await driver.start(run, never)).initPid);
          await driver.stop('c1', { force: round % 2 === 0, timeoutMs: 10_000 }, never);
        }
        expect(pids.size).toBe(5);
        expect(exits).toHaveLength(5);
        expect(harness.remains(run)).toEqual([]);
      });

      test('an aborted start rejects with the reason and leaves nothing', async () => {
        const run = await prepare('c1');
        const abort = new AbortController();
        abort.abort(new Error('no longer wanted'));
        await expect(driver.start(run, abort.signal)).rejects.toThrow('no longer wanted');
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });

      test('eight containers start in parallel, and stop in parallel', async () => {
        const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
        const runs = await Promise.all(names.map(async (name) => prepare(name)));
        const pids = await Promise.all(runs.map(async (run) => (await driver.start(run, never)).initPid));
        expect(new Set(pids).size).toBe(8);
        expect(names.map((name) => driver.probe(name).status)).toEqual(names.map(() => 'running'));
        await Promise.all(names.map(async (name) => kill(name)));
        expect(exits.map((exit) => exit.name).sort()).toEqual(names);
        expect(runs.flatMap((run) => harness.remains(run))).toEqual([]);
      });

      test('names with odd characters and of 64 characters work without collisions', async () => {
        for (const name of oddNames) await started(name);
        const pids = new Set(oddNames.map((name) => driver.probe(name).initPid));
        expect(pids.size).toBe(oddNames.length);
        for (const name of oddNames) {
          const result = await execIn(driver, name, ['echo', '$HOME * "x"']);
          expect(result).toMatchObject({ exitCode: 0, stdout: '$HOME * "x"\n' });
        }
        for (const name of oddNames) await kill(name);
        expect(exits.map((exit) => exit.name)).toEqual(oddNames);
      });
    });

    describe('a start that fails', () => {
      test('a start that fails for a missing rootfs says so and leaves nothing', async () => {
        const run = { ...(await prepare('c1')), rootfs: '/nonexistent/rootfs' };
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'Failed' });
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });

      test('a start that fails half way gives the first real reason and leaves nothing; the next start works', async () => {
        const good = await prepare('c1');
        const { run, reason } = await harness.sabotage(good);
        const error: unknown = await driver.start(run, never).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'Failed' });
        expect(String((error as Error).cause)).toMatch(reason);
        expect(driver.probe('c1')).toEqual({ status: 'stopped', initPid: 0 });
        expect(harness.remains(run)).toEqual([]);
        expect(exits).toEqual([]);
        await driver.start(good, never);
        expect(driver.probe('c1').status).toBe('running');
      });

      test('a start whose init ends at once says so, or announces the exit', async () => {
        const run = await prepare('brief', 'short-lived');
        const error: unknown = await driver.start(run, never).catch((thrown: unknown) => thrown);
        if (error instanceof Error) expect(error).toMatchObject({ code: 'Failed' });
        else await until(() => exits.length === 1);
        expect(driver.probe('brief').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });

      test.each([
        ['a line break in a value', { 'environment.FOO': 'a\nlxc.cap.drop =' }],
        ['a refused key in raw.lxc', { 'raw.lxc': 'lxc.net.0.type = phys' }],
        ['a line of raw.lxc without "="', { 'raw.lxc': 'lxc.aa_profile' }],
        ['a bad memory size', { 'limits.memory': '12 parsecs' }],
        ['cpus that do not exist', { 'limits.cpu': '4000-4001' }],
      ])('%s is refused with Invalid', async (_what, config) => {
        const run = await prepare('c1');
        const bad = { ...run, config: { ...run.config, ...config } };
        await expect(driver.start(bad, never)).rejects.toMatchObject({ code: 'Invalid' });
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });
    });

    describe('freeze', () => {
      test('freezes and unfreezes, both idempotent, same init', async () => {
        await started('c1');
        const { initPid } = driver.probe('c1');
        await driver.freeze('c1');
        await driver.freeze('c1');
        expect(driver.probe('c1')).toEqual({ status: 'frozen', initPid });
        await driver.unfreeze('c1');
        await driver.unfreeze('c1');
        expect(driver.probe('c1')).toEqual({ status: 'running', initPid });
      });

      test('a frozen container can be stopped by force', async () => {
        const run = await started('c1');
        await driver.freeze('c1');
        await kill('c1');
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });

      test('a frozen container is thawed for a clean stop', async () => {
        await started('c1');
        await driver.freeze('c1');
        await driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
      });

      test('a stopped container cannot be frozen', async () => {
        await expect(driver.freeze('nobody')).rejects.toMatchObject({ code: 'NotFound' });
        await expect(driver.unfreeze('nobody')).rejects.toMatchObject({ code: 'NotFound' });
      });

      test('a frozen container stays frozen over a restart of the daemon', async () => {
        await started('c1');
        await driver.freeze('c1');
        await reopen(['c1']);
        expect(driver.probe('c1').status).toBe('frozen');
      });
    });

    describe('events inside', () => {
      test('a shutdown from inside is announced as a stop, once, with everything gone', async () => {
        const run = await started('c1');
        await harness.poweroffInside(driver, 'c1');
        await until(() => exits.length > 0);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
      });

      test('a reboot from inside is announced as a reboot, and it runs with a new init', async () => {
        await started('c1');
        const before = driver.probe('c1').initPid;
        await harness.rebootInside(driver, 'c1');
        await until(() => exits.length > 0);
        expect(exits).toEqual([{ name: 'c1', target: 'reboot' }]);
        const after = driver.probe('c1');
        expect(after.status).toBe('running');
        expect(after.initPid).not.toBe(before);
        expect((await execIn(driver, 'c1', ['true'])).exitCode).toBe(0);
      });

      test('a reboot waits for the work between the boots, even if that fails', async () => {
        await started('c1');
        const before = driver.probe('c1').initPid;
        const seen: unknown[] = [];
        driver.betweenBoots(async (name) => {
          await Promise.resolve();
          seen.push([name, exits.length, driver.probe('c1').initPid === before]);
        });
        driver.betweenBoots(() => Promise.reject(new Error('as if it could not')));
        await harness.rebootInside(driver, 'c1');
        await until(() => exits.length > 0);
        expect(seen).toEqual([['c1', 0, true]]);
        expect(driver.probe('c1').initPid).not.toBe(before);
      });

      test('a rebooted container can be stopped', async () => {
        const run = await started('c1');
        await harness.rebootInside(driver, 'c1');
        await until(() => exits.length > 0);
        await driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
        expect(exits.map((exit) => exit.target)).toEqual(['reboot', 'stop']);
        expect(harness.remains(run)).toEqual([]);
      });

      test('limits changed while running still apply after a reboot from inside', async () => {
        const run = await started('c1');
        await driver.updateLimits('c1', { ...run.config, 'limits.memory': '96MiB' });
        await harness.rebootInside(driver, 'c1');
        await until(() => exits.length > 0);
        expect(harness.memoryLimit(driver, 'c1')).toBe(96 * 1024 * 1024);
      });
    });

    describe('a restart of the daemon', () => {
      test('finds running containers again and announces nothing', async () => {
        await started('c1');
        const before = driver.probe('c1');
        await reopen(['c1', 'never-started']);
        expect(driver.probe('c1')).toEqual(before);
        expect(driver.probe('never-started').status).toBe('stopped');
        expect(exits).toEqual([]);
        expect((await execIn(driver, 'c1', ['true'])).exitCode).toBe(0);
        await driver.stop('c1', { force: false, timeoutMs: 10_000 }, never);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
      });

      test('a restart does not start a second copy of a running container', async () => {
        const run = await started('c1');
        await reopen(['c1']);
        await expect(driver.start(run, never)).rejects.toMatchObject({ code: 'InUse' });
      });

      test('a restart notices a container that ended in between, once', async () => {
        const run = await started('c1');
        await driver.close();
        await harness.whileDown('c1', 'stop');
        await reopen(['c1']);
        expect(exits).toEqual([{ name: 'c1', target: 'stop' }]);
        expect(driver.probe('c1').status).toBe('stopped');
        expect(harness.remains(run)).toEqual([]);
        await reopen(['c1']);
        expect(exits).toEqual([]);
      });

      test('a restart notices a container that rebooted in between', async () => {
        await started('c1');
        const before = driver.probe('c1').initPid;
        await driver.close();
        await harness.whileDown('c1', 'reboot');
        await reopen(['c1']);
        expect(exits).toEqual([{ name: 'c1', target: 'reboot' }]);
        expect(driver.probe('c1').status).toBe('running');
        expect(driver.probe('c1').initPid).not.toBe(before);
      });

      test('recovering twice changes nothing', async () => {
        await started('c1');
        await reopen(['c1']);
        const before = driver.probe('c1');
        await driver.recover(['c1']);
        expect(driver.probe('c1')).toEqual(before);
        expect(exits).toEqual([]);
      });

      test('a closed driver calls no listener', async () => {
        await started('c1');
        const old = exits;
        await reopen(['c1']);
        await kill('c1');
        expect(old).toEqual([]);
        expect(exits).toHaveLength(1);
      });
    });

    describe('figures and limits', () => {
      test('metrics are plausible and change', async () => {
        const run = await started('c1');
        // The kernel updates memory statistics every few seconds.
        await until(async () => (await driver.metrics('c1')).usage().memory.rss > 0);
        const first = await driver.metrics('c1');
        expect(first.initPid).toBe(driver.probe('c1').initPid);
        expect(first.processes).toBeGreaterThanOrEqual(1);
        expect(first.memory.usage).toBeGreaterThan(0);
        expect(first.memory.usage_peak).toBeGreaterThanOrEqual(first.memory.usage);
        expect(first.network['lo']).toMatchObject({ type: 'loopback' });
        const usage = first.usage();
        const seconds = usage.cpus.reduce(
          (sum, { userSeconds, systemSeconds }) => sum + userSeconds + systemSeconds,
          0,
        );
        expect(seconds).toBeGreaterThan(0);
        expect(usage.memory.rss).toBeGreaterThan(0);
        expect(usage.memoryTotal).toBeGreaterThan(usage.memory.rss + usage.memory.cached);
        expect(Object.keys(usage.interfaces).sort()).toEqual(Object.keys(first.network).sort());
        for (const nic of run.nics) {
          expect(first.network[nic.name]).toMatchObject({
            hwaddr: nic.hwaddr,
            host_name: nic.hostName,
            state: 'up',
            type: 'broadcast',
          });
        }
        await until(async () => {
          await execIn(driver, 'c1', ['true']);
          return (await driver.metrics('c1')).cpuUsageNs > first.cpuUsageNs;
        });
      });

      test('metrics, limits and commands of a stopped container are NotFound', async () => {
        await expect(driver.metrics('nobody')).rejects.toMatchObject({ code: 'NotFound' });
        await expect(driver.updateLimits('nobody', {})).rejects.toMatchObject({ code: 'NotFound' });
        await expect(execIn(driver, 'nobody', ['true'])).rejects.toMatchObject({ code: 'NotFound' });
      });

      test('limits apply from the start, and can be changed and removed while running', async () => {
        const run = await prepare('c1');
        const config = { ...run.config, 'limits.memory': '64MiB', 'limits.processes': '50' };
        await driver.start({ ...run, config }, never);
        expect(harness.memoryLimit(driver, 'c1')).toBe(64 * 1024 * 1024);
        expect(harness.processLimit(driver, 'c1')).toBe(50);
        await driver.updateLimits('c1', { ...config, 'limits.memory': '128MiB', 'limits.cpu.allowance': '25ms/100ms' });
        expect(harness.memoryLimit(driver, 'c1')).toBe(128 * 1024 * 1024);
        await driver.updateLimits('c1', { ...config, 'limits.memory': '48MiB', 'limits.processes': '20' });
        expect(harness.memoryLimit(driver, 'c1')).toBe(48 * 1024 * 1024);
        expect(harness.processLimit(driver, 'c1')).toBe(20);
        await driver.updateLimits('c1', {});
        expect(harness.memoryLimit(driver, 'c1')).toBeUndefined();
        expect(harness.processLimit(driver, 'c1')).toBeUndefined();
      });

      test('bad limits are refused with Invalid and the old ones stay', async () => {
        await started('c1', {});
        await driver.updateLimits('c1', { 'limits.memory': '64MiB' });
        await expect(driver.updateLimits('c1', { 'limits.memory': 'lots' })).rejects.toMatchObject({ code: 'Invalid' });
        expect(harness.memoryLimit(driver, 'c1')).toBe(64 * 1024 * 1024);
      });
    });

    describe('commands', () => {
      beforeEach(async () => {
        await started('c1');
      });

      test.each([
        [['true'], 0, ''],
        [['false'], 1, ''],
        [['echo', 'a b', '', '$c'], 0, 'a b  $c\n'],
        [['cat', '/etc/passwd'], 0, /^root:x:0:0/],
        [['cat', '/nonexistent'], 1, ''],
        [['no-such-program'], 127, ''],
      ])('%j ends with %i', async (argv, exitCode, stdout) => {
        const result = await execIn(driver, 'c1', argv);
        expect(result.exitCode).toBe(exitCode);
        if (typeof stdout === 'string') expect(result.stdout).toBe(stdout);
        else expect(result.stdout).toMatch(stdout);
      });

      test('passes the environment and nothing of the daemon', async () => {
        process.env['SECRET_OF_THE_DAEMON'] = 'x';
        const { stdout } = await execIn(driver, 'c1', ['env'], { env: { A: 'b c=d', X: '"\'$' } });
        expect(stdout).toContain('A=b c=d\n');
        expect(stdout).toContain(`X="'$\n`);
        expect(stdout).toContain('HOME=/root\n');
        expect(stdout).not.toContain('SECRET_OF_THE_DAEMON');
      });

      test('runs in /root, or where it is told', async () => {
        expect((await execIn(driver, 'c1', ['pwd'])).stdout).toBe('/root\n');
        expect((await execIn(driver, 'c1', ['pwd'], { cwd: '/etc' })).stdout).toBe('/etc\n');
      });

      test('a command in a frozen container is refused, not stuck', async () => {
        await driver.freeze('c1');
        await expect(execIn(driver, 'c1', ['true'])).rejects.toMatchObject({ code: 'Failed' });
      });
    });

    describe('spawn', () => {
      beforeEach(async () => {
        await started('c1');
      });
      const size = { columns: 80, rows: 24 };
      const spawned = (
        argv: readonly string[],
        kind: 'pipes' | 'null' = 'pipes',
        more: Partial<RuntimeCommand> = {},
      ): Promise<RuntimeProcess> => driver.spawn('c1', { argv, stdio: { kind }, ...more }, never);
      const onTerminal = (argv: readonly string[]): Promise<RuntimeProcess> =>
        driver.spawn('c1', { argv, stdio: { kind: 'terminal', size } }, never);

      test('gives three pipes: input in, output and errors apart, the exit code at the end', async () => {
        const command = await spawned(['sh', '-c', 'cat; echo oops >&2; exit 7']);
        const [stdout, stderr] = [textOf(command.stdout), textOf(command.stderr)];
        command.stdin?.write('one\n');
        command.stdin?.end(Buffer.from([0, 255, 10]));
        expect(await command.exited).toBe(7);
        expect(Buffer.from(await stdout, 'latin1')).toEqual(Buffer.from('one\n\0\xff\n', 'latin1'));
        expect(await stderr).toBe('oops\n');
      });

      test('spawn with null streams gives none, and the command finds its input empty', async () => {
        const command = await spawned(['sh', '-c', 'cat && exit 4'], 'null');
        expect([command.stdin, command.stdout, command.stderr]).toEqual([undefined, undefined, undefined]);
        expect(await command.exited).toBe(4);
      });

      test.each([
        [['no-such-program'], 127],
        [['/etc/passwd'], 126],
        [['sh', '-c', 'kill -9 $$; sleep 5'], 137],
        [['sh', '-c', 'kill -15 $$; sleep 5'], 143],
      ])('%j ends with %i', async (argv, code) => {
        expect(await (await spawned(argv, 'null')).exited).toBe(code);
      });

      test('signals reach the command itself, even those sent at once; kill ends its descendants, too', async () => {
        const early = await spawned(['sleep', '600'], 'null');
        early.signal(15);
        expect(await early.exited).toBe(143);
        const family = await spawned(['sh', '-c', 'echo up; sleep 600; echo never']);
        await firstOf(family);
        family.kill();
        family.kill();
        expect(await family.exited).toBe(137);
        family.signal(15);
        expect(await textOf(family.stdout)).toBe('');
      });

      test('the environment is the usual one below the given one', async () => {
        const command = await spawned(['env'], 'pipes', { env: { HOME: '/srv', MULTI: 'a\nb' } });
        const lines = (await textOf(command.stdout)).split('\n');
        expect(lines).toEqual(expect.arrayContaining(['HOME=/srv', 'USER=root', 'LANG=C.UTF-8', 'MULTI=a', 'b']));
        expect(lines.find((line) => line.startsWith('PATH='))).toMatch(/^PATH=\/usr\/local\/sbin:.*:\/bin$/);
      });

      test('a command runs as the given user and group, in the given directory', async () => {
        const identity = { uid: 1234, gid: 4321, cwd: '/etc' };
        const command = await spawned(['sh', '-c', 'id -u; id -g; pwd'], 'pipes', identity);
        expect(await textOf(command.stdout)).toBe('1234\n4321\n/etc\n');
      });

      test('unread output blocks the command, and reading resumes with every byte', async () => {
        const command = await spawned(['head', '-c', '3000000', '/dev/zero']);
        let isOver = false;
        void command.exited.then(() => (isOver = true));
        await new Promise((resolve) => setTimeout(resolve, 150));
        expect(isOver).toBe(false);
        expect((await textOf(command.stdout)).length).toBe(3_000_000);
        expect(await command.exited).toBe(0);
      });

      test('a closed reader ends a command that writes', async () => {
        const command = await spawned(['head', '-c', '999999999999', '/dev/zero']);
        await firstOf(command);
        command.stdout?.destroy();
        expect(await command.exited).toBeGreaterThan(0);
      });

      test('a terminal has its initial size, and a later one', async () => {
        const command = await onTerminal(['sh']);
        const seen = watched(command);
        command.stdin?.write('stty size\n');
        await until(() => seen().includes('24 80'));
        command.resize({ columns: 132, rows: 50 });
        command.stdin?.write('stty size\n');
        await until(() => seen().includes('50 132'));
        command.stdin?.write('exit 6\n');
        expect(await command.exited).toBe(6);
        command.resize(size);
      });

      test('output on a terminal has terminal line ends, and is complete to its last byte', async () => {
        const command = await onTerminal(['sh', '-c', 'tty; seq 1 20000; exit 3']);
        const lines = (await textOf(command.stdout)).split('\r\n');
        expect(await command.exited).toBe(3);
        expect(lines[0]).toMatch(/^\/dev\/pts\/[0-9]+$/);
        expect(lines.slice(1)).toEqual([...Array.from({ length: 20_000 }, (_, index) => `${index + 1}`), '']);
      });

      test('text typed at a terminal is echoed once, and ^C interrupts', async () => {
        const command = await onTerminal(['cat']);
        const seen = watched(command);
        command.stdin?.write('hello\r');
        await until(() => seen() === 'hello\r\nhello\r\n');
        command.stdin?.write('\u0003');
        expect(await command.exited).toBe(130);
      });

      test('a stop of the container ends its commands', async () => {
        const [piped, typed] = [await spawned(['sh', '-c', 'echo up; sleep 600']), await onTerminal(['cat'])];
        await firstOf(piped);
        const output = textOf(typed.stdout);
        await kill('c1');
        expect(await piped.exited).toBe(137);
        await output;
        expect(await typed.exited).toBeGreaterThan(0);
      });

      test('refuses no command, a frozen container, and one that does not run', async () => {
        await expect(spawned([])).rejects.toMatchObject({ code: 'Invalid' });
        await driver.freeze('c1');
        await expect(spawned(['true'])).rejects.toMatchObject({ code: 'Failed' });
        await expect(driver.spawn('nobody', { argv: ['true'], stdio: { kind: 'null' } }, never)).rejects.toMatchObject({
          code: 'NotFound',
        });
      });
    });

    describe('console', () => {
      const size = { columns: 80, rows: 24 };
      test('several viewers share it; one may leave, another join, and all end with the container', async () => {
        const run = await prepare('c1', 'with-console');
        await driver.start(run, never);
        const [one, two] = [driver.console('c1', size), driver.console('c1', size)];
        const [seenByOne, seenByTwo] = [watched({ stdout: one.output }), watched({ stdout: two.output })];
        one.input.write('\recho $((40+2))x\r');
        await until(() => /(42|\$\(\(40\+2\)\))x\r\n/.test(seenByOne()) && seenByTwo().includes('x\r\n'));
        expect(seenByOne()).not.toContain('\r\r\n');
        one.close();
        one.close();
        two.resize({ columns: 132, rows: 50 });
        two.input.write('echo two\r');
        await until(() => /two\r\n.*two\r\n/s.test(seenByTwo()));
        two.close();
        const three = driver.console('c1', size);
        const seenByThree = watched({ stdout: three.output });
        three.input.write('echo three\r');
        await until(() => /three\r\n.*three\r\n/s.test(seenByThree()));
        expect(readFileSync(join(run.logDir, 'console.log'), 'utf8')).toContain('three');
        await kill('c1');
        await until(() => three.output.readableEnded);
      });

      test('a container that does not run has none', async () => {
        expect(() => driver.console('nobody', size)).toThrow(/nobody/);
      });
    });

    describe('forget', () => {
      test('is idempotent, works for strangers, and keeps the logs', async () => {
        const run = await started('c1');
        await kill('c1');
        await driver.forget('c1');
        await driver.forget('c1');
        await driver.forget('nobody');
        expect(harness.remains(run)).toEqual([]);
      });

      test('a running container is not forgotten', async () => {
        await started('c1');
        await expect(driver.forget('c1')).rejects.toMatchObject({ code: 'InUse' });
        expect(driver.probe('c1').status).toBe('running');
      });
    });

    test('a removed listener is no longer called', async () => {
      const heard: RuntimeExit[] = [];
      const off = driver.onExit((exit) => heard.push(exit));
      await started('c1');
      await kill('c1');
      off();
      await started('c1');
      await kill('c1');
      expect(heard).toHaveLength(1);
      expect(exits).toHaveLength(2);
    });
  });
}

async function textOf(stream: RuntimeProcess['stdout']): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of (stream ?? []) as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

/** All output so far, at each call. */
function watched(command: Pick<RuntimeProcess, 'stdout'>): () => string {
  let text = '';
  command.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  return () => text;
}

function firstOf(command: RuntimeProcess): Promise<void> {
  return new Promise((resolve) => {
    command.stdout?.once('data', () => {
      command.stdout?.pause();
      resolve();
    });
  });
}
