// `gantry update --commit` and `--branch`: gantry.lock is committed alone in the repository of the manifests, and an unsuitable
// repository is refused before anything is written.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { Repository } from '../../support/git/repository.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
const folder = tempFolder('gt-update-');
const images: string[] = [];
let repository: Repository;
let count = 0;

const stack = `kind: storage_pool
name: p
driver: dir
---
kind: container
name: c1
devices: { root: { type: disk, path: /, pool: p } }
source: { type: image, alias: base }
manage: { image: new-only }
`;
const other = 'f'.repeat(64);
const git = (...args: string[]): string => repository.git(...args);
const state = (): unknown => [
  git('rev-parse', '--branches'),
  git('status', '--porcelain'),
  git('symbolic-ref', '-q', 'HEAD'),
];
const point = async (at: number): Promise<void> => {
  const { status } = await daemon.call('PUT', '/1.0/images/aliases/base', {
    description: '',
    target: images[at] ?? '',
  });
  expect(status).toBe(200);
};
const env = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  GIT_CONFIG_NOSYSTEM: '1',
  ...more,
});
const update = (...flags: string[]): Promise<CliRun> => updateWith({}, ...flags);
const updateWith = (more: Readonly<Record<string, string>>, ...flags: string[]): Promise<CliRun> =>
  cli(['update', join(repository.work, 'web'), '--host', `unix://${daemon.socketPath}`, ...flags], { env: env(more) });
async function done(...flags: string[]): Promise<string> {
  const run = await update(...flags);
  expect(run.code, run.stdout + run.stderr).toBe(0);
  return run.stdout;
}
const lock = (): string => join(repository.work, 'web/gantry.lock');
const lockAt = (ref: string): string => git('show', `${ref}:web/gantry.lock`);

beforeAll(async () => {
  daemon = await makeDaemon({ runtime: 'sim' });
  for (const serial of [1, 2]) {
    const file = join(folder, `image${serial}.tar`);
    const content = `${goodMetadata}properties: {n: "${serial}"}\n`;
    writeFileSync(file, tarOf({ name: 'metadata.yaml', content, mode: 0o644 }, rootfsDirectory));
    const run = await cli(['image', 'import', file, '--host', `unix://${daemon.socketPath}`]);
    images.push(/[0-9a-f]{64}/.exec(run.stdout)?.[0] ?? `no fingerprint in ${run.stdout}${run.stderr}`);
  }
  await daemon.call('POST', '/1.0/images/aliases', { name: 'base', description: '', target: images[0] ?? '' });
  // The author comes from the user's git settings.
  writeFileSync(join(folder, '.gitconfig'), '[user]\nname = Mia\nemail = mia@example.org\n');
});
afterAll(() => daemon.cleanUp());
beforeEach(async () => {
  repository = new Repository(folder, `site${(count += 1)}`);
  repository.commit({
    'web/stack.yaml': stack,
    'web/gantry.lock': `version: 1\nimages: { base: ${images[0]} }\n`,
    'notes.txt': 'old\n',
  });
  await point(1);
});

test('--commit commits only gantry.lock; other staged and changed files stay as they are', async () => {
  repository.write({ 'notes.txt': 'staged\n' });
  git('add', 'notes.txt');
  repository.write({ 'web/stack.yaml': `${stack}# changed\n` });
  const before = git('rev-parse', 'HEAD');
  const said = await done('--commit');
  expect(said).toContain(`base: ${images[0]?.slice(0, 12)} -> ${images[1]?.slice(0, 12)}`);
  expect(said).toContain(`Committed ${git('rev-parse', 'HEAD').slice(0, 12)} on main`);
  expect(git('diff-tree', '--no-commit-id', '--name-only', '-r', 'HEAD')).toBe('web/gantry.lock');
  expect(git('rev-parse', 'HEAD^')).toBe(before);
  expect(lockAt('HEAD')).toContain(images[1]);
  expect(git('log', '-1', '--format=%an <%ae>|%s')).toBe('Mia <mia@example.org>|Update image base');
  expect(git('status', '--porcelain')).toBe('M  notes.txt\n M web/stack.yaml');
  expect(git('ls-remote', 'origin', 'main')).toContain(before);

  const head = git('rev-parse', 'HEAD');
  expect(await done('--commit', '--push')).toContain('is up to date: 1 images');
  expect(git('rev-parse', 'HEAD')).toBe(head);
});

test('--commit takes a new file, and one that an earlier gantry update wrote', async () => {
  await done();
  expect(git('status', '--porcelain')).toBe('M web/gantry.lock');
  await done('--commit');
  expect(lockAt('HEAD')).toContain(images[1]);

  git('rm', '--quiet', 'web/gantry.lock');
  git('commit', '--quiet', '-m', 'Without pins');
  await done('--commit');
  expect(git('diff-tree', '--no-commit-id', '--name-status', '-r', 'HEAD')).toBe('A\tweb/gantry.lock');
  expect(git('status', '--porcelain')).toBe('');
});

test('--commit is the first commit of a new repository', async () => {
  rmSync(join(repository.work, '.git'), { recursive: true });
  git('init', '--quiet', '-b', 'main');
  await done('--commit');
  expect(git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('web/gantry.lock');
});

test('--commit --push pushes the branch to the one that it follows', async () => {
  git('push', '--quiet', 'origin', 'HEAD:refs/heads/live');
  git('fetch', '--quiet', 'origin');
  git('checkout', '--quiet', '-b', 'here', '--track', 'origin/live');
  expect(await done('--commit', '--push')).toContain('on here, pushed to origin');
  expect(git('ls-remote', 'origin', 'live')).toContain(git('rev-parse', 'HEAD'));
  expect(git('ls-remote', 'origin', 'here')).toBe('');
});

test('--branch commits to a new branch beside the working tree, and --push brings it to the remote', async () => {
  repository.write({ 'notes.txt': 'staged\n' });
  git('add', 'notes.txt');
  const before = state();
  const text = readFileSync(lock(), 'utf8');
  expect(await done('--branch', 'images/may', '--push')).toMatch(
    /Committed [0-9a-f]{12} on images\/may, pushed to origin/,
  );
  const made = git('rev-parse', 'images/may');
  git('branch', '--quiet', '-m', 'images/may', 'kept');
  expect(git('ls-remote', 'origin', 'images/may')).toContain(made);
  expect(git('diff-tree', '--no-commit-id', '--name-only', '-r', made)).toBe('web/gantry.lock');
  expect(git('rev-parse', `${made}^`)).toBe(git('rev-parse', 'main'));
  expect(lockAt(made)).toContain(images[1]);
  git('branch', '--quiet', '-D', 'kept');
  expect(state()).toEqual(before);
  expect(readFileSync(lock(), 'utf8')).toBe(text);

  // A branch that only the remote has is not moved.
  const again = await update('--branch', 'images/may', '--push');
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('origin has a branch images/may already')]);
  expect(state()).toEqual(before);
});

test('the commit names a pin that is no longer used, and --branch commits nothing without a change', async () => {
  repository.commit({ 'web/gantry.lock': `version: 1\nimages: { base: ${images[1]}, gone: ${other} }\n` });
  await done('--branch', 'fewer');
  expect(git('log', '-1', '--format=%B', 'fewer').trim()).toBe('Update image gone\n\ngone: no longer used');
  git('merge', '--quiet', 'fewer');
  expect(await done('--branch', 'none')).toContain('is up to date');
  expect(git('branch', '--list', 'none')).toBe('');
});

test('hooks and signing of the repository apply', async () => {
  const hook = join(repository.work, '.git/hooks/pre-commit');
  mkdirSync(dirname(hook), { recursive: true });
  writeFileSync(hook, '#!/bin/sh\necho "no commits on fridays" >&2\nexit 1\n');
  chmodSync(hook, 0o755);
  const head = git('rev-parse', 'HEAD');
  const run = await update('--commit');
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('no commits on fridays')]);
  expect(git('rev-parse', 'HEAD')).toBe(head);
  rmSync(hook);

  const key = join(folder, `key${count}`);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  for (const [name, value] of [
    ['commit.gpgSign', 'true'],
    ['gpg.format', 'ssh'],
    ['user.signingKey', key],
  ] as const)
    git('config', name, value);
  await done('--branch', 'signed');
  await done('--commit');
  for (const ref of ['signed', 'HEAD']) expect(git('cat-file', 'commit', ref)).toContain('BEGIN SSH SIGNATURE');
});

test('a run inside a git hook uses the repository of the manifests, not the one that git names', async () => {
  const run = await updateWith({ GIT_DIR: '/nonexistent/.git', GIT_INDEX_FILE: 'index.lock' }, '--commit');
  expect(run.code, run.stderr).toBe(0);
  expect(git('status', '--porcelain')).toBe('');
});

test('a push that the server refuses leaves the commit, and says how to push it', async () => {
  const hook = join(repository.bare, 'hooks/pre-receive');
  mkdirSync(dirname(hook), { recursive: true });
  writeFileSync(hook, '#!/bin/sh\necho "main is protected"\nexit 1\n');
  chmodSync(hook, 0o755);
  const run = await update('--commit', '--push');
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(/Committed [0-9a-f]{12} on main, but did not push it: .*main is protected/);
  expect(run.stderr).toContain('Push it with: git push origin main');
  expect(lockAt('HEAD')).toContain(images[1]);
});

describe('refused before anything is written', () => {
  const cases: readonly (readonly [
    name: string,
    flags: readonly string[],
    make: () => void,
    words: string,
    code: number,
  ])[] = [
    ['--push alone', ['--push'], () => {}, '--push needs --commit or --branch NAME', 64],
    [
      'a folder that is no repository',
      ['--commit'],
      () => rmSync(join(repository.work, '.git'), { recursive: true }),
      'is not in the working tree of a git repository',
      1,
    ],
    [
      'an existing branch',
      ['--branch', 'main'],
      () => {},
      'the branch main exists; name another, or delete it (git branch -d main)',
      1,
    ],
    [
      'a branch below another',
      ['--branch', 'main/x'],
      () => {},
      'the branch main exists, and git keeps no branch main/x beside it',
      1,
    ],
    [
      'a branch above another',
      ['--branch', 'a'],
      () => void git('branch', 'a/b'),
      'the branch a/b exists, and git keeps no branch a beside it',
      1,
    ],
    [
      'no remote',
      ['--commit', '--push'],
      () => void git('remote', 'remove', 'origin'),
      'add one with git remote add origin URL',
      1,
    ],
    [
      'a remote that is away',
      ['--commit', '--push'],
      () => rmSync(join(repository.bare, 'HEAD')),
      'does not appear to be a git repository',
      1,
    ],
    ['a detached HEAD', ['--commit'], () => void git('checkout', '--quiet', '--detach'), 'HEAD is detached', 1],
    [
      'an ignored file',
      ['--commit'],
      () => {
        repository.write({ '.gitignore': '*.lock\n' });
        git('rm', '--quiet', '--cached', 'web/gantry.lock');
      },
      'a .gitignore excludes it',
      1,
    ],
    [
      'a link',
      ['--commit'],
      () => {
        rmSync(lock());
        repository.write({ 'pins.lock': 'version: 1\nimages: {}\n' });
        symlinkSync('../pins.lock', lock());
      },
      'it is a link; name the file that it leads to with --lock-file',
      1,
    ],
    [
      'a merge that is not finished',
      ['--commit'],
      () => {
        git('checkout', '--quiet', '-b', 'side');
        repository.write({ 'notes.txt': 'side\n' });
        git('commit', '--quiet', '-am', 'side');
        git('checkout', '--quiet', 'main');
        git('merge', '--quiet', '--no-ff', '--no-commit', 'side');
      },
      'a merge is not finished',
      1,
    ],
    [
      '--branch without a commit',
      ['--branch', 'x'],
      () => {
        rmSync(join(repository.work, '.git'), { recursive: true });
        git('init', '--quiet');
      },
      'the repository has no commit to begin the branch at',
      1,
    ],
  ];
  test.each(cases)('%s', async (_, flags, make, words, code) => {
    make();
    const read = (): unknown => [
      existsSync(join(repository.work, '.git')) && git('for-each-ref'),
      existsSync(join(repository.work, '.git')) && git('status', '--porcelain'),
      readFileSync(lock(), 'utf8'),
    ];
    const before = read();
    const run = await update(...flags);
    expect([run.code, run.stderr]).toEqual([code, expect.stringContaining(words)]);
    expect(read()).toEqual(before);
  });

  test('ambiguous names for git or a shell are refused', async () => {
    const before = state();
    for (const name of ['', '-x', '../x', 'a b', '@{-1}', 'HEAD', 'a\nb', '\u001b[2J', 'a:b', 'x'.repeat(251)]) {
      const run = await update(`--branch=${name}`);
      expect([run.code, run.stderr]).toEqual([64, expect.stringContaining('--branch "')]);
      expect(run.stderr).not.toContain('\u001b');
    }
    expect(state()).toEqual(before);
  });

  test('a missing author and a missing git are refused', async () => {
    const before = state();
    const nobody = {
      HOME: '/nonexistent',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'user.useConfigOnly',
      GIT_CONFIG_VALUE_0: 'true',
    };
    for (const flags of [['--commit'], ['--branch', 'x']]) {
      const run = await updateWith(nobody, ...flags);
      expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('git config user.name')]);
    }
    const run = await updateWith({ PATH: '/nonexistent' }, '--commit');
    expect([run.code, run.stderr]).toEqual([
      1,
      expect.stringContaining('the program git is not installed; install the package git'),
    ]);
    expect(state()).toEqual(before);
  });
});
