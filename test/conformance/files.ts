// The suite for reading, writing and deleting files of a container on every runtime (spec 4.5), called through the API.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request as httpRequest } from 'node:http';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Answer, TestDaemon } from '../support/daemons/daemon.ts';
import { until } from '../support/until.ts';

export interface FilesHarness {
  /** Has a container `web`; the rest of its root file system does not matter. */
  readonly daemon: () => TestDaemon;
}

const isRoot = process.getuid?.() === 0;

function attributesMissing(): string | undefined {
  if (!isRoot) return 'they need root';
  try {
    for (const program of ['setfattr', 'getfattr', 'setfacl', 'getfacl'])
      execFileSync(program, ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'the packages acl and attr are missing';
  }
}

const noAttributes = attributesMissing();
if (noAttributes !== undefined) console.log(`skipped: attributes of overwritten files: ${noAttributes}`);

/** Nameless files that this process has open in the directory, whose path may be that within the container. */
function uploadsIn(dir: string): number {
  const { dev } = statSync(dir);
  const nameless = new RegExp(`/${basename(dir)}/#\\d+( \\(deleted\\))?$`);
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return nameless.test(readlinkSync(`/proc/self/fd/${fd}`)) && statSync(`/proc/self/fd/${fd}`).dev === dev;
    } catch {
      return false; // It was closed meanwhile.
    }
  }).length;
}

/** Announces a million bytes, sends a part and disconnects. */
async function breakOff({ socketPath }: TestDaemon, path: string, headers: Record<string, string> = {}): Promise<void> {
  await new Promise<void>((resolve) => {
    const all = { 'content-length': 1e6, ...headers };
    const upload = httpRequest({ socketPath, method: 'POST', path, headers: all });
    upload.on('error', () => resolve());
    upload.write(Buffer.alloc(200_000), () => setTimeout(() => upload.destroy(), 50));
  });
}

export function filesConformance({ daemon }: FilesHarness): void {
  const rootfs = (): string => join(daemon().dir, 'storage-pools/default/containers/web/rootfs');
  const at = (path: string): string => `/1.0/containers/web/files?path=${encodeURIComponent(path)}`;
  const get = (path: string): Promise<Answer> => daemon().call('GET', at(path));
  const post = (path: string, body: string | Buffer = '', headers: Record<string, string> = {}): Promise<Answer> =>
    daemon().call('POST', at(path), body, headers);
  const why = (answer: Answer): string => answer.metadata.message as string;
  const longOnes: Readonly<Record<string, string>> = {
    'a long name': `/${'n'.repeat(256)}`,
    'a long path': `/${'a/'.repeat(2100)}`,
  };
  if (!isRoot) console.log('skipped: owners of files in containers: not root');

  describe('reading', () => {
    test('a file is returned as its bytes, with size, type, owner and mode in headers', async () => {
      writeFileSync(join(rootfs(), 'hello'), 'hi there\n', { mode: 0o640 });
      const answer = await get('/hello');
      expect(answer.status).toBe(200);
      expect(answer.bytes.toString()).toBe('hi there\n');
      expect(answer.headers).toMatchObject({
        'x-svc-uid': '0',
        'x-svc-gid': '0',
        'x-svc-mode': '0640',
        'x-svc-type': 'file',
        'content-length': '9',
        'content-type': 'application/octet-stream',
        'content-disposition': 'inline;filename="hello"',
      });
    });

    test('a directory is returned as the names in it, without dots', async () => {
      mkdirSync(join(rootfs(), 'dir/inner'), { recursive: true });
      writeFileSync(join(rootfs(), 'dir/a b'), '');
      const answer = await get('/dir/');
      expect([...(answer.metadata as string[])].sort()).toEqual(['a b', 'inner']);
      expect(answer.headers).toMatchObject({ 'x-svc-type': 'directory', 'x-svc-mode': '0755' });
      expect(answer.body).toMatchObject({ type: 'sync', status_code: 200 });
    });

    test('a symbolic link is returned as its text and is not followed', async () => {
      symlinkSync('../somewhere else', join(rootfs(), 'link'));
      const answer = await get('/link');
      expect(answer.headers['x-svc-type']).toBe('symlink');
      expect(answer.bytes.toString()).toBe('../somewhere else');
    });

    test('relative paths start at the root, and dots never leave it', async () => {
      for (const path of ['hello', '/../../hello', 'dir/../hello', './/dir/./..//hello']) {
        expect((await get(path)).bytes.toString(), path).toBe('hi there\n');
      }
    });

    test('an empty file is empty', async () => {
      writeFileSync(join(rootfs(), 'empty'), '');
      const answer = await get('/empty');
      expect([answer.status, answer.bytes.length, answer.headers['content-length']]).toEqual([200, 0, '0']);
    });

    test.each([
      ['/missing', 404, 'Cannot read /missing in container web: there is no such file or directory'],
      ['/missing/too', 404, 'Cannot read /missing/too in container web: there is no such file or directory'],
      ['/hello/x', 400, 'Cannot read /hello/x in container web: a part of the path is no directory'],
      ['', 400, 'The query parameter path is missing: which file is meant?'],
    ])('%j answers %i', async (path, status, message) => {
      const answer = await get(path);
      expect([answer.status, why(answer)]).toEqual([status, message]);
    });

    test('an unknown container answers 404, and PUT 400', async () => {
      expect((await daemon().call('GET', '/1.0/containers/nobody/files?path=/x')).status).toBe(404);
      expect((await daemon().call('PUT', at('/hello'), 'x')).status).toBe(400);
    });

    test('a name that is not UTF-8 is a name like others', async () => {
      const answer = await daemon().call('POST', '/1.0/containers/web/files?path=/odd%ff%fename', 'bytes');
      expect(answer.status).toBe(200);
      const name = Buffer.concat([Buffer.from(`${rootfs()}/odd`), Buffer.from([0xff, 0xfe]), Buffer.from('name')]);
      expect(readFileSync(name, 'utf8')).toBe('bytes');
      expect((await daemon().call('GET', '/1.0/containers/web/files?path=/odd%FF%FEname')).bytes.toString()).toBe(
        'bytes',
      );
      expect((await daemon().call('DELETE', '/1.0/containers/web/files?path=/odd%ff%fename')).status).toBe(200);
    });
  });

  describe('writing', () => {
    test.runIf(isRoot)('a new file belongs to root with mode 0640 unless the headers say otherwise', async () => {
      expect(await post('/new', 'one')).toMatchObject({ status: 200, metadata: {} });
      expect(lstatSync(join(rootfs(), 'new'))).toMatchObject({ uid: 0, gid: 0, mode: 0o100640 });
      await post('/newdir', '', { 'x-svc-type': 'directory' });
      expect(lstatSync(join(rootfs(), 'newdir'))).toMatchObject({ uid: 0, gid: 0, mode: 0o40750 });
      await post('/given', 'two', { 'x-svc-uid': '1000', 'x-svc-gid': '33', 'x-svc-mode': '04750' });
      const answer = await get('/given');
      expect(answer.headers).toMatchObject({ 'x-svc-uid': '1000', 'x-svc-gid': '33', 'x-svc-mode': '4750' });
    });

    test.runIf(isRoot)('overwriting keeps owner and mode, and changes what headers name', async () => {
      await post('/kept', 'a rather long text', { 'x-svc-mode': '4600', 'x-svc-uid': '3', 'x-svc-gid': '4' });
      await post('/kept', 'short');
      const owned = { 'x-svc-uid': '3', 'x-svc-gid': '4', 'x-svc-mode': '4600', 'content-length': '5' };
      expect((await get('/kept')).headers).toMatchObject(owned);
      await post('/kept', 'short', { 'x-svc-mode': '0755', 'x-svc-uid': '5' });
      expect((await get('/kept')).headers).toMatchObject({ ...owned, 'x-svc-mode': '0755', 'x-svc-uid': '5' });
      await post('/kept', 'short', { 'x-svc-mode': '6755' });
      await post('/kept', 'short', { 'x-svc-uid': '6' });
      expect((await get('/kept')).headers, 'a file given away is setuid no more').toMatchObject({
        'x-svc-uid': '6',
        'x-svc-mode': '0755',
      });
    });

    test.skipIf(noAttributes !== undefined)('overwriting keeps attributes and access lists', async () => {
      const path = join(rootfs(), 'labelled');
      writeFileSync(path, 'old');
      execFileSync('setfattr', ['-n', 'user.label', '-v', 'mine', path]);
      execFileSync('setfacl', ['-m', 'u:7:rw', path]);
      const facts = (): string =>
        execFileSync('getfattr', ['--absolute-names', '-n', 'user.label', path], { encoding: 'utf8' }) +
        execFileSync('getfacl', ['-pn', path], { encoding: 'utf8' });
      const before = facts();
      expect((await post('/labelled', 'new')).status).toBe(200);
      expect(readFileSync(path, 'utf8')).toBe('new');
      expect(facts()).toBe(before);
    });

    test('a program that reads an overwritten file keeps reading the old content', async () => {
      const path = join(rootfs(), 'read');
      writeFileSync(path, 'the old content');
      const fd = openSync(path, 'r');
      try {
        await post('/read', 'new');
        expect(readFileSync(fd, 'utf8')).toBe('the old content');
        expect(readFileSync(path, 'utf8')).toBe('new');
      } finally {
        closeSync(fd);
      }
    });

    test('a file with several names is overwritten under all of them', async () => {
      writeFileSync(join(rootfs(), 'name1'), 'a rather long text');
      linkSync(join(rootfs(), 'name1'), join(rootfs(), 'name2'));
      await post('/name1', 'short');
      expect(readFileSync(join(rootfs(), 'name2'), 'utf8')).toBe('short');
      expect(lstatSync(join(rootfs(), 'name1')).ino).toBe(lstatSync(join(rootfs(), 'name2')).ino);
    });

    test.each([
      ['overwrites', {}],
      ['appends to', { 'x-svc-write': 'append' }],
      ['overwrites one of several names of', {}],
    ] as const)('an upload that breaks off while it %s a file leaves the old content', async (what, headers) => {
      const dir = join(rootfs(), 'whole');
      mkdirSync(dir);
      try {
        writeFileSync(join(dir, 'old'), 'the old content');
        if (what.includes('several')) linkSync(join(dir, 'old'), join(dir, 'other'));
        const names = readdirSync(dir);
        await breakOff(daemon(), at('/whole/old'), headers);
        // The daemon has noticed and deleted what had arrived.
        await until(() => uploadsIn(dir) === 0);
        expect(readFileSync(join(dir, 'old'), 'utf8')).toBe('the old content');
        expect(readdirSync(dir)).toEqual(names);
      } finally {
        rmSync(dir, { recursive: true });
      }
    });

    test('append adds at the end and makes an absent file', async () => {
      await post('/log', 'one\n', { 'x-svc-write': 'append' });
      await post('/log', 'two\n', { 'x-svc-write': 'append' });
      expect(readFileSync(join(rootfs(), 'log'), 'utf8')).toBe('one\ntwo\n');
    });

    test('an append to an absent file that another request makes meanwhile adds to that file', async () => {
      const dir = join(rootfs(), 'appended');
      mkdirSync(dir);
      try {
        const headers = { 'content-length': 8, 'x-svc-write': 'append' };
        const slow = httpRequest({
          socketPath: daemon().socketPath,
          method: 'POST',
          path: at('/appended/log'),
          headers,
        });
        const answered = new Promise<number | undefined>((resolve, reject) => {
          slow.on('error', reject).on('response', (response) => resolve(response.resume().statusCode));
        });
        slow.write('slow');
        await until(() => uploadsIn(dir) === 1);
        expect((await post('/appended/log', 'fast\n', { 'x-svc-write': 'append' })).status).toBe(200);
        slow.end('est\n');
        expect(await answered).toBe(200);
        expect(readFileSync(join(dir, 'log'), 'utf8')).toBe('fast\nslowest\n');
        expect(readdirSync(dir)).toEqual(['log']);
      } finally {
        rmSync(dir, { recursive: true });
      }
    });

    test('a link at the end is followed inside, also to a file that is not there yet', async () => {
      mkdirSync(join(rootfs(), 'data'));
      symlinkSync('/data/real', join(rootfs(), 'current'));
      await post('/current', 'through');
      expect(readFileSync(join(rootfs(), 'data/real'), 'utf8')).toBe('through');
      expect(lstatSync(join(rootfs(), 'current')).isSymbolicLink()).toBe(true);
    });

    test.runIf(isRoot)('making an existing directory succeeds', async () => {
      for (let time = 0; time < 2; time++) {
        expect((await post('/made', '', { 'x-svc-type': 'directory', 'x-svc-mode': '0700' })).status).toBe(200);
      }
      expect(lstatSync(join(rootfs(), 'made'))).toMatchObject({ mode: 0o040700, uid: 0 });
      const onFile = await post('/hello', '', { 'x-svc-type': 'directory' });
      expect([onFile.status, why(onFile)]).toEqual([
        409,
        'Cannot make the directory /hello in container web: a file is there',
      ]);
    });

    test.runIf(isRoot)(
      'a symbolic link has the body as its text and the owner of the headers; another one at its place is refused',
      async () => {
        const headers = { 'x-svc-type': 'symlink', 'x-svc-uid': '7' };
        expect((await post('/soft', '../odd target', headers)).status).toBe(200);
        expect((await post('/soft', '../odd target', headers)).status).toBe(200);
        expect(lstatSync(join(rootfs(), 'soft'))).toMatchObject({ uid: 7 });
        expect((await get('/soft')).bytes.toString()).toBe('../odd target');
        expect((await post('/soft', 'elsewhere', headers)).status).toBe(409);
        expect((await post('/nothing', '', headers)).status).toBe(400);
      },
    );

    test('every wrong header is named', async () => {
      const answer = await post('/bad', 'x', {
        'x-svc-uid': '-1',
        'x-svc-mode': '0999',
        'x-svc-type': 'fifo',
        'x-svc-write': 'shred',
      });
      expect(answer.status).toBe(400);
      const paths = (answer.metadata.details as { path: string }[]).map((one) => one.path);
      expect(paths).toEqual(['x-svc-uid', 'x-svc-mode', 'x-svc-type', 'x-svc-write']);
      expect(existsSync(join(rootfs(), 'bad'))).toBe(false);
    });

    test.each([
      ['/none/below', 404, 'there is no such file or directory'],
      ['/dir', 400, 'it is a directory, not a file'],
      ['/', 400, 'it is a directory, not a file'],
      ['a long name', 400, 'the path or a name in it is too long'],
      ['a long path', 400, 'the path is longer than 4096 bytes'],
    ])('onto %s answers %i', async (path, status, message) => {
      const answer = await post(longOnes[path] ?? path, 'x');
      expect(answer.status).toBe(status);
      expect(why(answer)).toContain(message);
    });

    test('a NUL byte in the path is refused', async () => {
      const answer = await daemon().call('POST', '/1.0/containers/web/files?path=/a%00b', 'x');
      expect([answer.status, why(answer)]).toEqual([
        400,
        'Cannot write /a\0b in container web: the path has a NUL byte in it',
      ]);
    });

    test('an aborted upload leaves no new file and no other trace', async () => {
      const before = (await get('/made')).metadata as string[];
      await breakOff(daemon(), at('/made/half'));
      await expect.poll(() => get('/made/half').then((answer) => answer.status)).toBe(404);
      expect((await get('/made')).metadata).toEqual(before);
    });
  });

  describe('deleting', () => {
    test('removes files, links themselves, FIFOs and empty directories', async () => {
      const target = join(rootfs(), 'data/real');
      symlinkSync('/data/real', join(rootfs(), 'gone1'));
      mkdirSync(join(rootfs(), 'gone2'));
      execFileSync('mkfifo', [join(rootfs(), 'gone3')]);
      for (const name of ['gone1', 'gone2', 'gone3']) {
        expect((await daemon().call('DELETE', at(`/${name}`))).status, name).toBe(200);
        expect(existsSync(join(rootfs(), name)), name).toBe(false);
      }
      expect(existsSync(target)).toBe(true);
    });

    test.each([
      ['/missing', 404, 'there is no such file or directory'],
      ['/dir', 400, 'the directory is not empty'],
      ['/', 400, 'it is the root directory'],
      ['/dir/..', 400, 'it is the root directory'],
    ])('%s answers %i', async (path, status, message) => {
      const answer = await daemon().call('DELETE', at(path));
      expect(answer.status).toBe(status);
      expect(why(answer)).toBe(`Cannot delete ${path} in container web: ${message}`);
    });
  });

  describe('paths that are no files', () => {
    test.runIf(isRoot)('FIFOs, sockets and devices are refused at once', async () => {
      execFileSync('mkfifo', [join(rootfs(), 'fifo')]);
      execFileSync('mknod', [join(rootfs(), 'null'), 'c', '1', '3']);
      for (const [name, kind] of [
        ['fifo', 'a FIFO'],
        ['null', 'a device'],
      ] as const) {
        const read = await get(`/${name}`);
        expect([read.status, why(read)]).toEqual([
          400,
          `Cannot read /${name} in container web: it is ${kind}, not a file`,
        ]);
        expect((await post(`/${name}`, 'x')).status).toBe(400);
      }
    });

    test('links out of the tree lead nowhere outside', async () => {
      const canary = join(daemon().dir, 'canary');
      writeFileSync(canary, 'secret of the host');
      chmodSync(canary, 0o644);
      const up = '../'.repeat(30);
      symlinkSync(canary, join(rootfs(), 'absolute'));
      symlinkSync(`${up}${canary.slice(1)}`, join(rootfs(), 'relative'));
      symlinkSync(`${up}${daemon().dir.slice(1)}`, join(rootfs(), 'outside'));
      symlinkSync('/proc/self/root', join(rootfs(), 'magic'));
      for (const path of ['/outside/canary', `/magic${canary}`, `/${up}${canary}`]) {
        expect((await get(path)).status, path).toBe(404);
        expect((await post(path, 'overwritten')).status, path).toBe(404);
        expect((await daemon().call('DELETE', at(path))).status, path).toBe(404);
      }
      for (const path of ['/absolute', '/relative']) expect((await post(path, 'overwritten')).status, path).toBe(404);
      expect(readFileSync(canary, 'utf8')).toBe('secret of the host');
    });

    test('a loop of links ends in an error', async () => {
      symlinkSync('circle2', join(rootfs(), 'circle1'));
      symlinkSync('circle1', join(rootfs(), 'circle2'));
      const answer = await get('/circle1/x');
      expect([answer.status, why(answer)]).toEqual([
        400,
        'Cannot read /circle1/x in container web: too many symbolic links',
      ]);
    });
  });

  test('no descriptor stays open', async () => {
    const open = (): number => Number(execFileSync('sh', ['-c', `ls /proc/${process.pid}/fd | wc -l`]).toString());
    await get('/hello');
    const before = open();
    for (let time = 0; time < 10; time++) {
      await get('/hello');
      await get('/dir');
      await post('/dir/again', 'x');
      await post('/none/there', 'x');
      await get('/circle1/x');
    }
    await expect.poll(open).toBeLessThanOrEqual(before + 2);
  });
}
