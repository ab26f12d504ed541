// The conformance suite of runtimes that make checkpoints; the test file of each such driver runs it.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunConfig, RuntimeDriver, RuntimeExit, Checkpoints } from '../../server/drivers/runtime/driver.ts';
import type { RuntimeHarness } from './runtime-world.ts';
import { until } from '../support/until.ts';
import { execIn } from '../support/drivers/exec-in.ts';

export interface CheckpointHarness extends RuntimeHarness {
  /** Makes the next storing or restoring fail for this reason; undefined: this runtime cannot be made to fail. */
  readonly fail: ((kind: 'dump' | 'restore', reason: string) => void) | undefined;
  /** Undoes `fail`. */
  readonly works: () => void;
  /** False if memory cannot be pre-dumped: the reason was printed. */
  readonly rounds: boolean;
}

const never = new AbortController().signal;

export function checkpointConformance(title: string, makeHarness: () => Promise<CheckpointHarness>): void {
  describe(`${title}, checkpoints`, () => {
    let harness: CheckpointHarness;
    let driver: RuntimeDriver;
    let checkpoints: Checkpoints;
    let exits: RuntimeExit[];
    let base: string;
    let count = 0;

    const open = async (): Promise<void> => {
      driver = await harness.open();
      if (driver.checkpoints === undefined) throw new Error('this runtime makes no checkpoints');
      checkpoints = driver.checkpoints;
      exits = [];
      driver.onExit((exit) => exits.push(exit));
    };
    beforeAll(async () => {
      harness = await makeHarness();
      base = mkdtempSync(join(tmpdir(), 'gantry-state-'));
    });
    afterAll(async () => {
      await harness?.cleanup();
      if (base !== undefined) rmSync(base, { recursive: true, force: true });
    });
    beforeEach(open);
    afterEach(async () => {
      harness.works();
      if (driver.probe('s1').status !== 'stopped') await driver.stop('s1', { force: true }, never);
      await driver.forget('s1');
      await driver.close();
    });

    const fresh = (): string => {
      count += 1;
      const dir = join(base, `state${count}`);
      mkdirSync(dir, { mode: 0o700 });
      return dir;
    };
    const started = async (): Promise<RunConfig> => {
      const run = await harness.prepare('s1');
      await driver.start(run, never);
      return run;
    };

    test('is possible where this suite runs', async () => {
      expect(await checkpoints.available()).toEqual({ ok: true });
    });

    test('a checkpoint with a stop ends the container, announces it once before it resolves, and the container resumes from it', async () => {
      const run = await started();
      const dir = fresh();
      expect(checkpoints.isComplete(dir)).toBe(false);
      await checkpoints.checkpoint('s1', { dir, leave: 'stopped' }, never);
      expect(exits).toEqual([{ name: 's1', target: 'stop' }]);
      expect(driver.probe('s1')).toEqual({ status: 'stopped', initPid: 0 });
      expect(checkpoints.isComplete(dir)).toBe(true);
      expect(harness.remains(run)).toEqual([]);
      const { initPid } = await checkpoints.restore(run, { dir }, never);
      expect(driver.probe('s1')).toEqual({ status: 'running', initPid });
      expect(checkpoints.isComplete(dir)).toBe(true);
      expect(await execIn(driver, 's1', ['echo', 'on'])).toMatchObject({ exitCode: 0, stdout: 'on\n' });
      await driver.freeze('s1');
      await driver.unfreeze('s1');
      await driver.stop('s1', { force: true }, never);
      expect(exits).toHaveLength(2);
      expect(harness.remains(run)).toEqual([]);
    });

    test('a resumed container is found by another driver, and its end noticed', async () => {
      const run = await started();
      const dir = fresh();
      await checkpoints.checkpoint('s1', { dir, leave: 'stopped' }, never);
      const { initPid } = await checkpoints.restore(run, { dir }, never);
      await driver.close();
      await open();
      await driver.recover(['s1']);
      expect(driver.probe('s1')).toEqual({ status: 'running', initPid });
      await harness.poweroffInside(driver, 's1');
      await until(() => exits.length === 1);
      expect(driver.probe('s1').status).toBe('stopped');
    });

    test('a checkpoint without a stop leaves the container running as it was, or frozen', async () => {
      await started();
      const before = driver.probe('s1');
      await checkpoints.checkpoint('s1', { dir: fresh(), leave: 'running' }, never);
      expect(driver.probe('s1')).toEqual(before);
      const dir = fresh();
      await checkpoints.checkpoint('s1', { dir, leave: 'frozen' }, never);
      expect(driver.probe('s1')).toEqual({ ...before, status: 'frozen' });
      expect([checkpoints.isComplete(dir), exits]).toEqual([true, []]);
      await driver.unfreeze('s1');
      expect(await execIn(driver, 's1', ['echo', 'on'])).toMatchObject({ stdout: 'on\n' });
    });

    test('a checkpoint of a stopped container is NotFound, of a frozen one Failed', async () => {
      await harness.prepare('s1');
      const store = (): Promise<void> => checkpoints.checkpoint('s1', { dir: fresh(), leave: 'stopped' }, never);
      await expect(store()).rejects.toMatchObject({ code: 'NotFound' });
      await started();
      await driver.freeze('s1');
      await expect(store()).rejects.toMatchObject({ code: 'Failed' });
      expect(driver.probe('s1').status).toBe('frozen');
      await driver.unfreeze('s1');
    });

    test('an aborted checkpoint rejects with the reason and changes nothing', async () => {
      await started();
      const before = driver.probe('s1');
      const gone = AbortSignal.abort(new Error('no longer wanted'));
      await expect(checkpoints.checkpoint('s1', { dir: fresh(), leave: 'stopped' }, gone)).rejects.toThrow('no longer');
      expect(driver.probe('s1')).toEqual(before);
    });

    test('a failed checkpoint says why, keeps the whole output, and leaves the container running and stoppable', async () => {
      if (harness.fail === undefined) return console.log('skipped: this tool cannot be made to fail');
      await started();
      const before = driver.probe('s1');
      harness.fail('dump', 'the disk is on fire');
      const logFile = join(base, `log${count}`);
      const dir = fresh();
      const failed = checkpoints.checkpoint('s1', { dir, leave: 'stopped', logFile }, never);
      await expect(failed).rejects.toMatchObject({ code: 'Failed', message: expect.stringContaining('s1') });
      expect(String(((await failed.catch((error: unknown) => error)) as Error).cause)).toContain('the disk is on fire');
      expect([driver.probe('s1'), checkpoints.isComplete(dir), existsSync(logFile)]).toEqual([before, false, true]);
      await driver.stop('s1', { force: true }, never);
      expect(exits).toHaveLength(1);
    });

    test('a restore that fails says why and leaves nothing; an ordinary start then works', async () => {
      if (harness.fail === undefined) return console.log('skipped: this tool cannot be made to fail');
      const run = await started();
      const dir = fresh();
      await checkpoints.checkpoint('s1', { dir, leave: 'stopped' }, never);
      harness.fail('restore', 'a process id is taken');
      const failed = checkpoints.restore(run, { dir }, never);
      await expect(failed).rejects.toMatchObject({ code: 'Failed' });
      expect(String(((await failed.catch((error: unknown) => error)) as Error).cause)).toContain(
        'a process id is taken',
      );
      expect([driver.probe('s1').status, checkpoints.isComplete(dir), harness.remains(run)]).toEqual([
        'stopped',
        true,
        [],
      ]);
      harness.works();
      await driver.start(run, never);
      await expect(checkpoints.restore(run, { dir }, never)).rejects.toMatchObject({ code: 'InUse' });
    });

    test('an incomplete checkpoint is refused before anything is done', async () => {
      const run = await harness.prepare('s1');
      await expect(checkpoints.restore(run, { dir: fresh() }, never)).rejects.toMatchObject({ code: 'Failed' });
      expect([driver.probe('s1').status, harness.remains(run)]).toEqual(['stopped', []]);
    });

    test('memory is pre-dumped in rounds, each based on the previous one, in sibling directories', async () => {
      await started();
      const [first, second, last] = [fresh(), fresh(), fresh()];
      if (!harness.rounds) return console.log('skipped: this kernel does not track changes of memory');
      expect(await checkpoints.prepare('s1', { dir: first }, never)).toEqual({ unchangedPercent: 0 });
      const { unchangedPercent } = await checkpoints.prepare('s1', { dir: second, previous: first }, never);
      expect(unchangedPercent).toBeGreaterThanOrEqual(0);
      expect(unchangedPercent).toBeLessThanOrEqual(100);
      expect(driver.probe('s1').status).toBe('running');
      await expect(checkpoints.prepare('s1', { dir: last, previous: join(base, 'x/y') }, never)).rejects.toMatchObject({
        code: 'Invalid',
      });
      await checkpoints.checkpoint('s1', { dir: last, previous: second, leave: 'stopped' }, never);
      expect(checkpoints.isComplete(last)).toBe(true);
    });
  });
}
