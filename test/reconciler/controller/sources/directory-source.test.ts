// The directory source: each state of a folder is a revision with its own copy.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { DirectorySettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
beforeEach(() => {
  folder = tempFolder('gantry-dir-');
  mkdirSync(join(folder, 'site/.git'), { recursive: true });
  writeFileSync(join(folder, 'site/.git/config'), 'x');
  writeFileSync(join(folder, 'site/web.yaml'), 'one');
});

function source(settings: Partial<DirectorySettings> = {}): Source {
  const context = {
    stateDir: join(folder, 'state'),
    absolute: (path: string) => join(folder, path),
    now: () => '2026-01-01T00:00:00Z',
  };
  return openSource({ name: 'site', directory: { path: 'site', ...settings } }, context);
}

test('a change of the folder is a new revision; the old one stays readable, and the same contents are the same revision', async () => {
  const site = source();
  const first = await site.check();
  expect(first).toEqual({
    revision: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    at: '2026-01-01T00:00:00Z',
  });
  expect(await site.check()).toBe(first);
  writeFileSync(join(folder, 'site/web.yaml'), 'two');
  const second = await site.check();
  expect(second.revision).not.toBe(first.revision);
  const text = async (revision: string): Promise<string> =>
    readFileSync(join((await site.checkout(revision)).dir, 'web.yaml'), 'utf8');
  expect([await text(first.revision), await text(second.revision)]).toEqual(['one', 'two']);
  writeFileSync(join(folder, 'site/web.yaml'), 'one');
  expect((await source().check()).revision).toBe(first.revision);
  expect(readdirSync((await site.checkout(first.revision)).dir)).toEqual(['web.yaml']);
});

test('kept revisions stay, others are reported as missing', async () => {
  const site = source();
  const first = await site.check();
  writeFileSync(join(folder, 'site/web.yaml'), 'two');
  const second = await site.check();
  await site.keepOnly(new Set([second.revision]));
  expect((await site.checkout(first.revision)).dir).toContain('state/sources/site');
  // Its manifests are read by now.
  const later = performance.now() + 3_600_000;
  vi.spyOn(performance, 'now').mockReturnValue(later);
  onTestFinished(() => void vi.restoreAllMocks());
  await site.keepOnly(new Set([second.revision]));
  await expect(site.checkout(first.revision)).rejects.toMatchObject({ problem: 'not-found' });
  expect((await site.checkout(second.revision)).dir).toContain('state/sources/site');
});

test('links that leave the folder, pipes, and more files than the limit are refused', async () => {
  symlinkSync('/etc', join(folder, 'site/etc'));
  await expect(source().check()).rejects.toMatchObject({ problem: 'refused' });
  rmSync(join(folder, 'site/etc'));
  execFileSync('mkfifo', [join(folder, 'site/pipe')]);
  await expect(source().check()).rejects.toMatchObject({ problem: 'refused' });
  rmSync(join(folder, 'site/pipe'));
  await expect(source({ limits: { size: 2 } }).check()).rejects.toMatchObject({ problem: 'limit' });
  rmSync(join(folder, 'site'), { recursive: true });
  await expect(source().check()).rejects.toMatchObject({ problem: 'not-found' });
});

test('a file that is deleted during the copy only fails this check', async () => {
  const site = source();
  const files = Array.from({ length: 40 }, (_, at) => join(folder, `site/d${at}/e/f/a.yaml`));
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'x');
  }
  const look = site.check().then(
    () => 'read',
    (error: unknown) => String(error),
  );
  const copies = join(folder, 'state');
  const isBegun = (): boolean =>
    existsSync(copies) && readdirSync(copies, { recursive: true }).some((path) => String(path).endsWith('a.yaml'));
  while (!isBegun()) await new Promise((resolve) => setImmediate(resolve));
  for (const file of files) rmSync(file);
  expect(await look).toContain('ENOENT');
  expect((await site.check()).revision).toMatch(/^sha256:/);
});

test('an entry with no kind of source or with two is refused', () => {
  const context = { stateDir: folder, absolute: (path: string) => path, now: () => '' };
  expect(() => openSource({ name: 'x' }, context)).toThrow(
    'needs exactly one of git, directory, archive, oci, bucket: none is given',
  );
  expect(() => openSource({ name: 'x', git: { url: 'https://h/x' }, directory: { path: 'y' } }, context)).toThrow(
    'git and directory are given',
  );
});
