// Programs of the host as the runtime starts them: what they get, how they end, and reading their output.
import { closeSync, existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { spawnOnTerminal } from '../../../../server/drivers/runtime/exec/attach.ts';
import { codeOf, startChild, type HostChild } from '../../../../server/drivers/runtime/host/child-process.ts';
import { openPipe, pipeReader } from '../../../../server/drivers/runtime/host/pipes.ts';
import { type Libc, loadLibc } from '../../../../server/drivers/runtime/host/syscalls.ts';
import { until } from '../../../support/until.ts';

const libc = await loadLibc();
const missing = libc?.posixSpawn === undefined ? 'koffi or posix_spawn of libc is missing' : undefined;
if (missing !== undefined) console.log(`skipped: programs started by posix_spawn: ${missing}`);

const ended = (child: HostChild): Promise<number> => new Promise((resolve) => child.onEnd(resolve));

test('a status of the kernel is an exit code, or 128 and the signal', () => {
  expect([0, 0x0100, 0x7f00, 0xff00].map(codeOf)).toEqual([0, 1, 127, 255]);
  // The eighth bit marks a core dump.
  expect([9, 15, 0x86].map(codeOf)).toEqual([137, 143, 134]);
});

describe.skipIf(missing !== undefined).each([
  ['by posix_spawn', libc],
  ['by a fork', undefined],
] as const)('a program started %s', (_how, by: Libc | undefined) => {
  const plan = { file: '/bin/sh', env: { MARK: 'set' }, cwd: '/usr' };
  /** The output of a shell script. */
  const said = async (script: string): Promise<{ readonly out: string; readonly code: number }> => {
    if (libc === undefined) throw new Error('no libc');
    const { reader, writer } = openPipe(libc);
    const child = startChild(by, { ...plan, args: ['-c', script, 'sh', 'a b', ''], fds: [writer, writer, writer] });
    const code = ended(child);
    closeSync(writer);
    return { out: await text(pipeReader(reader)), code: await code };
  };

  test('a program gets its arguments, environment and directory, and no further descriptor', async () => {
    const { out, code } = await said('echo "$#:$1:$2 $MARK $(pwd) ${HOME-none}"; echo end >&2; ls /proc/$$/fd; exit 7');
    const [first, second, ...descriptors] = out.trimEnd().split('\n');
    expect([first, second]).toEqual(['2:a b: set /usr none', 'end']);
    expect(descriptors.filter((fd) => !lent().includes(fd)).toSorted()).toEqual(['0', '1', '2']);
    expect(code).toBe(7);
  });

  test('ignores and holds back no signal', async () => {
    const { out } = await said('grep -E "^Sig(Blk|Ign)" /proc/self/status');
    expect(out.match(/\t0+$/gm)).toHaveLength(2);
  });

  test('the signal that ended it is reported, and it is reaped', async () => {
    const child = startChild(by, { ...plan, args: ['-c', 'kill -TERM $$'], fds: [0, 1, 2] });
    expect(await ended(child)).toBe(143);
    expect(child.isOver).toBe(true);
    expect(existsSync(`/proc/${child.pid ?? 0}`)).toBe(false);
    child.kill();
  });

  test('can be killed', async () => {
    const child = startChild(by, { ...plan, args: ['-c', 'exec sleep 1000'], fds: [0, 1, 2] });
    const code = ended(child);
    child.kill();
    expect(await code).toBe(137);
  });

  test('a missing program ends with 127', async () => {
    expect(await ended(startChild(by, { ...plan, file: '/nowhere/program', args: [], fds: [0, 1, 2] }))).toBe(127);
  });

  test('is one of many at once, each with its own end', async () => {
    const codes = Array.from({ length: 40 }, (_, index) => index);
    const children = codes.map((code) => startChild(by, { ...plan, args: ['-c', `exit ${code}`], fds: [0, 1, 2] }));
    expect(await Promise.all(children.map(ended))).toEqual(codes);
  });
});

describe.skipIf(missing !== undefined)('a program on a terminal', () => {
  const open = (script: string) =>
    spawnOnTerminal({ name: 'c', libc }, ['/bin/sh', '-c', script], {
      size: { columns: 80, rows: 24 },
      carriageReturns: 0,
    });

  test('leads a session whose terminal it is', async () => {
    const process = open(
      'ps -o pid=,sid=,tty= -p $$ 2>/dev/null || cut -d" " -f1,6,7 /proc/$$/stat; test -w /dev/tty && echo own',
    );
    const out = process.stdout === undefined ? '' : await text(process.stdout);
    const [, pid, session] = /^\s*(\d+)\s+(\d+)/.exec(out) ?? [];
    expect(pid).toBe(session);
    expect(out).toContain('own');
    expect(await process.exited).toBe(0);
  });

  test('is read to its last line, however slowly', async () => {
    for (const delayMs of [0, 0, 0, 2, 2]) {
      const process = open('i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo "line $i of many"; done');
      let lines = 0;
      for await (const chunk of process.stdout ?? []) {
        for (const byte of chunk as Buffer) if (byte === 0x0a) lines += 1;
        if (delayMs > 0) await sleep(delayMs);
      }
      expect(lines).toBe(6000);
      expect(await process.exited).toBe(0);
    }
  });

  test('takes more input than it has room for, and the daemon goes on working meanwhile', async () => {
    const process = open('stty opost; sleep 0.5; head -c 300000 | wc -c');
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    process.stdin?.write(Buffer.alloc(300_000, 'a'));
    const out = process.stdout === undefined ? '' : await text(process.stdout);
    clearInterval(ticking);
    expect(out.trim()).toBe('300000');
    expect(ticks).toBeGreaterThan(5);
  });

  test('keeps no terminal open when its reader goes away', async () => {
    const held = (): number => terminalsOf(process.pid);
    const before = held();
    const running = open('echo ready; cat');
    await new Promise((resolve) => running.stdout?.once('data', resolve));
    expect(held()).toBeGreaterThan(before);
    running.stdout?.destroy();
    await running.exited;
    await until(() => held() === before);
  });
});

/** Descriptors that the starter of the tests left inheritable. */
function lent(): readonly string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    if (Number(fd) < 3 || !existsSync(`/proc/self/fdinfo/${fd}`)) return false;
    const flags = /^flags:\s+0(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & closeOnExec) === 0;
  });
}

const closeOnExec = 0o2000000;

function terminalsOf(pid: number): number {
  const listed = readFileSync(`/proc/${pid}/status`, 'utf8');
  const size = Number(/^FDSize:\s+(\d+)$/m.exec(listed)?.[1]);
  let found = 0;
  for (let fd = 0; fd < size; fd += 1) {
    try {
      if (/^\/dev\/(ptmx|pts\/)/.test(readlinkSync(`/proc/${pid}/fd/${fd}`))) found += 1;
    } catch {
      // Not open.
    }
  }
  return found;
}
