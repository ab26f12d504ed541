// The guard kills the containers it guards if it is not fed in time, whatever happened to the daemon.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { killDir, readCgroupTree, removeGroup } from '../../../../server/drivers/runtime/cgroup/cgroup.ts';
import { guardEnd, guardLine } from '../../../../server/drivers/runtime/guard/guard-line.ts';
import { Guard } from '../../../../server/drivers/runtime/guard/guard.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

test('a pause between the readings of the clocks makes the deadline earlier, never later', () => {
  expect(guardEnd(5_000, 100, 1_000)).toBe(104);
  expect(guardEnd(5_000, 100, 3_000)).toBe(102);
});

test('a path that would be read as two is refused', () => {
  expect(guardLine(7, 12.345, ['/a', '/b'])).toBe('7\t12.35\t/a\t/b\n');
  expect(() => guardLine(7, 12, ['/a\t/b'])).toThrow('cannot be guarded');
});

describe.skipIf(Guard.missing() !== undefined)('a guard', () => {
  let dir: string;
  let guards: Guard[];
  beforeEach(() => {
    dir = tempFolder('gtgd-');
    guards = [];
  });
  afterEach(() => {
    for (const guard of guards) guard.quit();
  });

  const open = (): Guard => {
    const guard = new Guard(dir);
    guards.push(guard);
    return guard;
  };
  const simulated = (name: string): string => {
    const path = join(dir, name);
    writeFileSync(path, '');
    return path;
  };
  const inMs = (ms: number): number => performance.now() + ms;

  test('a guard kills at its deadline, and notes that it did', async () => {
    const guard = open();
    const path = simulated('web');
    await guard.feed({ untilMs: inMs(60_000), paths: [path] }, ['web']);
    expect(existsSync(path)).toBe(true);
    await guard.feed({ untilMs: inMs(400), paths: [path] }, ['web']);
    await until(() => !existsSync(path));
    await until(() => guard.hasEnded);
    guard.forgetEnd();
    expect(guard.hasEnded).toBe(false);
  });

  test('a guard that is fed again waits, and later kills containers that appear after its deadline', async () => {
    const guard = open();
    let path = '';
    let firstMs = 0;
    // A guard that was fed again after its first deadline shows nothing.
    await until(async () => {
      path = simulated('web');
      firstMs = inMs(300);
      await guard.feed({ untilMs: firstMs, paths: [path] }, ['web']);
      await guard.feed({ untilMs: inMs(60_000), paths: [path] }, ['web']);
      return inMs(0) < firstMs - 150;
    });
    await until(() => inMs(0) > firstMs + 300);
    expect(existsSync(path)).toBe(true);
    await guard.feed({ untilMs: inMs(-1), paths: [path] }, ['web']);
    await until(() => !existsSync(path));
    simulated('web');
    await until(() => !existsSync(path));
  });

  test('a guard outlives the daemon that fed it, and the next daemon ends it', async () => {
    const path = simulated('web');
    const first = open();
    await first.feed({ untilMs: inMs(60_000), paths: [path] }, ['web']);
    const pid = first.note()?.pid ?? 0;
    first.letGo();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(isAlive(pid)).toBe(true);
    const second = open();
    await second.feed({ untilMs: inMs(60_000), paths: [path] }, ['web', 'db']);
    expect(second.note()).toMatchObject({ names: ['db', 'web'] });
    expect(second.note()?.pid).not.toBe(pid);
    await until(() => !isAlive(pid));
    expect(existsSync(path)).toBe(true);
  });

  test('a guard that was let go kills at its deadline, and ends itself when its directory is removed', async () => {
    const guard = open();
    const path = simulated('web');
    await guard.feed({ untilMs: inMs(400), paths: [path] }, ['web']);
    const pid = guard.note()?.pid ?? 0;
    guard.letGo();
    await until(() => !existsSync(path));
    rmSync(dir, { recursive: true, force: true });
    await until(() => !isAlive(pid));
    mkdirSync(dir);
  });

  test('a guard that answers too late still kills at its deadline when its daemon stops feeding it, or has let it go', async () => {
    for (const isLetGo of [false, true]) {
      const guard = open();
      const path = simulated('web');
      await guard.feed({ untilMs: inMs(60_000), paths: [path] }, ['web']);
      const pid = guard.note()?.pid ?? 0;
      process.kill(pid, 'SIGSTOP');
      const feeding = expect(guard.feed({ untilMs: inMs(1_000), paths: [path] }, ['web'])).rejects.toThrow('answered');
      // The line is written after the note.
      if (isLetGo) setTimeout(() => guard.letGo(), 500);
      await feeding;
      expect(existsSync(path)).toBe(true);
      process.kill(pid, 'SIGCONT');
      await until(() => !existsSync(path));
      guard.quit();
    }
  });

  test('a guard that is frozen or dead is replaced by the next feed; signals do not end it', async () => {
    const guard = open();
    const feed = (): Promise<void> => guard.feed({ untilMs: inMs(60_000), paths: [] }, []);
    await feed();
    const pid = guard.note()?.pid ?? 0;
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
    await feed();
    expect(guard.note()?.pid).toBe(pid);
    process.kill(pid, 'SIGSTOP');
    await expect(feed()).rejects.toThrow('has not answered');
    await feed();
    expect(guard.note()?.pid).not.toBe(pid);
    await until(() => !isAlive(pid));
    process.kill(guard.note()?.pid ?? 0, 'SIGKILL');
    await until(async () =>
      feed()
        .then(() => true)
        .catch(() => false),
    );
  });

  test.skipIf(process.getuid?.() !== 0)(
    'kills all processes of a control group, also frozen ones and those below',
    async () => {
      const tree = readCgroupTree();
      const group = `gantry-guard-test-${process.pid}`;
      const groupOf = killDir(tree, group) as string;
      const child = spawn('sleep', ['300'], { stdio: 'ignore' });
      const gone = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
      try {
        mkdirSync(`${groupOf}/below`, { recursive: true });
        writeFileSync(`${groupOf}/below/cgroup.procs`, String(child.pid));
        const freezer = existsSync(`${groupOf}/freezer.state`) ? 'freezer.state' : 'cgroup.freeze';
        writeFileSync(`${groupOf}/${freezer}`, freezer === 'freezer.state' ? 'FROZEN' : '1');
        await open().feed({ untilMs: inMs(100), paths: [groupOf] }, ['web']);
        expect(await gone).toBe('SIGKILL');
      } finally {
        child.kill('SIGKILL');
        await until(() => removeGroup(tree, group));
      }
    },
  );
});

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
