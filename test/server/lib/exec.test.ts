// Host programs: complete output, limits, and a grandchild with open pipes delays no caller for long.
import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { quickStart } from '../../../server/drivers/runtime/host/quick-start.ts';
import { type Libc, loadLibc } from '../../../server/drivers/runtime/host/syscalls.ts';
import { exec, ExecError } from '../../../server/lib/exec.ts';
import { mortal } from '../../../server/lib/confined.ts';
import { startPair, startProgramsBy } from '../../../server/lib/start-program.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const libc = await loadLibc();
const quick = libc === undefined ? undefined : quickStart(libc);
if (quick === undefined)
  console.log('skipped: programs started by posix_spawn: koffi or posix_spawn of libc is missing');
afterEach(() => startProgramsBy(undefined));

describe.each([
  { how: 'by a fork', way: undefined },
  ...(quick === undefined ? [] : [{ how: 'by posix_spawn', way: quick }]),
])('exec $how', ({ way }) => {
  beforeEach(() => startProgramsBy(way));

  test('many programs at once add one listener to their signal, which goes with the last of them', async () => {
    const { signal } = new AbortController();
    const runs = Array.from({ length: 12 }, () => exec(['sleep', '0.1'], {}, signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await Promise.all(runs);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('returns the complete output, also with many programs at once', async () => {
    const runs = Array.from({ length: 64 }, (_, index) =>
      exec(['sh', '-c', `echo out ${index}; echo err ${index} >&2`]),
    );
    for (const [index, result] of (await Promise.all(runs)).entries()) {
      expect(result).toEqual({ code: 0, stdout: `out ${index}\n`, stderr: `err ${index}\n` });
    }
  });

  test('does not wait for a grandchild with open pipes', async () => {
    const before = performance.now();
    const { stdout } = await exec(['sh', '-c', 'sleep 20 & echo started']);
    expect(stdout).toBe('started\n');
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  test('the error of a failed program has its name, code and output', async () => {
    const failed = exec(['sh', '-c', 'echo no such thing >&2; exit 3']);
    await expect(failed).rejects.toThrow('sh failed with code 3: no such thing');
    await expect(failed).rejects.toBeInstanceOf(ExecError);
  });

  test('accepts other exit codes on request', async () => {
    expect((await exec(['sh', '-c', 'exit 2'], { okCodes: [0, 2] })).code).toBe(2);
  });

  test('kills a program at its time limit', async () => {
    await expect(exec(['sleep', '20'], { timeoutMs: 100 })).rejects.toThrow('sleep did not finish in 100 ms');
  });

  test('kills a program when its signal aborts', async () => {
    const abort = new AbortController();
    const running = exec(['sleep', '20'], {}, abort.signal);
    abort.abort();
    await expect(running).rejects.toThrow('sleep was told to stop');
  });

  test('a program that is told to stop has ended when its failure is reported', async () => {
    const abort = new AbortController();
    const pidFile = join(tempFolder('exec-'), 'pid');
    const running = exec(['sh', '-c', `echo $$ >${pidFile}; exec sleep 20`], {}, abort.signal);
    await until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
    abort.abort();
    await expect(running).rejects.toThrow(ExecError);
    expect(existsSync(`/proc/${readFileSync(pidFile, 'utf8').trim()}`)).toBe(false);
  });

  test('reports a missing program', async () => {
    await expect(exec(['/nonexistent/program'])).rejects.toThrow('cannot run /nonexistent/program');
    await expect(exec(['no-such-program'])).rejects.toThrow('cannot run no-such-program');
  });

  test('tells which signal ended a program', async () => {
    await expect(exec(['sh', '-c', 'kill -TERM $$'])).rejects.toThrow('sh was killed by SIGTERM');
  });

  test('gives a program its input, environment and directory', async () => {
    const input = 'x'.repeat(300_000);
    expect((await exec(['cat'], { input })).stdout).toBe(input);
    const env = { PATH: '/usr/bin:/bin', MARK: 'set' };
    expect((await exec(['sh', '-c', 'echo "$MARK ${HOME-none} $(pwd)"'], { env, cwd: '/usr' })).stdout).toBe(
      'set none /usr\n',
    );
  });

  test('does not fail for input that a program did not read', async () => {
    expect((await exec(['true'], { input: 'x'.repeat(300_000) })).code).toBe(0);
  });

  test('leaves no descriptor open', async () => {
    await exec(['true']);
    const before = readdirSync('/proc/self/fd').length;
    for (let count = 0; count < 20; count += 1) await exec(['true'], { input: 'x' });
    await exec(['/nonexistent/program']).catch(() => {});
    await until(() => readdirSync('/proc/self/fd').length <= before);
  });

  test('the second of a pair of programs reads what the first writes, and the first ends when the second is gone', async () => {
    const pair = async (first: string, second: string): Promise<readonly [number | null, number | null, string]> => {
      const plan = { env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'ignore', 'ignore'] } as const;
      const out = join(tempFolder('exec-'), 'out');
      const started = startPair(
        { ...plan, argv: ['sh', '-c', first] },
        { ...plan, argv: ['sh', '-c', second, 'sh', out] },
      );
      const [one, two] = await Promise.all(
        started.map((each) => new Promise<number | null>((resolve) => each.on('exit', (code) => resolve(code)))),
      );
      return [one ?? null, two ?? null, readFileSync(out, 'utf8')];
    };
    const before = readdirSync('/proc/self/fd').length;
    expect(await pair('head -c 300000 /dev/zero; exit 3', 'wc -c > "$1"; exit 4')).toEqual([3, 4, '300000\n']);
    expect((await pair('exec cat /dev/zero', 'head -c 1 > "$1"')).slice(0, 2)).toEqual([null, 0]);
    await until(() => readdirSync('/proc/self/fd').length <= before);
  });

  test('keeps no more output than the limit', async () => {
    const { stdout } = await exec(['sh', '-c', 'head -c 100000 /dev/zero | tr "\\0" x'], { maxBytes: 10 });
    expect(stdout).toBe('x'.repeat(10));
  });

  test('a program that is started as mortal ends with the process that started it, however that ends', async () => {
    if (mortal(['true']).length === 1)
      return console.log('skipped: programs that end with us: setpriv cannot do it here');
    const [file = '', ...args] = mortal(['sh', '-c', 'echo $$; exec sleep 60']);
    const parent = spawn(
      process.execPath,
      ['-e', `require('child_process').spawn(${JSON.stringify(file)}, ${JSON.stringify(args)}, { stdio: 'inherit' })`],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const [said] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(said.toString());
    expect(() => process.kill(pid, 0)).not.toThrow();
    parent.kill('SIGKILL');
    await until(() => {
      try {
        // A zombie without a wait() is dead, too.
        return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
      } catch {
        return true;
      }
    });
    expect((await exec(['sh', '-c', 'exit 3'], { isMortal: true, okCodes: [3] })).code).toBe(3);
  });
});

test.skipIf(libc === undefined)(
  'a program that gets no pipe is reported, and what was opened for it is closed',
  async () => {
    let pipes = 0;
    const pipe2: Libc['pipe2'] = (ends, flags) => ((pipes += 1) % 3 === 0 ? -1 : (libc?.pipe2(ends, flags) ?? -1));
    startProgramsBy(quickStart({ ...(libc as Libc), pipe2 }));
    const run = () => exec(['cat'], { input: 'x' });
    await expect(run()).rejects.toThrow('cannot run cat: Cannot make a pipe');
    const before = readdirSync('/proc/self/fd').length;
    for (let count = 0; count < 10; count += 1) await run().catch(() => {});
    await until(() => readdirSync('/proc/self/fd').length <= before);
  },
);

test('A program that its kill does not end, since it hangs in the kernel, is not waited for without end', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const hanging = { stdin: null, stdout: null, stderr: null, kill: () => {}, on: () => {} };
  startProgramsBy({ start: () => hanging });
  const ended = exec(['umount', '/mnt'], { timeoutMs: 1000 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await Promise.race([ended, Promise.resolve('it is waited for')])).toMatchObject({
    message: 'umount did not finish in 1000 ms',
  });
});
