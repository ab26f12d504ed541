// Commands in containers of all runtime drivers, and their consoles.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RuntimeCommand, RuntimeProcess } from '../../server/drivers/runtime/command.ts';
import { execIn } from '../support/drivers/exec-in.ts';
import { until } from '../support/until.ts';
import { never, type RuntimeWorld } from './runtime-world.ts';

export function commandTests(world: RuntimeWorld): void {
  const { prepare, started, kill } = world;

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
      [
        ['sh', '-c', 'cd "${NOWHERE:-/etc}" 2>/dev/null; command -v no-such >/dev/null 2>&1 && echo odd; pwd'],
        0,
        '/etc\n',
      ],
      [['sh', '-c', 'command -v cat >/dev/null 2>&1 && exec echo "${HOME:-/}"; echo odd'], 0, '/root\n'],
    ])('%j ends with %i', async (argv, exitCode, stdout) => {
      const result = await execIn(world.driver, 'c1', argv);
      expect(result.exitCode).toBe(exitCode);
      if (typeof stdout === 'string') expect(result.stdout).toBe(stdout);
      else expect(result.stdout).toMatch(stdout);
    });

    test('passes the environment and nothing of the daemon', async () => {
      process.env['SECRET_OF_THE_DAEMON'] = 'x';
      const { stdout } = await execIn(world.driver, 'c1', ['env'], { env: { A: 'b c=d', X: '"\'$' } });
      expect(stdout).toContain('A=b c=d\n');
      expect(stdout).toContain(`X="'$\n`);
      expect(stdout).toContain('HOME=/root\n');
      expect(stdout).not.toContain('SECRET_OF_THE_DAEMON');
    });

    test('runs in /root, or where it is told', async () => {
      expect((await execIn(world.driver, 'c1', ['pwd'])).stdout).toBe('/root\n');
      expect((await execIn(world.driver, 'c1', ['pwd'], { cwd: '/etc' })).stdout).toBe('/etc\n');
    });

    test.each(['/nonexistent', '/etc/passwd'])('runs in / if it cannot enter %s', async (cwd) => {
      const result = await execIn(world.driver, 'c1', ['pwd'], { cwd });
      expect(result).toMatchObject({ exitCode: 0, stdout: '/\n', stderr: '' });
    });

    test('a command in a frozen container is refused, not stuck', async () => {
      await world.driver.freeze('c1');
      await expect(execIn(world.driver, 'c1', ['true'])).rejects.toMatchObject({ code: 'Failed' });
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
    ): Promise<RuntimeProcess> => world.driver.spawn('c1', { argv, stdio: { kind }, ...more }, never);
    const onTerminal = (argv: readonly string[]): Promise<RuntimeProcess> =>
      world.driver.spawn('c1', { argv, stdio: { kind: 'terminal', size } }, never);

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
      await world.driver.freeze('c1');
      await expect(spawned(['true'])).rejects.toMatchObject({ code: 'Failed' });
      await expect(
        world.driver.spawn('nobody', { argv: ['true'], stdio: { kind: 'null' } }, never),
      ).rejects.toMatchObject({
        code: 'NotFound',
      });
    });
  });

  describe('console', () => {
    const size = { columns: 80, rows: 24 };
    test('several viewers share it; one may leave, another join, and all end with the container', async () => {
      const run = await prepare('c1', 'with-console');
      await world.driver.start(run, never);
      const [one, two] = [world.driver.console('c1', size), world.driver.console('c1', size)];
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
      const three = world.driver.console('c1', size);
      const seenByThree = watched({ stdout: three.output });
      three.input.write('echo three\r');
      await until(() => /three\r\n.*three\r\n/s.test(seenByThree()));
      expect(readFileSync(join(run.logDir, 'console.log'), 'utf8')).toContain('three');
      await kill('c1');
      await until(() => three.output.readableEnded);
    });

    test('a container that does not run has none', async () => {
      expect(() => world.driver.console('nobody', size)).toThrow(/nobody/);
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
