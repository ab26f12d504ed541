// What makes a release verifiable: signed checksums, and an image that is the same each time and runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeImage, type ImageFacts } from '../../packaging/build/oci.ts';
import { writeSums } from '../../packaging/build/sums.ts';
import { tempFolder } from '../support/temp-folder.ts';

const has = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).error === undefined;

const hasGpg = has('gpg');
if (!hasGpg) console.log('skipped: signed checksums, because gpg is not installed');

test.skipIf(!hasGpg)(
  'a user with the public key alone verifies the checksums, and notices a changed list and a changed package',
  () => {
    const folder = tempFolder('gantry-sums-');
    const [builder, user, release] = ['builder', 'user', 'release'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const made of [builder, user, release]) mkdirSync(made, { mode: 0o700 });
    const gpg = (home: string, ...args: readonly string[]) =>
      spawnSync('gpg', ['--homedir', home, '--batch', '--quiet', ...args], { encoding: 'buffer' });
    try {
      gpg(
        builder,
        '--passphrase',
        '',
        '--quick-generate-key',
        'Release <release@example.org>',
        'ed25519',
        'sign',
        'never',
      );
      gpg(user, '--import', writeKey(join(folder, 'key'), gpg(builder, '--export').stdout));
      writeFileSync(join(release, 'gantry.deb'), 'package');
      writeSums(release, 'release@example.org', { GNUPGHOME: builder });
      const verify = (): number | null =>
        gpg(user, '--verify', `${release}/SHA256SUMS.asc`, `${release}/SHA256SUMS`).status;
      const check = (): number | null =>
        spawnSync('sha256sum', ['--check', '--ignore-missing', '--status', 'SHA256SUMS'], { cwd: release }).status;
      expect([verify(), check()]).toEqual([0, 0]);
      appendFileSync(join(release, 'gantry.deb'), '!');
      expect([verify(), check()]).toEqual([0, 1]);
      writeSums(release, undefined);
      expect(verify()).toBe(1);
    } finally {
      for (const home of [builder, user]) spawnSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    }
  },
);

function writeKey(file: string, key: Buffer): string {
  writeFileSync(file, key);
  return file;
}

const busybox = ['/bin/busybox', '/usr/bin/busybox'].find((path) => spawnSync(path, ['true']).status === 0);
const lacks =
  process.getuid?.() !== 0
    ? 'root is needed'
    : busybox === undefined
      ? 'busybox-static is not installed'
      : has('umoci')
        ? undefined
        : 'umoci is not installed';
if (lacks !== undefined) console.log(`skipped: the image of the controller: ${lacks}`);

const facts: ImageFacts = {
  name: 'gantry-controller',
  version: '1.2.3',
  epoch: 1_700_000_000,
  entrypoint: ['/bin/busybox', 'cat'],
  command: ['/greeting'],
  user: '1000:1000',
  folder: '/',
  environment: { PATH: '/bin' },
  ports: ['8440/tcp'],
  labels: { 'org.opencontainers.image.title': 'test' },
};

describe.skipIf(lacks !== undefined)('an image', () => {
  const folder = tempFolder('gantry-oci-');
  async function build(name: string): Promise<string> {
    const [tree, work, file] = [join(folder, name), join(folder, `${name}-work`), join(folder, `${name}.tar`)];
    mkdirSync(join(tree, 'bin'), { recursive: true });
    mkdirSync(work);
    copyFileSync(busybox ?? '', join(tree, 'bin/busybox'));
    writeFileSync(join(tree, 'greeting'), 'hello\n');
    for (const path of ['bin/busybox', 'bin', '.']) chmodSync(join(tree, path), 0o755);
    await writeImage(tree, facts, file, work);
    return file;
  }

  test('has the same bytes when its files are the same', async () => {
    const [one, other] = [await build('one'), await build('other')];
    expect(readFileSync(one).equals(readFileSync(other))).toBe(true);
  });

  test('unpacks with a tool of others, with its settings, and its program runs there', async () => {
    const [file, layout, bundle] = [await build('whole'), join(folder, 'layout'), join(folder, 'bundle')];
    mkdirSync(layout);
    execFileSync('tar', ['-xf', file, '-C', layout]);
    execFileSync('umoci', ['unpack', '--image', `${layout}:1.2.3`, bundle], { stdio: 'ignore' });
    const { process: asked } = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')) as {
      process: { args: string[]; user: { uid: number }; cwd: string };
    };
    expect(asked).toMatchObject({ args: ['/bin/busybox', 'cat', '/greeting'], user: { uid: 1000 }, cwd: '/' });
    const run = ['--userspec=1000:1000', join(bundle, 'rootfs'), ...asked.args];
    expect(execFileSync('chroot', run, { encoding: 'utf8' })).toBe('hello\n');
  });
});
