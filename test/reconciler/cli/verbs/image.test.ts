// `gantry image` against real daemons on the simulation: creation, deletion, and error messages.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { createContainer, makeDaemon, seed, type Json, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { fakeServer, serveDirect, sha256 } from '../../../support/images/remotes.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let daemon: TestDaemon;
let other: TestDaemon;
const here = tempFolder('gtyi-');
const image = (args: readonly string[]): Promise<CliRun> =>
  cli(['image', ...args], { env: { GANTRY_HOST: `unix://${daemon.socketPath}` } });
const ok = async (args: readonly string[]): Promise<string> => {
  const ran = await image(args);
  expect(ran.code, ran.stderr).toBe(0);
  return ran.stdout.trim();
};
let count = 0;
const bytesOf = (): Buffer =>
  tarOf(
    { ...metadataFile, content: `${goodMetadata}properties: {os: busybox, n: "${process.pid}.${(count += 1)}"}\n` },
    rootfsDirectory,
  );
function fileOf(bytes: Buffer): string {
  const path = join(here, `image${(count += 1)}.tar`);
  writeFileSync(path, bytes);
  return path;
}

beforeAll(async () => {
  daemon = await makeDaemon();
  other = await makeDaemon({ https: '127.0.0.1:0' });
  await seed(daemon);
});
afterAll(async () => {
  await daemon.cleanUp();
  await other.cleanUp();
});

describe('gantry image', () => {
  test('An image of one file is imported, listed, aliased, exported and deleted', async () => {
    const bytes = bytesOf();
    const path = fileOf(bytes);
    expect(await ok(['import', path, '--alias', 'one', '--property', 'kind=mine', '--public'])).toBe(sha256(bytes));
    expect(await daemon.get(`/1.0/images/${sha256(bytes)}`)).toMatchObject({
      public: true,
      properties: { os: 'busybox', kind: 'mine' },
    });
    const listed = await ok(['list', 'kind=mine']);
    expect(listed).toMatch(new RegExp(`^ALIAS .*\\n.*one +${sha256(bytes).slice(0, 12)} +yes`));
    expect(JSON.parse(await ok(['list', 'one', '--json']))).toMatchObject({ fingerprint: sha256(bytes) });
    await ok(['alias', 'two/x', sha256(bytes).slice(0, 9)]);
    await ok(['unalias', 'one']);
    const back = join(here, 'back.tar');
    expect(await ok(['export', 'two/x', back])).toBe(back);
    expect(sha256(readFileSync(back))).toBe(sha256(bytes));
    const again = await image(['export', 'two/x', back]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/it already exists/)]);
    expect(sha256(readFileSync(back))).toBe(sha256(bytes));
    await ok(['delete', 'two/x']);
    const gone = await image(['delete', 'two/x']);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringMatching(/Image two\/x not found/)]);
  });

  test('A large import shows lines, on a terminal a bar that is erased, and with --json nothing', async () => {
    const large = (): string =>
      fileOf(
        tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory, {
          name: `rootfs/${count}`,
          content: 'x'.repeat(12_000_000),
        }),
      );
    const env = { GANTRY_HOST: `unix://${daemon.socketPath}`, TERM: 'xterm', CI: '' };
    const path = large();
    const plain = await cli(['image', 'import', path], { env });
    const lines = plain.stderr.trimEnd().split('\n');
    expect(plain.code, plain.stderr).toBe(0);
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.at(-1)).toMatch(/\.tar: 100% \(12\.0\dMB of 12\.0\dMB\) sent$/);
    let clock = 0;
    const painted = await cli(['image', 'import', large()], { env, stderrTty: true, nowMs: () => (clock += 200) });
    expect(painted.stderr).toMatch(/\[=+ +\] \d+% \(/);
    expect(painted.stderr.endsWith('\r\u001b[K')).toBe(true);
    expect(painted.stderr).not.toContain('\n');
    const quiet = await cli(['image', 'import', large(), '--json'], { env, stderrTty: true });
    expect([quiet.code, quiet.stderr]).toEqual([0, '']);
  });

  test('An image of two files is imported and exported', async () => {
    const [metadata, rootfs] = [bytesOf(), tarOf({ name: './', flag: '5' }, { name: './a', content: 'x' })];
    const meta = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: "${sha256(metadata)}"}\n` });
    const fingerprint = await ok(['import', fileOf(meta), fileOf(rootfs)]);
    expect(fingerprint).toBe(sha256(meta, rootfs));
    const back = join(here, 'split');
    expect(await ok(['export', fingerprint, back])).toBe(`${back}\n${back}.root`);
    expect(sha256(readFileSync(back), readFileSync(`${back}.root`))).toBe(fingerprint);
  });

  test('An image is copied from another server, refreshed, and imported from an address', async () => {
    const bytes = bytesOf();
    await other.ok('POST', '/1.0/images', bytes, { 'x-svc-public': '1', 'x-svc-aliases': 'alias=there' });
    const cert = join(here, 'cert.pem');
    writeFileSync(cert, (await other.get('/1.0')).environment.certificate as string);
    const from = ['--from', `https://${other.daemon.httpsAddress()}`, '--from-cert', cert];
    const copied = await ok(['copy', 'there', ...from, '--alias', 'here', '--copy-aliases', '--auto-update']);
    expect(copied).toBe(sha256(bytes));
    const got = await daemon.get(`/1.0/images/${copied}`);
    expect([got.auto_update, (got.aliases as Json[]).map(({ name }) => name as string)]).toEqual([
      true,
      ['here', 'there'],
    ]);
    expect(await ok(['refresh', 'here'])).toBe('here is the newest');
    const missing = await image(['copy', 'nowhere', ...from]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/no image with alias nowhere/)]);
    expect((await image(['copy', 'there'])).code).not.toBe(0);
    const direct = bytesOf();
    const server = await fakeServer('http', serveDirect(direct));
    onTestFinished(() => server.close());
    expect(await ok(['import', `${server.url}/x`])).toBe(sha256(direct));
  });

  test('A container and a snapshot are published', async () => {
    await createContainer(daemon, 'web');
    await daemon.ok('POST', '/1.0/containers/web/snapshots', { name: 's' });
    const first = await ok(['publish', 'web', '--alias', 'web', '--compression', 'zstd', '--property', 'from=web']);
    expect((await daemon.get(`/1.0/images/${first}`)).properties).toEqual({ from: 'web' });
    const second = await ok(['publish', 'web/s', '--property', 'from=snapshot']);
    expect((await daemon.get(`/1.0/images/${second}`)).properties).toEqual({ from: 'snapshot' });
    const refused = await image(['publish', 'nope']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/nope/)]);
  });

  test('A wrong command line is refused before it changes anything', async () => {
    const before = readdirSync(here);
    expect(await image(['import', join(here, 'none.tar')])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Cannot read/),
    });
    const folder = await image(['import', here]);
    expect([folder.code, folder.stderr]).toEqual([1, expect.stringMatching(/is a directory: name an image/)]);
    expect((await image(['import', 'https://x/y', 'second'])).stderr).toMatch(/whole image/);
    expect((await image(['publish', 'web', '--property', 'x'])).stderr).toMatch(/is not NAME=VALUE/);
    expect((await image(['export', 'nothing'])).stderr).toMatch(/Image nothing not found/);
    expect((await image(['unalias', 'nothing'])).stderr).toMatch(/Alias nothing not found/);
    expect(readdirSync(here)).toEqual(before);
  });
});
