// `gantry file` against the real daemon on the simulation: copies in both directions, and error messages.
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../../support/cli/io.ts';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const daemon = await seededDaemon();
const here = tempFolder('gtyf-');
const rootfs = (): string => join(daemon.dir, 'storage-pools/default/containers/web/rootfs');
const file = (args: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(['file', ...args], { ...setting, env: { GANTRY_HOST: `unix://${daemon.socketPath}` } });
const ok = async (args: readonly string[], setting: CliSetting = {}): Promise<string> => {
  const ran = await file(args, setting);
  expect(ran.code, ran.stderr).toBe(0);
  return ran.stdout;
};

beforeAll(async () => {
  await createContainer(daemon, 'web');
});

describe('push and pull', () => {
  test('A file is pushed and pulled with its permissions', async () => {
    writeFileSync(join(here, 'script'), '#!/bin/sh\n', { mode: 0o750 });
    await ok(['push', join(here, 'script'), 'web/run.sh']);
    expect(lstatSync(join(rootfs(), 'run.sh'))).toMatchObject({ mode: 0o100750, size: 10 });
    await ok(['pull', 'web/run.sh', join(here, 'back')]);
    expect(lstatSync(join(here, 'back')).mode).toBe(0o100750);
    expect(readFileSync(join(here, 'back'), 'utf8')).toBe('#!/bin/sh\n');
  });

  test('A directory as target receives the file under its own name', async () => {
    mkdirSync(join(rootfs(), 'opt'));
    await ok(['push', join(here, 'script'), 'web/opt/']);
    mkdirSync(join(here, 'into'));
    await ok(['pull', 'web/opt/script', join(here, 'into')]);
    expect(readFileSync(join(here, 'into/script'), 'utf8')).toBe('#!/bin/sh\n');
  });

  test('A large file is pushed whole, with a line for each tenth on standard error', async () => {
    writeFileSync(join(here, 'large'), Buffer.alloc(9_000_000, 'x'));
    const { code, stderr } = await file(['push', join(here, 'large'), 'web/large']);
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/large: 100% \(9\.00MB of 9\.00MB\) sent\n$/);
    expect(stderr.split('\n').length).toBeGreaterThan(5);
    expect(lstatSync(join(rootfs(), 'large')).size).toBe(9_000_000);
  });

  test('- is stdin and stdout', async () => {
    await ok(['push', '-', 'web/from-stdin'], { piped: 'typed' });
    expect(await ok(['pull', 'web/from-stdin', '-'])).toBe('typed');
  });

  test.runIf(process.getuid?.() === 0)('Flags set owner and mode and create missing directories', async () => {
    await ok([
      'push',
      '--uid',
      '1000',
      '--gid',
      '33',
      '--mode',
      '0600',
      '-p',
      join(here, 'script'),
      'web/srv/deep/er/x',
    ]);
    expect(lstatSync(join(rootfs(), 'srv/deep/er/x'))).toMatchObject({ uid: 1000, gid: 33, mode: 0o100600 });
    expect(lstatSync(join(rootfs(), 'srv/deep'))).toMatchObject({ uid: 1000, mode: 0o040755 });
  });

  test('Directories are copied with all their contents, and links as links', async () => {
    const tree = join(here, 'tree');
    mkdirSync(join(tree, 'a/b'), { recursive: true });
    writeFileSync(join(tree, 'a/b/file'), 'deep');
    writeFileSync(join(tree, 'odd name ü'), 'odd');
    symlinkSync('../outside', join(tree, 'a/link'));
    await ok(['push', '-r', tree, 'web/tree']);
    await ok(['pull', '-r', 'web/tree', join(here, 'tree2')]);
    expect(readFileSync(join(here, 'tree2/a/b/file'), 'utf8')).toBe('deep');
    expect(readFileSync(join(here, 'tree2/odd name ü'), 'utf8')).toBe('odd');
    expect(readlinkSync(join(here, 'tree2/a/link'))).toBe('../outside');
  });

  test('A link named on the command line is followed inside the container', async () => {
    symlinkSync('/from-stdin', join(rootfs(), 'opt/alias'));
    expect(await ok(['pull', 'web/opt/alias', '-'])).toBe('typed');
  });

  test('Files are deleted', async () => {
    await ok(['delete', 'web/from-stdin', 'web/opt/alias']);
    expect((await file(['pull', 'web/from-stdin', '-'])).code).toBe(1);
  });

  test.each([
    [['pull', 'web/none', '-'], 1, 'Cannot read /none in container web: there is no such file or directory'],
    [['pull', 'web/tree', '-'], 1, 'web/tree is a directory'],
    [['pull', 'web/tree', 'x'], 1, 'web/tree is a directory: give --recursive to copy all of it'],
    [['pull', 'nobody/x', '-'], 1, 'container/nobody does not exist: gantry list shows what there is'],
    [['push', '/nonexistent/file', 'web/x'], 1, 'Cannot read /nonexistent/file'],
    [['push', '/', 'web/x'], 1, '/ is a directory: give --recursive'],
    [['delete', 'web/tree'], 1, 'Cannot delete /tree in container web: the directory is not empty'],
    [['pull', 'web', '-'], 64, '"web" is not NAME/path'],
    [['push', '--mode', '99', '/x', 'web/x'], 64, '--mode "99" is not octal'],
    [['push', '--uid', 'root', '/x', 'web/x'], 64, '--uid "root" is not a number'],
    [['pull', 'web/x'], 64, "missing required argument 'target'"],
  ])('gantry file %j exits with %i', async (args, code, text) => {
    const ran = await file(args);
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringContaining(text)]);
  });
});

describe('a malicious container', () => {
  let server: Server;
  let answers: Record<string, { type: string; body: string }> = {};
  const socket = (): string => join(here, 'liar.socket');
  const pull = (target: string): Promise<CliRun> =>
    cli(['file', 'pull', '-r', 'web/', target], { env: { GANTRY_HOST: `unix://${socket()}` } });

  beforeAll(async () => {
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://x');
      if (url.pathname === '/1.0') {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ type: 'sync', status_code: 200, metadata: { auth: 'trusted' } }));
        return;
      }
      const answer = answers[url.searchParams.get('path') ?? ''] ?? { type: 'file', body: 'evil' };
      response.setHeader('x-lxd-type', answer.type);
      response.setHeader('x-lxd-mode', '04777');
      if (answer.type === 'file' && answer.body === 'half') {
        response.setHeader('content-length', '8');
        response.write(answer.body, () => response.destroy());
      } else response.end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(socket(), resolve));
  });
  afterAll(() => void server.close());

  const listing = (...names: string[]) => ({
    type: 'directory',
    body: JSON.stringify({ type: 'sync', metadata: names }),
  });

  test('A pull writes nothing outside the target', async () => {
    for (const name of ['../escaped', '..', 'a/../../escaped', '/escaped', '']) {
      answers = { '/': listing(name) };
      const ran = await pull(join(here, 'lied'));
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('impossible name')]);
    }
    expect(() => lstatSync(join(here, 'escaped'))).toThrow('ENOENT');
  });

  test('A pull writes through no link that the container sent before', async () => {
    const outside = join(here, 'outside.txt');
    writeFileSync(outside, 'mine');
    mkdirSync(join(here, 'lied2'));
    answers = { '/': listing('x'), '/x': { type: 'symlink', body: outside } };
    expect((await pull(join(here, 'lied2'))).code).toBe(0);
    answers = { '/': listing('x') };
    expect((await pull(join(here, 'lied2'))).code).toBe(1);
    expect(readFileSync(outside, 'utf8')).toBe('mine');
  });

  test('A pull that is cut off leaves the file that was there, and no part of a new one', async () => {
    const cut = join(here, 'cut/rootfs');
    mkdirSync(cut, { recursive: true });
    writeFileSync(join(cut, 'x'), 'mine');
    for (const name of ['x', 'new']) {
      answers = { '/': listing(name), [`/${name}`]: { type: 'file', body: 'half' } };
      const ran = await pull(join(here, 'cut'));
      expect([ran.code, ran.stderr]).toEqual([
        1,
        expect.stringMatching(/^Error: \/\w+ was cut off: other side closed\n$/),
      ]);
    }
    expect([readdirSync(cut), readFileSync(join(cut, 'x'), 'utf8')]).toEqual([['x'], 'mine']);
  });

  test('A link that cannot be made leaves the file that was there; one that can takes its place', async () => {
    const linked = join(here, 'linked/rootfs');
    mkdirSync(linked, { recursive: true });
    writeFileSync(join(linked, 'x'), 'mine');
    answers = { '/': listing('x'), '/x': { type: 'symlink', body: 'long'.repeat(2000) } };
    const ran = await pull(join(here, 'linked'));
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('cannot make the link')]);
    expect([readdirSync(linked), readFileSync(join(linked, 'x'), 'utf8')]).toEqual([['x'], 'mine']);
    answers = { '/': listing('x'), '/x': { type: 'symlink', body: 'elsewhere' } };
    expect((await pull(join(here, 'linked'))).code).toBe(0);
    expect([readdirSync(linked), readlinkSync(join(linked, 'x'))]).toEqual([['x'], 'elsewhere']);
  });

  test('A pull sets no setuid bit', async () => {
    answers = { '/': listing('s') };
    expect((await pull(join(here, 'lied3'))).code).toBe(0);
    expect(lstatSync(join(here, 'lied3/s')).mode & 0o7000).toBe(0);
  });
});
