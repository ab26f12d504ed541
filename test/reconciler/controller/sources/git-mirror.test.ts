// The mirror of a git source: damage, leftovers of killed programs and of full disks.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { gitEnvironment } from '../../../../reconciler/controller/sources/git/environment.ts';
import { createGitProgram } from '../../../../reconciler/controller/sources/git/git-program.ts';
import { readGitUrl } from '../../../../reconciler/controller/sources/git/git-url.ts';
import { Mirror } from '../../../../reconciler/controller/sources/git/mirror.ts';
import { defaultLimits } from '../../../../reconciler/controller/sources/files/limits.ts';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { startGitServer, type GitServer } from '../../../support/git/git-server.ts';
import { Repository } from '../../../support/git/repository.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
let repository: Repository;
let server: GitServer;
beforeEach(async () => {
  folder = tempFolder('gantry-git-mirror-');
  mkdirSync(join(folder, 'served'));
  repository = new Repository(join(folder, 'served'));
  server = await startGitServer(join(folder, 'served'));
});
afterEach(() => server.close());

function source(more: { readonly gitProgram?: string } = {}, limits = {}): Source {
  const absolute = (path: string) => join(folder, path);
  const context = { stateDir: join(folder, 'state'), absolute, now: () => '2026-01-01T00:00:00Z', ...more };
  return openSource({ name: 'site', git: { url: `${server.url}/site.git`, limits } }, context);
}

test('a mirror with a lock of a killed process heals itself', async () => {
  repository.commit({ 'big.yaml': Array.from({ length: 40_000 }, (_, at) => String(Math.sin(at))).join('\n') });
  await source().check();
  const mirror = join(folder, 'state/sources/site/mirror.git');
  mkdirSync(join(mirror, 'refs/gantry'), { recursive: true });
  for (const lock of ['refs/gantry/incoming.lock', 'shallow.lock', 'config.lock'])
    writeFileSync(join(mirror, lock), '');
  const next = repository.commit({ 'a.yaml': '2' });
  expect((await source().check()).revision).toBe(next);
});

test.each([
  ['a lock of shallow', 'shallow.lock', ''],
  ['an empty HEAD', 'HEAD', ''],
  ['an empty reference', 'refs/gantry/incoming', ''],
  ['no objects', 'objects', undefined],
])('a small mirror with %s heals itself, also for a look for authors', async (_what, path, text) => {
  const first = repository.commit({ 'a.yaml': '1' });
  const site = source();
  await site.check();
  const file = join(folder, 'state/sources/site/mirror.git', path);
  const damage = () => {
    rmSync(file, { recursive: true, force: true });
    if (text !== undefined) writeFileSync(file, text);
  };
  damage();
  const next = repository.commit({ 'a.yaml': '2' });
  expect((await site.check()).revision).toBe(next);
  damage();
  expect(await site.authors?.(next, first)).toContain('Ada');
});

test('a fetch that ends early leaves no partial objects, which would keep a disk full', async () => {
  const first = repository.commit({ 'a.yaml': '1' });
  const small = join(folder, 'small-files');
  const room = join(folder, 'room');
  writeFileSync(room, '64');
  writeFileSync(small, `#!/bin/bash\nulimit -f $(< ${room})\ntrap '' XFSZ\nexec git "$@"\n`, { mode: 0o755 });
  const site = source({ gitProgram: small });
  expect((await site.check()).revision).toBe(first);
  const files = Array.from({ length: 150 }, (_, at) => [`f${at}`, randomBytes(2000).toString('hex')]);
  const next = repository.commit({ ...Object.fromEntries(files), big: randomBytes(400_000).toString('hex') });
  await expect(site.check()).rejects.toThrow('git fetch');
  const left = readdirSync(join(folder, 'state/sources/site/mirror.git'), { recursive: true });
  expect(left.filter((path) => String(path).includes('tmp_'))).toEqual([]);
  writeFileSync(room, 'unlimited');
  expect((await site.check()).revision).toBe(next);
});

test('a commit that is too large is fetched once, and the next smaller one is used', async () => {
  const log = join(folder, 'state/sources/site/log');
  mkdirSync(dirname(log), { recursive: true });
  const gitProgram = join(folder, 'git');
  writeFileSync(gitProgram, `#!/bin/sh\necho "$*" >>${log}\nexec git "$@"\n`, { mode: 0o755 });
  const fetches = () => readFileSync(log, 'utf8').match(/ fetch /g)?.length;
  const small = source({ gitProgram }, { size: 1_000_000 });
  repository.commit({ 'noise.bin': randomBytes(2_000_000).toString('base64') });
  for (let look = 0; look < 3; look += 1) await expect(small.check()).rejects.toThrow('git fetches a commit whole');
  expect(fetches()).toBe(1);
  const next = repository.commit({ 'noise.bin': 'gone' });
  expect((await small.check()).revision).toBe(next);
});

test('a damaged mirror inside another repository leaves that one alone', async () => {
  const first = repository.commit({ 'a.yaml': '1' });
  execFileSync('git', ['init', '--quiet', folder]);
  const url = readGitUrl(`file://${repository.bare}`);
  const { env } = await gitEnvironment(url, undefined, join(folder, 'site/home'), (path) => path);
  // Without a fence, as on kernels that have none.
  const mirror = new Mirror(
    join(folder, 'site/mirror.git'),
    createGitProgram({ env, shown: 'source site' }),
    url,
    defaultLimits,
    false,
  );
  const branch = { ref: 'refs/heads/main', shown: 'main' };
  await mirror.fetch(branch);
  rmSync(join(folder, 'site/mirror.git/objects'), { recursive: true });
  expect(await mirror.fetch(branch)).toEqual({ commit: first });
  expect(existsSync(join(folder, '.git/refs/gantry'))).toBe(false);
});

test('the note of the last used commit is on the disk before it gets its name: an empty one would stop the source', async () => {
  repository.commit({ 'a.yaml': '1' });
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as { sync: (this: { readonly fd: number }) => Promise<void> };
  await handle.close();
  const { sync } = prototype;
  const synced: string[] = [];
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(prototype, 'sync').mockImplementation(function (this: { readonly fd: number }) {
    synced.push(basename(readlinkSync(`/proc/self/fd/${this.fd}`)));
    return sync.call(this);
  });
  await source().check();
  expect(synced).toContainEqual(expect.stringMatching(/^used\.json\..*\.new$/));
});
