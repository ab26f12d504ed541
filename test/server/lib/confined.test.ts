// What a program that reads untrusted archives may still do: shells stand in for compromised programs.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  confined,
  filter,
  judgeStrength,
  keptToRead,
  keptToWrite,
  strengthHere,
  type Confinement,
} from '../../../server/lib/confined.ts';
import { fenced, noFenceHere } from '../../../server/lib/fence.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const strength = strengthHere();
if (strength !== 'fenced')
  console.log(`skipped: confined programs: this user or host may not confine fully (${strength}; root is needed)`);

describe.skipIf(strength !== 'fenced')('a confined program', () => {
  let work: string;
  beforeAll(() => {
    work = tempFolder('gtyfence-');
    for (const name of ['in', 'out']) execFileSync('mkdir', [join(work, name)]);
    writeFileSync(join(work, 'secret'), 'secret', { mode: 0o600 });
  });
  const shell = (confinement: Confinement, script: string): { status: number | null; out: string; err: string } => {
    const [file = '', ...args] = confined({ argv: ['bash', '--norc', '-c', script], confinement });
    const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', cwd: work });
    return { status, out: stdout, err: stderr };
  };
  const within = (): Confinement => ({ reads: [join(work, 'in')], writes: [join(work, 'out')], keeps: keptToWrite });

  test('writes in its folders, with all rights that unpacking needs', () => {
    const script = `cd ${work}/out && mkdir -p a/b && echo x >a/f && ln a/f a/b/g && mv a/b/g a/b/h && chown 7:7 a/f && mknod n c 1 3 && setfattr -n trusted.x -v 1 a/f && ls a/b`;
    expect(shell(within(), script)).toEqual({ status: 0, out: 'h\n', err: '' });
    expect(statSync(join(work, 'out/a/f')).uid).toBe(7);
  });

  test('writes in its working folder by relative names', () => {
    const [file = '', ...args] = confined({ argv: ['touch', 'relative'], confinement: within() });
    expect(spawnSync(file, args, { encoding: 'utf8', cwd: join(work, 'out') }).stderr).toBe('');
    expect(existsSync(join(work, 'out/relative'))).toBe(true);
  });

  test('starts also in a working folder that was removed', () => {
    const [file = '', ...args] = confined({ argv: ['pwd'], confinement: filter });
    const argv = [`mkdir ${work}/gone && cd ${work}/gone && rmdir ${work}/gone && exec "$@"`, 'sh', file, ...args];
    expect(spawnSync('sh', ['-c', ...argv], { encoding: 'utf8' }).stdout).toBe('/\n');
  });

  test.each([
    ['make a file elsewhere', 'echo x >made', 'Read-only file system'],
    ['change a file', 'echo x >secret', 'Read-only file system'],
    ['change the mode of a file', 'chmod 4755 secret', 'Read-only file system'],
    ['change the owner of a file', 'chown 1000 secret', 'Read-only file system'],
    ['remove a file', 'rm secret', 'Read-only file system'],
    ['move a file to the folder where it may write', 'mv secret out/', 'Permission denied'],
    ['link a file to the folder where it may write', 'ln secret out/', 'Invalid cross-device link'],
    ['read a file that is not its business', 'cat secret', 'Permission denied'],
    ['read a device', 'mknod out/zero c 1 5; head -c 1 out/zero', 'Permission denied'],
    ['read shared memory', 'ls /dev/shm', 'Permission denied'],
    ['make its view writable again', 'mount -o remount,bind,rw /', 'permission denied'],
    ['mount something', 'mount -t tmpfs x out', 'permission denied'],
    ['reach the network', 'echo >/dev/tcp/127.0.0.1/1', 'Operation not permitted'],
    ['trace another process', 'cat /proc/1/environ', 'Permission denied'],
    ['write a sysctl', 'echo 5 >/proc/sys/kernel/panic', 'Read-only file system'],
    ['take 5 GiB of memory', `perl -e 'my $x = "a" x 5e9'`, 'Out of memory'],
  ])('cannot %s', (_what, script, why) => {
    const { status, err } = shell(within(), `LC_ALL=C; ${script}`);
    expect([status === 0, err]).toEqual([false, expect.stringContaining(why)]);
    expect(existsSync(join(work, 'made'))).toBe(false);
    expect([readFileSync(join(work, 'secret'), 'utf8'), statSync(join(work, 'secret')).mode & 0o7777]).toEqual([
      'secret',
      0o600,
    ]);
  });

  test('opens no device that it makes, and changes nothing on other mounts, where its file system stays in its place', () => {
    const places = { writes: [join(work, 'out')], keeps: keptToWrite, isAtHome: true };
    const tmpfs = join(work, 'other');
    execFileSync('mkdir', [tmpfs]);
    execFileSync('mount', ['-t', 'tmpfs', 'gtyfence', tmpfs]);
    try {
      const { out, err } = shell(
        places,
        `LC_ALL=C; mknod out/one c 1 5; head -c 1 out/one; chmod 700 ${tmpfs}; echo x >out/own && cat out/own; head -c 1 /dev/zero | wc -c`,
      );
      expect(out).toBe('x\n1\n');
      expect(err).toMatch(/out\/one.*Permission denied/);
      expect(err).toMatch(/other.*Read-only file system/);
    } finally {
      execFileSync('umount', [tmpfs]);
    }
  });

  test('cannot connect to a socket path, such as the daemon', async () => {
    const path = join(work, 'in/sock');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const connect = `perl -e 'use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die "no socket"; connect($s, pack_sockaddr_un("${path}")) or die "no connection"; print "connected"'`;
    onTestFinished(() => void server.close());
    expect(spawnSync('bash', ['-c', connect], { encoding: 'utf8' }).stdout).toBe('connected');
    expect(shell(within(), connect).err).toContain('no socket');
  });

  test('has a filter that allows only standard input and output', () => {
    const argv = ['gzip', '-dc'];
    const packed = execFileSync('gzip', { input: 'text' });
    const [file = '', ...args] = confined({ argv, confinement: filter });
    expect(execFileSync(file, args, { input: packed, encoding: 'utf8' })).toBe('text');
    const status = shell(filter, 'cat /proc/self/status').out;
    for (const kind of ['CapPrm', 'CapEff', 'CapBnd']) expect(status).toContain(`${kind}:\t${'0'.repeat(16)}`);
    expect(status).toMatch(/NoNewPrivs:\t1/);
    expect(status).toMatch(/Seccomp:\t2/);
  });

  test.each([
    ['writing', keptToWrite, [0, 1, 2, 3, 4, 21, 27, 31]],
    ['reading', keptToRead, [2, 21]],
  ])('has the capabilities that %s needs and no others', (_what, keeps, bits) => {
    const status = shell({ writes: [], keeps }, 'cat /proc/self/status').out;
    const mask = bits
      .reduce((sum, bit) => sum + 2 ** bit, 0)
      .toString(16)
      .padStart(16, '0');
    for (const kind of ['CapPrm', 'CapEff', 'CapBnd']) expect(status).toContain(`${kind}:\t${mask}`);
  });

  test('has at most 4 GiB of memory and 12 hours of processor time, and writes no core', () => {
    const limits = shell({ writes: [] }, 'cat /proc/self/limits').out;
    expect(limits).toMatch(/Max data size +4294967296 +4294967296/);
    expect(limits).toMatch(/Max core file size +0 +0/);
    expect(limits).toMatch(/Max cpu time +43200 +43200/);
  });

  test('also starts after the process dropped its privileges, and is confined again once it has regained them', () => {
    const nobody = 65534;
    const run = (...argv: readonly string[]): string => {
      const [file = '', ...args] = confined({ argv, confinement: { writes: [] } });
      return execFileSync(file, args, { encoding: 'utf8' });
    };
    process.seteuid?.(nobody);
    try {
      expect(run('id', '-u')).toBe(`${nobody}\n`);
    } finally {
      process.seteuid?.(0);
    }
    expect(run('cat', '/proc/self/status')).toMatch(/NoNewPrivs:\t1/);
  });

  test('is started within milliseconds', () => {
    const time = (argv: readonly string[]): number => {
      const [file = '', ...args] = argv;
      const times = Array.from({ length: 9 }, () => {
        const begin = performance.now();
        spawnSync(file, args);
        return performance.now() - begin;
      });
      return times.toSorted((a, b) => a - b)[4] ?? 0;
    };
    const [bare, whole] = [time(['true']), time(confined({ argv: ['true'], confinement: within() }))];
    console.log(`a start: ${bare.toFixed(1)} ms, confined ${whole.toFixed(1)} ms`);
    expect(whole - bare).toBeLessThan(500);
  });
});

const asNobody = { uid: 65534, gid: 65534 };
const ofUser = spawnSync('node', ['-e', ''], asNobody).status === 0 && process.getuid?.() === 0;
if (!ofUser) console.log('skipped: confined programs of a user: only root can become another user');

describe.skipIf(!ofUser)('a program of a user who is not root', () => {
  test('has no sockets, and writes in its folders only', () => {
    const work = tempFolder('gtyuser-');
    execFileSync('chmod', ['777', work]);
    for (const name of ['out', 'other']) execFileSync('mkdir', ['-m', '777', join(work, name)]);
    try {
      const words = fenced({ writes: [join(work, 'out')], isOfUser: true }) ?? [];
      const script = `touch ${work}/out/a; touch ${work}/other/a; echo >/dev/tcp/127.0.0.1/1`;
      const { stderr } = spawnSync(words[0] ?? '', [...words.slice(1), 'bash', '--norc', '-c', script], {
        ...asNobody,
        encoding: 'utf8',
      });
      expect(stderr).toMatch(/^touch: .*other\/a.*Permission denied\nbash: socket: Operation not permitted\n/);
      expect([existsSync(join(work, 'out/a')), existsSync(join(work, 'other/a'))]).toEqual([true, false]);
    } finally {
      rmSync(work, { recursive: true });
    }
  });
});

test('a processor whose calls are not known here has no fence', () => {
  expect(fenced({ writes: [] }, 'mips')).toBeUndefined();
});

test.each([
  ['a kernel without a fence is asked once', true, [noFenceHere, 0, 0], 'withoutFence', true],
  ['a refusal to root that may pass is asked again', true, [125, 0, 0], 'withoutFence', false],
  ['root that may nothing for a moment is asked again', true, [noFenceHere, 1, 1], 'mortal', false],
  ['a user is asked once', false, [125, 1, 0], 'ofUser', true],
] as const)('%s', (_what, isRoot, [fence, withoutFence, ofUser], strength, isFinal) => {
  const statuses = { fenced: fence, withoutFence, ofUser };
  expect(judgeStrength((one) => statuses[one], isRoot)).toEqual({ strength, isFinal });
});
