// Running host programs: all output is there, limits hold, and a grandchild that keeps the pipes open delays nobody for long.
import { describe, expect, test } from 'vitest';
import { exec, ExecError } from '../../server/lib/exec.ts';

describe('exec', () => {
  test('returns everything that was written, also with many programs at once', async () => {
    const runs = Array.from({ length: 64 }, (_, index) =>
      exec(['sh', '-c', `echo out ${index}; echo err ${index} >&2`]),
    );
    for (const [index, result] of (await Promise.all(runs)).entries()) {
      expect(result).toEqual({ code: 0, stdout: `out ${index}\n`, stderr: `err ${index}\n` });
    }
  });

  test('does not wait for a grandchild that holds the pipes', async () => {
    const before = performance.now();
    const { stdout } = await exec(['sh', '-c', 'sleep 5 & echo started']);
    expect(stdout).toBe('started\n');
    expect(performance.now() - before).toBeLessThan(4000);
  });

  test('names program, code and what it said when it fails', async () => {
    const failed = exec(['sh', '-c', 'echo no such thing >&2; exit 3']);
    await expect(failed).rejects.toThrow('sh failed with code 3: no such thing');
    await expect(failed).rejects.toBeInstanceOf(ExecError);
  });

  test('accepts other codes when told so', async () => {
    expect((await exec(['sh', '-c', 'exit 2'], { okCodes: [0, 2] })).code).toBe(2);
  });

  test('kills a program at its time limit', async () => {
    await expect(exec(['sleep', '20'], { timeoutMs: 100 })).rejects.toThrow('sleep did not finish in 100 ms');
  });

  test('kills a program when its signal aborts', async () => {
    const abort = new AbortController();
    const running = exec(['sleep', '20'], {}, abort.signal);
    abort.abort();
    await expect(running).rejects.toBeInstanceOf(ExecError);
  });

  test('says that a program is missing', async () => {
    await expect(exec(['/nonexistent/program'])).rejects.toThrow('cannot run /nonexistent/program');
  });

  test('keeps no more output than asked for', async () => {
    const { stdout } = await exec(['sh', '-c', 'head -c 100000 /dev/zero | tr "\\0" x'], { maxBytes: 10 });
    expect(stdout).toBe('x'.repeat(10));
  });
});
