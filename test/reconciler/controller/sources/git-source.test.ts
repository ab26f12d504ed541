// The git source against a real server (`git http-backend` on loopback): references, refusals, leftovers.
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { GitSettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source, SourceProblem } from '../../../../reconciler/controller/sources/source.ts';
import { strengthHere } from '../../../../server/lib/confined.ts';
import { startGitServer, type GitServer } from '../../../support/git/git-server.ts';
import { Repository } from '../../../support/git/repository.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
let repository: Repository;
let server: GitServer;
beforeEach(async () => {
  folder = tempFolder('gantry-git-');
  mkdirSync(join(folder, 'served'));
  repository = new Repository(join(folder, 'served'));
  server = await startGitServer(join(folder, 'served'));
});
afterEach(() => server.close());

function source(settings: Partial<GitSettings> = {}, name = 'site'): Source {
  const entry = { name, git: { url: `${server.url}/site.git`, ...settings } };
  const context = {
    stateDir: join(folder, 'state'),
    absolute: (path: string) => join(folder, path),
    now: () => '2026-01-01T00:00:00Z',
  };
  return openSource(entry, context);
}

const read = async (from: Source, revision: string, path: string): Promise<string> =>
  readFileSync(join((await from.checkout(revision)).dir, path), 'utf8');

async function refusal(work: () => unknown): Promise<{ problem: SourceProblem; message: string }> {
  try {
    await work();
  } catch (error) {
    const { problem, message } = error as { problem: SourceProblem; message: string };
    return { problem, message };
  }
  throw new Error('nothing was refused');
}

describe('a git source', () => {
  test('follows a branch over HTTP, with a separate folder for each commit', async () => {
    const first = repository.commit({ 'web.yaml': 'one' }, 'Say one');
    const site = source({ branch: 'main' });
    const found = await site.check();
    expect(found).toMatchObject({ revision: first, reference: 'main', who: 'Ada', message: 'Say one' });
    expect(Date.parse(found.at)).toBeGreaterThan(0);
    const second = repository.commit({ 'web.yaml': 'two', 'deep/er/db.yaml': 'db' }, 'Say two');
    expect((await site.check()).revision).toBe(second);
    expect(await read(site, second, 'web.yaml')).toBe('two');
    expect(await read(site, second, 'deep/er/db.yaml')).toBe('db');
    expect(await read(site, first, 'web.yaml')).toBe('one');
  });

  test('follows the default branch, a tag, and the greatest version in a range', async () => {
    repository.git('checkout', '-q', '-b', 'trunk');
    const tip = repository.commit({ 'a.yaml': '1' }, 'one', 'trunk');
    repository.git('-C', repository.bare, 'symbolic-ref', 'HEAD', 'refs/heads/trunk');
    for (const tag of ['v1.2.0', '1.10.0', 'v2.0.0', 'v1.11.0-rc.1', 'nightly']) repository.tag(tag, `Release ${tag}`);
    expect(await source({}, 'default').check()).toMatchObject({ revision: tip, reference: 'trunk' });
    expect(await source({ tag: 'nightly' }, 'tagged').check()).toMatchObject({ revision: tip, reference: 'nightly' });
    expect(await source({ semver: '^1.2' }, 'range').check()).toMatchObject({ revision: tip, reference: '1.10.0' });
    expect(await source({ semver: '>=1.11.0-0 <2' }, 'early').check()).toMatchObject({ reference: 'v1.11.0-rc.1' });
    expect(await refusal(() => source({ semver: '^3' }, 'none').check())).toMatchObject({ problem: 'not-found' });
  });

  test('reads file URLs, ids of commits for previews, and old commits after the mirror was lost', async () => {
    const first = repository.commit({ 'a.yaml': '1' });
    const second = repository.commit({ 'a.yaml': '2' });
    const other = repository.commit({ 'a.yaml': '3' }, 'preview', 'feature/x');
    const site = source({ url: `file://${repository.bare}` });
    expect((await site.check()).revision).toBe(second);
    expect(await site.resolve?.('feature/x')).toMatchObject({ revision: other, reference: 'feature/x' });
    rmSync(join(folder, 'state'), { recursive: true });
    expect(await read(source({ url: `file://${repository.bare}` }), first, 'a.yaml')).toBe('1');
    expect(await refusal(() => site.resolve?.('absent'))).toMatchObject({ problem: 'not-found' });
    expect(await refusal(() => site.checkout('f'.repeat(40)))).toMatchObject({ problem: 'not-found' });
  });

  test('contains only files below its path', async () => {
    const commit = repository.commit({ 'hosts/a/web.yaml': 'web', 'other/big.bin': 'x'.repeat(5000) });
    const site = source({ path: './hosts/a/', limits: { size: 1_000_000 } });
    await site.check();
    expect(readdirSync((await site.checkout(commit)).dir)).toEqual(['web.yaml']);
    expect(await refusal(() => source({ path: 'absent' }, 'absent').check())).toMatchObject({ problem: 'not-found' });
    expect(await refusal(() => source({ path: '../up' }))).toMatchObject({ problem: 'refused' });
  });

  test('sends one request per check when nothing has changed', async () => {
    repository.commit({ 'a.yaml': '1' });
    const site = source();
    await site.check();
    const before = server.requests.length;
    await site.check();
    expect(server.requests.slice(before).map(({ path }) => path.replace(/\?.*/, ''))).toEqual([
      '/site.git/info/refs',
      '/site.git/git-upload-pack',
    ]);
  });

  test('deletes unused checkouts', async () => {
    const first = repository.commit({ 'a.yaml': '1' });
    const site = source();
    await site.check();
    const second = repository.commit({ 'a.yaml': '2' });
    await site.check();
    const [old, current] = [(await site.checkout(first)).dir, (await site.checkout(second)).dir];
    const later = performance.now() + 3_600_000;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    onTestFinished(() => void vi.restoreAllMocks());
    await site.keepOnly(new Set([second]));
    expect([existsSync(old), existsSync(current)]).toEqual([false, true]);
  });

  test('sends the password of a file, to this server only, and never shows it', async () => {
    await server.close();
    server = await startGitServer(join(folder, 'served'), { user: 'bot', password: 's3cret-token' });
    const commit = repository.commit({ 'a.yaml': '1' });
    writeFileSync(join(folder, 'token'), 's3cret-token\n');
    const credentials = { username: 'bot', passwordFile: 'token' };
    expect((await source({ credentials }).check()).revision).toBe(commit);
    expect(server.requests.some(({ authorization }) => authorization !== undefined)).toBe(true);
    writeFileSync(join(folder, 'token'), 'wrong-token');
    const denied = await refusal(() => source({ credentials }).check());
    expect(denied.problem).toBe('denied');
    expect(denied.message).not.toMatch(/token|Ym90/);
    expect(await refusal(() => source({}).check())).toMatchObject({ problem: 'denied' });
  });

  test('does not follow a redirect with credentials', async () => {
    repository.commit({ 'a.yaml': '1' });
    writeFileSync(join(folder, 'token'), 's3cret');
    const other = await startGitServer(join(folder, 'served'));
    onTestFinished(() => other.close());
    server.intercept = (request, response) => {
      response.writeHead(301, { Location: `${other.url}${request.url ?? ''}` }).end();
      return true;
    };
    expect(await refusal(() => source({ credentials: { passwordFile: 'token' } }).check())).toMatchObject({
      problem: 'refused',
    });
    expect(other.requests).toEqual([]);
  });
});

describe('a rewritten branch', () => {
  const rewrite = (): string => {
    repository.git('checkout', '-q', '--orphan', 'anew');
    return repository.commit({ 'a.yaml': 'rewritten' }, 'Anew');
  };

  test('is followed by default', async () => {
    repository.commit({ 'a.yaml': '1' });
    const site = source({ branch: 'main' });
    await site.check();
    const anew = rewrite();
    expect((await site.check()).revision).toBe(anew);
  });

  test('is refused with a linear history, also after a restart; later commits on the old history are followed', async () => {
    const first = repository.commit({ 'a.yaml': '1' });
    const linear = (): Source => source({ branch: 'main', history: 'linear' });
    await linear().check();
    const anew = rewrite();
    const refused = await refusal(() => linear().check());
    expect(refused.problem).toBe('refused');
    expect(refused.message).toContain(`now ${anew.slice(0, 12)}, before ${first.slice(0, 12)}`);
    expect(refused.message).toContain('history: any');
    repository.git('checkout', '-q', '-f', 'main');
    const next = repository.commit({ 'a.yaml': '2' });
    expect((await linear().check()).revision).toBe(next);
    repository.git('reset', '-q', '--hard', first);
    repository.push();
    expect(await refusal(() => linear().check())).toMatchObject({ problem: 'refused' });
  });

  test('a tag that moves is refused with a linear history', async () => {
    repository.commit({ 'a.yaml': '1' });
    repository.tag('stable');
    const linear = source({ tag: 'stable', history: 'linear' });
    await linear.check();
    repository.commit({ 'a.yaml': '2' });
    repository.tag('stable');
    const { message } = await refusal(() => linear.check());
    expect(message).toContain('stable was moved');
  });

  test('another default branch is refused with a linear history when it does not hold the last commit', async () => {
    repository.commit({ 'a.yaml': '1' });
    const site = source({ history: 'linear' });
    await site.check();
    const bare = join(folder, 'served', 'site.git');
    repository.git('checkout', '-q', '-b', 'trunk');
    const next = repository.commit({ 'a.yaml': '2' }, 'Next', 'trunk');
    repository.git('--git-dir', bare, 'symbolic-ref', 'HEAD', 'refs/heads/trunk');
    expect((await site.check()).revision).toBe(next);
    rewrite();
    repository.push('anew');
    repository.git('--git-dir', bare, 'symbolic-ref', 'HEAD', 'refs/heads/anew');
    const { message } = await refusal(() => source({ history: 'linear' }).check());
    expect(message).toContain('anew is the default branch now, and does not hold that commit');
    // The configuration names the branch: that is no rewrite.
    await source({ branch: 'anew', history: 'linear' }).check();
  });

  test('a lower version, and a new one of an older commit, are refused with a linear history', async () => {
    repository.commit({ 'a.yaml': '1' });
    repository.tag('v1.0.0');
    repository.commit({ 'a.yaml': '2' });
    repository.tag('v1.1.0');
    const linear = source({ semver: '^1', history: 'linear' });
    await linear.check();
    const bare = join(folder, 'served', 'site.git');
    repository.git('--git-dir', bare, 'tag', '-d', 'v1.1.0');
    expect((await refusal(() => linear.check())).message).toContain('v1.0.0 is a lower version than the one');
    repository.git('--git-dir', bare, 'tag', 'v1.2.0', 'v1.0.0');
    expect((await refusal(() => linear.check())).message).toContain('v1.2.0 is a tag of an older commit');
    const next = repository.commit({ 'a.yaml': '3' });
    repository.tag('v1.3.0');
    expect((await linear.check()).revision).toBe(next);
  });
});

describe('hostile repositories', () => {
  test('hostile repositories with more files or bytes than the limits are refused before they are written', async () => {
    repository.commit(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}.yaml`, 'x'])));
    expect(await refusal(() => source({ limits: { files: 20 } }).check())).toMatchObject({ problem: 'limit' });
    repository.commit({ 'zeros.yaml': '0'.repeat(3_000_000) });
    expect(await refusal(() => source({ limits: { size: 2_000_000 } }, 'small').check())).toMatchObject({
      problem: 'limit',
    });
    expect(readdirSync(join(folder, 'state/sources/small')).includes('checkouts')).toBe(true);
    expect(readdirSync(join(folder, 'state/sources/small/checkouts'))).toEqual([]);
  });

  test('hostile repositories with a history beyond the limits are refused when their authors are asked for', async () => {
    const first = repository.commit({ 'a.yaml': '1' });
    repository.commit({ 'noise.bin': randomBytes(2_000_000).toString('base64') });
    const last = repository.commit({ 'noise.bin': 'gone' });
    const small = source({ limits: { size: 1_000_000 } });
    expect((await small.check()).revision).toBe(last);
    expect(await refusal(() => small.authors?.(last, first))).toMatchObject({ problem: 'limit' });
    expect(await source({}, 'large').authors?.(last, first)).toHaveLength(2);
  });

  test('directions and controls in the author or subject of a commit are visible', async () => {
    repository.gitWith(
      { GIT_AUTHOR_NAME: 'Eve\u202E' },
      'commit',
      '-q',
      '--allow-empty',
      '-m',
      '\u2066ab\u001b[31m\u009b1m',
    );
    repository.push();
    const { who, message } = await source().check();
    expect([who, message]).toEqual([String.raw`Eve\u202e`, String.raw`\u2066ab\u001b[31m\u009b1m`]);
  });

  test.each(['any', 'linear'] as const)('authors of all new commits are known, however many (%s)', async (history) => {
    const first = repository.commit({ 'a.yaml': '1' });
    const followed = source({ history }, history);
    await followed.check();
    repository.pushMany(['Eve', ...Array.from({ length: 210 }, () => 'Ada')]);
    const { revision } = await followed.check();
    expect(await followed.authors?.(revision, first)).toContain('Eve');
  });

  test('hostile repositories that unfold to a billion files are refused quickly', async () => {
    const names = Array.from({ length: 32 }, (_, at) => `n${String(at).padStart(2, '0')}`);
    const blob = repository.writeObject('blob', Buffer.from('x'));
    let tree = writeRawTree(names.map((name) => ['100644', name, blob]));
    for (let depth = 0; depth < 5; depth += 1) tree = writeRawTree(names.map((name) => ['40000', name, tree]));
    const commit = repository.git('commit-tree', tree, '-m', 'bomb');
    repository.git('push', '-q', '-f', 'origin', `${commit}:refs/heads/main`);
    expect(await refusal(() => source({ branch: 'main' }).check())).toMatchObject({ problem: 'limit' });
  });

  test('hostile repositories with submodules are refused', async () => {
    repository.commit({ 'a.yaml': '1' });
    repository.git('update-index', '--add', '--cacheinfo', `160000,${repository.head()},vendor/module`);
    repository.git('commit', '-q', '-m', 'module');
    repository.push();
    const { problem, message } = await refusal(() => source().check());
    expect(problem).toBe('refused');
    expect(message).toContain('"vendor/module"');
  });

  test.each([
    ['/etc/passwd', 'absolute path'],
    ['../../outside', 'leads'],
    ['nothing-here', 'leads nowhere'],
    ['evil.yaml', 'leads nowhere'],
    ['.', 'folder that holds it'],
  ])('with a link to %s are refused', async (target, why) => {
    repository.write({ 'a.yaml': '1' });
    symlinkSync(target, join(repository.work, 'evil.yaml'));
    repository.commit({});
    const { problem, message } = await refusal(() => source().check());
    expect(problem).toBe('refused');
    expect(message).toContain(why);
  });

  test('cannot lead out of the tree through a link in the middle of a path', async () => {
    // As text, deep/down/../../x is inside the tree; for the kernel it is not.
    repository.write({ 'deep/er/file.yaml': '1', 'x.yaml': '1' });
    symlinkSync('../..', join(repository.work, 'deep/er/top'));
    symlinkSync('deep/er/top/../state', join(repository.work, 'evil'));
    repository.commit({});
    mkdirSync(join(folder, 'state'), { recursive: true });
    expect((await refusal(() => source().check())).problem).toBe('refused');
  });

  test('keep links inside of the tree', async () => {
    repository.write({ 'base/a.yaml': 'base' });
    mkdirSync(join(repository.work, 'prod'));
    symlinkSync('../base/a.yaml', join(repository.work, 'prod/a.yaml'));
    const commit = repository.commit({});
    const site = source();
    await site.check();
    expect(await read(site, commit, 'prod/a.yaml')).toBe('base');
    expect(lstatSync(join((await site.checkout(commit)).dir, 'prod/a.yaml')).isSymbolicLink()).toBe(true);
  });

  test.each(['..', '.git', '.GIT', 'a\u0007b'])(
    'hostile repositories with a file named %j are refused',
    async (name) => {
      const blob = repository.writeObject('blob', Buffer.from('x'));
      const inner = writeRawTree([['100644', 'x.yaml', blob]]);
      const tree = writeRawTree([['40000', name, inner]]);
      const commit = repository.git('commit-tree', tree, '-m', 'evil');
      repository.git('push', '-q', '-f', 'origin', `${commit}:refs/heads/main`);
      const { problem, message } = await refusal(() => source({ branch: 'main' }).check());
      expect(problem).toBe('refused');
      expect(message).toMatch(/is refused: it /);
      expect(existsSync(join(folder, 'state/sources/site/x.yaml'))).toBe(false);
    },
  );

  test('cannot run a filter, attribute or hook', async () => {
    const commit = repository.commit({
      '.gitattributes': '* text eol=crlf filter=evil export-ignore\n',
      'a.yaml': 'one\ntwo $Id$\n',
    });
    const site = source();
    await site.check();
    expect(await read(site, commit, 'a.yaml')).toBe('one\ntwo $Id$\n');
  });

  test.each(['--upload-pack=touch /tmp/x', '-x', 'a\nb', 'a..b', 'a b', 'x.lock', 'refs/../../x', '@{-1}', 'a:b', ''])(
    'the branch name %j is refused before git runs',
    async (branch) => {
      for (const settings of [{ branch }, { tag: branch }]) {
        expect((await refusal(() => source(settings).check())).problem).toBe('refused');
      }
      expect((await refusal(() => source().resolve?.(branch))).problem).toBe('refused');
      expect(server.requests).toEqual([]);
    },
  );

  test.each([
    'ext::sh -c "touch /tmp/x"',
    '--upload-pack=x',
    'ssh://-oProxyCommand=x/y',
    '-oProxyCommand=x:y',
    'ssh://-x@host/y',
    'git://host/x',
    'https://user:pass@host/x',
    'https://token@host/x',
    'https://host/x?token=y',
    'file://host/x',
    'https://host/\u0000',
    'fd::17',
    'relative/path',
  ])('the URL %j is refused', async (url) => {
    const { problem, message } = await refusal(() => source({ url }));
    expect(problem).toBe('refused');
    expect(message).not.toMatch(/pass@|token@/);
  });

  test('a server that never ends its answer is dropped at the time limit', async () => {
    server.intercept = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' });
      response.write('001e# service=git-upload-pack\n');
      return true;
    };
    const begun = Date.now();
    expect(await refusal(() => source({ limits: { timeout: '1s' } }).check())).toMatchObject({ problem: 'limit' });
    expect(Date.now() - begun).toBeLessThan(10_000);
  });

  test('a server that is gone is reported as unreachable, and an absent repository as not found', async () => {
    expect(await refusal(() => source({ url: `${server.url}/absent.git` }).check())).toMatchObject({
      problem: 'not-found',
    });
    expect(await refusal(() => source({ url: 'http://127.0.0.1:1/x.git' }).check())).toMatchObject({
      problem: 'unreachable',
    });
  });

  test.skipIf(strengthHere() !== 'fenced')(
    'a compromised git cannot write outside the folder of its source, nor connect while it only reads',
    async () => {
      const commit = repository.commit({ 'a.yaml': '1' });
      const hostile = join(folder, 'hostile-git');
      const outside = join(folder, 'escaped');
      const script = `#!/bin/bash
touch ${outside} 2>/dev/null
case " $* " in *" cat-file "*) echo >/dev/tcp/127.0.0.1/${new URL(server.url).port} && touch ${folder}/state/sources/site/connected ;; esac 2>/dev/null
exec git "$@"
`;
      writeFileSync(hostile, script, { mode: 0o755 });
      const context = {
        stateDir: join(folder, 'state'),
        absolute: (path: string) => join(folder, path),
        now: () => '2026-01-01T00:00:00Z',
        gitProgram: hostile,
      };
      const taken = openSource({ name: 'site', git: { url: `${server.url}/site.git` } }, context);
      expect((await taken.check()).revision).toBe(commit);
      expect(await read(taken, commit, 'a.yaml')).toBe('1');
      expect([existsSync(outside), existsSync(join(folder, 'state/sources/site/connected'))]).toEqual([false, false]);
    },
  );

  test('the error for a missing git says what to install', async () => {
    const context = {
      stateDir: join(folder, 'state'),
      absolute: (path: string) => path,
      now: () => '',
      gitProgram: 'git-that-is-absent',
    };
    const { problem, message } = await refusal(() =>
      openSource({ name: 'site', git: { url: 'https://example.org/x' } }, context).check(),
    );
    expect(problem).toBe('unavailable');
    expect(message).toContain('install the package git');
  });
});

function writeRawTree(entries: readonly (readonly [string, string, string])[]): string {
  return repository.writeObject(
    'tree',
    Buffer.concat(
      entries.map(([mode, name, id]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])),
    ),
  );
}
