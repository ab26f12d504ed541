// A git source that pushes changes, and one over ssh with a fake ssh that records its calls.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { GitSettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source, SourceChange } from '../../../../reconciler/controller/sources/source.ts';
import { startGitServer, type GitServer } from '../../../support/git/git-server.ts';
import { Repository } from '../../../support/git/repository.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
let repository: Repository;
let server: GitServer;
beforeEach(async () => {
  folder = tempFolder('gantry-push-');
  mkdirSync(join(folder, 'served'));
  repository = new Repository(join(folder, 'served'));
  server = await startGitServer(join(folder, 'served'));
});
afterEach(() => server.close());

function source(settings: Partial<GitSettings> = {}): Source {
  const context = { stateDir: join(folder, 'state'), absolute: (path: string) => join(folder, path), now: () => '' };
  return openSource({ name: 'site', git: { url: `${server.url}/site.git`, ...settings } }, context);
}

const bare = (...args: string[]): string => repository.git('-C', repository.bare, ...args);
const change = (base: string, more: Partial<SourceChange> = {}): SourceChange => ({
  base,
  files: { 'gantry.lock': 'pinned\n' },
  message: 'Pin images',
  author: { name: 'Gantry', email: 'gantry@example.org' },
  ...more,
});

describe('a push', () => {
  test('adds one commit to the followed branch, below the path of the source', async () => {
    const base = repository.commit({ 'web/a.yaml': '1', 'other.yaml': 'x' });
    const site = source({ branch: 'main', path: 'web' });
    await site.check();
    const pushed = await site.push?.(change(base));
    expect(pushed).toMatchObject({ who: 'Gantry', message: 'Pin images' });
    expect(bare('rev-parse', 'main', 'main^')).toBe(`${pushed?.revision ?? ''}\n${base}`);
    expect(bare('ls-tree', '-r', '--name-only', 'main')).toBe('other.yaml\nweb/a.yaml\nweb/gantry.lock');
    expect((await site.check()).revision).toBe(pushed?.revision);
  });

  test('a push of the same change pushes nothing again; a newer one replaces the branch of its own', async () => {
    const base = repository.commit({ 'a.yaml': '1' });
    const site = source({ branch: 'main' });
    const first = await site.push?.(change(base, { branch: 'gantry/update' }));
    expect(await site.push?.(change(base, { branch: 'gantry/update' }))).toEqual(first);
    const next = repository.commit({ 'a.yaml': '2' });
    const second = await site.push?.(change(next, { branch: 'gantry/update' }));
    expect(bare('rev-parse', 'gantry/update', 'gantry/update^', 'main')).toBe(
      `${second?.revision ?? ''}\n${next}\n${next}`,
    );
  });

  test('onto a branch with newer commits is a conflict', async () => {
    const base = repository.commit({ 'a.yaml': '1' });
    const site = source({ branch: 'main' });
    const moved = repository.commit({ 'a.yaml': '2' });
    await expect(site.push?.(change(base))).rejects.toMatchObject({ problem: 'conflict' });
    expect(bare('rev-parse', 'main')).toBe(moved);
  });

  test('refuses hostile paths and branches, links, and a tag without a branch', async () => {
    repository.write({ 'a.yaml': '1' });
    symlinkSync('a.yaml', join(repository.work, 'gantry.lock'));
    const base = repository.commit({});
    const site = source({ branch: 'main' });
    const refused = { problem: 'refused' };
    await expect(site.push?.(change(base))).rejects.toMatchObject(refused);
    for (const path of ['../x', '.git/config', '/x', 'a\u0000b', 'a\nb']) {
      await expect(site.push?.(change(base, { files: { [path]: 'x' } }))).rejects.toMatchObject(refused);
    }
    await expect(site.push?.(change(base, { branch: '--force' }))).rejects.toMatchObject(refused);
    await expect(site.push?.(change('main'))).rejects.toMatchObject(refused);
    repository.tag('v1.0.0');
    await expect(source({ tag: 'v1.0.0' }).push?.(change(base))).rejects.toMatchObject(refused);
    expect(bare('rev-parse', 'main')).toBe(base);
  });

  test('is signed with the SSH key of the source, so that the source accepts it', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'key')]);
    writeFileSync(join(folder, 'signers'), `gantry@example.org ${readFileSync(join(folder, 'key.pub'), 'utf8')}`);
    const base = repository.commit({ 'a.yaml': '1' });
    const site = source({ branch: 'main', signingKeyFile: 'key', verify: { ssh: ['signers'] } });
    const pushed = await site.push?.(change(base));
    expect(await site.check()).toMatchObject({
      revision: pushed?.revision,
      verified: { by: 'ssh', signer: 'gantry@example.org' },
    });
  });
});

describe('over ssh', () => {
  const path = process.env['PATH'] ?? '';
  afterEach(() => {
    process.env['PATH'] = path;
  });

  /** Records its arguments and serves the repository of this test, or fails like ssh. */
  function standIn(failure?: string): void {
    mkdirSync(join(folder, 'bin'), { recursive: true });
    const serve = `for last; do :; done; exec git-upload-pack ${repository.bare}`;
    const end = failure === undefined ? serve : `echo '${failure}' >&2; exit 255`;
    writeFileSync(join(folder, 'bin/ssh'), `#!/bin/sh\nprintf '%s\\n' "$@" > "$HOME/args"\n${end}\n`);
    chmodSync(join(folder, 'bin/ssh'), 0o755);
    process.env['PATH'] = `${join(folder, 'bin')}:${path}`;
  }

  test('key and known hosts are options of ssh, and no shell reads them', async () => {
    const commit = repository.commit({ 'a.yaml': '1' });
    standIn();
    writeFileSync(join(folder, "id $(touch x) 'y"), 'a key', { mode: 0o600 });
    const credentials = { sshKeyFile: "id $(touch x) 'y", knownHostsFile: 'known 100%' };
    const site = source({ url: 'git@git.example.org:team/site.git', credentials });
    expect((await site.check()).revision).toBe(commit);
    expect(site.url).toBe('git.example.org:team/site.git');
    const args = readFileSync(join(folder, 'state/sources/site/home/args'), 'utf8').split('\n');
    expect(args).toEqual(
      expect.arrayContaining([
        'BatchMode=yes',
        'StrictHostKeyChecking=yes',
        `IdentityFile="${folder}/id $(touch x) 'y"`,
        `UserKnownHostsFile="${folder}/known 100%%"`,
        'IdentitiesOnly=yes',
        'git@git.example.org',
      ]),
    );
    expect(args.slice(0, 2)).toEqual(['-F', 'none']);
  });

  test.each([
    ['Host key verification failed.', 'knownHostsFile'],
    ['git@git.example.org: Permission denied (publickey).', 'sshKeyFile'],
  ])('%s is reported with its remedy', async (said, remedy) => {
    standIn(said);
    await expect(source({ url: 'ssh://git@git.example.org/site.git' }).check()).rejects.toMatchObject({
      problem: 'denied',
      message: expect.stringContaining(remedy) as string,
    });
  });
});
