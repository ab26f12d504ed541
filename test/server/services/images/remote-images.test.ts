// Images from other servers over the real daemon: another daemon, simplestreams, containers of them, automatic updates (spec 2.5.1, 4.8; real
// system 14.5-14.7). remote-servers.test.ts has addresses, proxies, and servers that attack or fail.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { makeDaemon, seed, type Json, type TestDaemon } from '../../../support/daemons/daemon.ts';
import {
  expectFailed,
  fingerprintOf,
  metadataOf,
  rootfsOf,
  serve,
  tarball,
  unique,
} from '../../../support/images/pulls.ts';
import { serveTree, sha256, streamTree, type FakeServer } from '../../../support/images/remotes.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';
import { until } from '../../../support/until.ts';

const indexBytes = 200_000;
const minutes = testMinutes(new Date().toISOString());
let local: TestDaemon;
let remote: TestDaemon;
let certificate = '';

beforeAll(async () => {
  remote = await makeDaemon({ https: '127.0.0.1:0' });
  local = await makeDaemon({ remoteLimits: { indexBytes }, time: minutes.time });
  await seed(local);
  certificate = (await remote.get('/1.0')).environment.certificate;
});
afterAll(async () => {
  await local?.cleanUp();
  await remote?.cleanUp();
});

const address = (): string => `https://${remote.daemon.httpsAddress()}`;
const from = (source: object): object => ({ type: 'image', mode: 'pull', server: address(), certificate, ...source });
async function onRemote(bytes = tarball(), headers: Record<string, string> = {}): Promise<string> {
  await remote.ok('POST', '/1.0/images', bytes, { 'x-svc-public': 'true', ...headers });
  return sha256(bytes);
}
const pull = (source: object, more: object = {}): Promise<Operation> =>
  local.run('POST', '/1.0/images', { source: from(source), ...more });
const image = (fingerprint: string): Promise<Json> => local.get(`/1.0/images/${fingerprint}`);
const expectFailure = (work: () => Promise<Operation>, words: RegExp): Promise<void> =>
  expectFailed(local, work, words);

describe('pulling from another daemon', () => {
  test('a public image by alias: object, files, source, aliases, and properties of the request over its own', async () => {
    const alias = unique();
    const fingerprint = await onRemote(tarball(', os: busybox, release: old'), {
      'x-svc-aliases': `alias=${alias}`,
      'x-svc-filename': 'mine.tar',
    });
    const mine = unique();
    const operation = await pull(
      { alias },
      {
        public: true,
        auto_update: true,
        properties: { release: 'new' },
        aliases: [{ name: mine }],
        copy_aliases: true,
      },
    );
    expect(fingerprintOf(operation)).toBe(fingerprint);
    expect(operation.metadata?.['download_progress']).toMatch(/^100% \(\d+(\.\d+)?[kMG]?B\/s\)$/);
    const got = await image(fingerprint);
    expect(got).toMatchObject({
      public: true,
      auto_update: true,
      cached: false,
      filename: 'mine.tar',
      properties: { os: 'busybox', release: 'new' },
      update_source: { server: address(), protocol: 'svc', certificate, alias },
    });
    expect((got.aliases as Json[]).map(({ name }) => name as string).toSorted()).toEqual([alias, mine].toSorted());
    const exported = await local.call('GET', `/1.0/images/${fingerprint}/export`);
    expect(sha256(exported.bytes)).toBe(fingerprint);
  });

  test.each([
    ['an alias', (alias: string) => alias, true],
    ['the beginning of one', (_: string, whole: string) => whole.slice(0, 10), false],
    ['the beginning of one in capitals', (_: string, whole: string) => whole.slice(0, 10).toUpperCase(), false],
  ] as const)('a fingerprint that is %s is resolved by the other server', async (_, sent, isNamed) => {
    const alias = `Alias-${unique()}`;
    const whole = await onRemote(tarball(), { 'x-svc-aliases': `alias=${alias}` });
    expect(fingerprintOf(await pull({ fingerprint: sent(alias, whole) }))).toBe(whole);
    expect((await image(whole)).update_source?.alias).toBe(isNamed ? alias : undefined);
    await expectFailure(() => pull({ fingerprint: `no-${alias}` }), /no image with alias no-Alias/);
  });

  test('an image in two files arrives in two files', async () => {
    const [metadata, rootfs] = [metadataOf(), rootfsOf()];
    const boundary = 'frontier';
    const part = (name: string, bytes: Buffer): Buffer[] => [
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`),
      bytes,
      Buffer.from('\r\n'),
    ];
    const body = Buffer.concat([
      ...part('metadata', metadata),
      ...part('rootfs', rootfs),
      Buffer.from(`--${boundary}--\r\n`),
    ]);
    await remote.ok('POST', '/1.0/images', body, {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'x-svc-public': '1',
    });
    const fingerprint = fingerprintOf(await pull({ fingerprint: sha256(metadata, rootfs).slice(0, 16) }));
    expect(fingerprint).toBe(sha256(metadata, rootfs));
    const name = `c${unique()}`;
    await local.ok('POST', '/1.0/containers', { name, source: { type: 'image', fingerprint } });
    const root = join(local.dir, 'storage-pools/default/containers', name, 'rootfs');
    expect(await readFile(join(root, 'etc/motd'), 'utf8')).toBe('hi');
    expect((await image(fingerprint)).update_source).toBeUndefined();
  });

  test('a private image needs a secret, which is valid for one pull', async () => {
    const fingerprint = await onRemote(tarball(), { 'x-svc-public': 'false' });
    await expectFailure(
      () => pull({ fingerprint }),
      /no image with fingerprint .* is private: a private image needs a secret/,
    );
    await expectFailure(() => pull({ fingerprint, secret: 'ab'.repeat(32) }), /the secret is not valid for it/);
    const answer = await remote.call('POST', `/1.0/images/${fingerprint}/secret`, {});
    const { secret } = answer.metadata.metadata as { secret: string };
    expect(fingerprintOf(await pull({ fingerprint, secret }))).toBe(fingerprint);
    expect((await image(fingerprint)).public).toBe(false);
  });

  test('its certificate is the given one, or one that an authority has signed', async () => {
    const fingerprint = await onRemote();
    await expectFailure(
      () => pull({ fingerprint, certificate: '' }),
      /cannot reach .*not trusted here; give it as source\.certificate/,
    );
    const other = await serve('https', serveTree(new Map()));
    await expectFailure(() => pull({ fingerprint, certificate: other.certificate }), /cannot reach/);
  });

  test('an existing one is not fetched again, and gets the requested settings', async () => {
    const bytes = tarball();
    const fingerprint = await onRemote(bytes);
    await local.ok('POST', '/1.0/images', bytes);
    const operation = await pull({ fingerprint }, { public: true, properties: { more: '1' } });
    expect(fingerprintOf(operation)).toBe(fingerprint);
    expect(operation.metadata).not.toHaveProperty('download_progress');
    expect(await image(fingerprint)).toMatchObject({ public: true, cached: false, properties: { more: '1' } });
  });

  test.each([
    [{ server: 'http://x' }, /source.server.*https/],
    [{ server: 'ftp://x' }, /source.server.*https/],
    [{ server: 'x:8443' }, /source.server/],
    [{ server: '' }, /source.server: is required/],
    [{ server: 'https://user:word@x' }, /no user name/],
    [{ protocol: 'moon' }, /source.protocol.*moon/],
    [{ mode: 'push' }, /source.mode/],
    [{ certificate: 'abc' }, /source.certificate/],
    [{ alias: '', fingerprint: '' }, /source.alias/],
    [{ alias: '', fingerprint: 'zz/../y' }, /source.fingerprint/],
    [{ alias: '../../certificates' }, /source.alias/],
    [{ alias: 'a//b' }, /source.alias/],
  ])('the source with %j is refused at once', async (more, words) => {
    const answer = await local.call('POST', '/1.0/images', { source: from({ alias: 'a', ...more }) });
    expect([answer.status, answer.body.metadata.message]).toEqual([400, expect.stringMatching(words)]);
  });

  test('an alias in use or an invalid one is refused at once', async () => {
    const [fingerprint, taken] = [await onRemote(), unique()];
    await local.ok('POST', '/1.0/images', tarball(), { 'x-svc-aliases': `alias=${taken}` });
    const body = (name: string): object => ({ source: from({ fingerprint }), aliases: [{ name }] });
    expect((await local.call('POST', '/1.0/images', body(taken))).status).toBe(409);
    expect((await local.call('POST', '/1.0/images', body('a b'))).status).toBe(400);
  });
});

describe('pulling from simplestreams', () => {
  const today = { metadata: metadataOf(), rootfs: rootfsOf() };
  const product = (versions = { '20240102_07:00': today }, arch = 'amd64', aliases = 'busy,busy/1.0') => ({
    aliases,
    arch,
    versions,
  });
  const source = (server: FakeServer, more: object = {}): object => ({
    source: {
      type: 'image',
      protocol: 'simplestreams',
      server: server.url,
      certificate: server.certificate,
      alias: 'busy',
      ...more,
    },
  });
  const run = (server: FakeServer, more: object = {}): Promise<Operation> =>
    local.run('POST', '/1.0/images', source(server, more));

  test('the newest of an alias for this architecture: properties, end of support, aliases', async () => {
    const old = { metadata: metadataOf(), rootfs: rootfsOf() };
    const newest = { metadata: metadataOf(), rootfs: rootfsOf(), ftype: 'root.tar.xz' as const };
    const files = streamTree({
      'busy:amd64': product({ '20240101': old, '20250101': newest, 'not-a-date': old } as never),
      'busy:arm64': product({ '20260101': old } as never, 'arm64'),
    });
    const server = await serve('https', serveTree(files));
    const operation = await local.run('POST', '/1.0/images', {
      ...source(server, { alias: 'busy/1.0' }),
      copy_aliases: true,
    });
    const fingerprint = fingerprintOf(operation);
    expect(fingerprint).toBe(sha256(newest.metadata, newest.rootfs));
    expect(operation.metadata?.['download_progress']).toMatch(/^rootfs: 100% \(/);
    expect(await image(fingerprint)).toMatchObject({
      architecture: 'x86_64',
      expires_at: '2031-05-06T00:00:00Z',
      properties: {
        os: 'Busybox',
        release: 'one',
        architecture: 'x86_64',
        serial: '20250101',
        label: 'release',
        description: 'Busybox One x86_64 (release) (20250101)',
      },
      update_source: { server: server.url, protocol: 'simplestreams', alias: 'busy/1.0' },
    });
    for (const alias of ['busy', 'busy%2F1.0']) {
      expect((await local.get(`/1.0/images/aliases/${alias}`)).target).toBe(fingerprint);
      await local.call('DELETE', `/1.0/images/aliases/${alias}`);
    }
  });

  test('ALIAS/ARCH selects another architecture, a part of a fingerprint an image', async () => {
    const [intel, arm] = [
      { metadata: metadataOf(), rootfs: rootfsOf() },
      { metadata: metadataOf(), rootfs: rootfsOf() },
    ];
    const server = await serve(
      'http',
      serveTree(
        streamTree({ a: product({ '20240101': intel } as never), b: product({ '20240101': arm } as never, 'arm64') }),
      ),
    );
    expect(fingerprintOf(await run(server, { alias: 'busy/arm64' }))).toBe(sha256(arm.metadata, arm.rootfs));
    const part = sha256(intel.metadata, intel.rootfs).slice(0, 12);
    expect(fingerprintOf(await run(server, { alias: '', fingerprint: part }))).toBe(
      sha256(intel.metadata, intel.rootfs),
    );
    const capitals = { alias: '', fingerprint: part.toUpperCase() };
    expect(fingerprintOf(await run(server, capitals))).toBe(sha256(intel.metadata, intel.rootfs));
    const named = { alias: '', fingerprint: 'busy/arm64' };
    expect(fingerprintOf(await run(server, named))).toBe(sha256(arm.metadata, arm.rootfs));
    expect(server.asked.filter((line) => line.includes('images.json'))).toHaveLength(1);
    await expectFailure(() => run(server, { alias: 'nope' }), /no image with alias nope for x86_64/);
  });

  type Damage = (tree: Map<string, Buffer>, server: FakeServer) => void;
  const index =
    (text: string): Damage =>
    (tree) =>
      tree.set('streams/v1/index.json', Buffer.from(text));
  const products =
    (change: (text: string) => string): Damage =>
    (tree) =>
      tree.set('streams/v1/images.json', Buffer.from(change(String(tree.get('streams/v1/images.json')))));
  const at = (tree: Map<string, Buffer>, end: string): string =>
    [...tree.keys()].find((path) => path.endsWith(end)) ?? '';
  test.each<[string, Damage, RegExp]>([
    ['no index', (tree) => tree.delete('streams/v1/index.json'), /index\.json answers 404/],
    ['an index that is no JSON', index('<html>'), /index\.json cannot be read: it is not JSON/],
    ['an index of nothing', index('[]'), /no image with alias busy/],
    [
      'an endless list',
      products((text) => text + ' '.repeat(300_000)),
      /images\.json answers with more than 200000 bytes/,
    ],
    ['a file elsewhere', products((text) => text.replaceAll('images/a/', '../../etc/')), /names a file outside of it/],
    ['a file on another host', products((text) => text.replaceAll('images/a/', '//evil.example/')), /answers 404/],
    [
      'a changed file',
      (tree) => tree.set(at(tree, 'rootfs.tar.xz'), rootfsOf('HI')),
      /rootfs .* has SHA-256 [0-9a-f]{64}, expected is [0-9a-f]{64}/,
    ],
    [
      'a longer file',
      (tree) => tree.set(at(tree, 'rootfs.tar.xz'), Buffer.alloc(100_000)),
      /rootfs .* is larger than the \d+ bytes/,
    ],
    [
      'a shorter file',
      (tree) => tree.set(at(tree, 'rootfs.tar.xz'), Buffer.alloc(10)),
      /rootfs .* has 10 bytes, expected are/,
    ],
    ['a missing file', (tree) => tree.delete(at(tree, 'rootfs.tar.xz')), /answers 404/],
    [
      'another fingerprint',
      products((text) => text.replace(/(combined_rootxz_sha256":")[0-9a-f]{64}/, `$1${'ab'.repeat(32)}`)),
      /has fingerprint [0-9a-f]{64}, expected is (ab){32}/,
    ],
  ])('%s fails and leaves nothing behind', async (_what, damage, words) => {
    const tree = streamTree({ a: product({ '20240101': { metadata: metadataOf(), rootfs: rootfsOf() } } as never) });
    const server = await serve('http', serveTree(tree));
    damage(tree, server);
    await expectFailure(() => run(server), words);
  });

  test('an invalid image fails and leaves nothing behind', async () => {
    const version = { metadata: Buffer.from('nothing'), rootfs: rootfsOf() };
    const server = await serve('http', serveTree(streamTree({ a: product({ '20240101': version } as never) })));
    await expectFailure(() => run(server), /unknown packing of the metadata/);
  });

  test('a cached list is used while the server does not answer', async () => {
    const version = { metadata: metadataOf(), rootfs: rootfsOf() };
    const tree = streamTree({ a: product({ '20240101': version } as never) });
    const server = await serve('http', serveTree(tree));
    const fingerprint = fingerprintOf(await run(server));
    await local.ok('DELETE', `/1.0/images/${fingerprint}`);
    tree.delete('streams/v1/index.json');
    minutes.pass(2 * 3_600_000);
    expect(fingerprintOf(await run(server))).toBe(fingerprint);
  });
});

describe('a container of an image on another server', () => {
  const create = (name: string, source: object, more: object = {}): Promise<Operation> =>
    local.run('POST', '/1.0/containers', { name, source: from(source), ...more });

  test('is made from a cached, private image, which is fetched once for many', async () => {
    const alias = unique();
    const fingerprint = await onRemote(tarball(', os: busybox'), { 'x-svc-aliases': `alias=${alias}` });
    const names = [1, 2, 3, 4].map((n) => `c${n}-${unique()}`);
    const operations = await Promise.all(names.map((name) => create(name, { alias })));
    expect(operations.map(({ err }) => err)).toEqual(['', '', '', '']);
    expect(await local.get(`/1.0/containers/${names[0]}`)).toMatchObject({
      config: { 'image.os': 'busybox', 'volatile.base_image': fingerprint },
    });
    const got = await image(fingerprint);
    expect(got).toMatchObject({ cached: true, public: false, auto_update: true, update_source: { alias } });
    expect(Date.parse(got.last_used_at)).toBeGreaterThan(0);
    await remote.ok('DELETE', `/1.0/images/${fingerprint}`);
    // The cached image of automatic updates is recent enough, and no server gets a request.
    const again = await create(`c5-${unique()}`, { alias });
    expect(again.err).toBe('');
    expect(fingerprintOf(await pull({ fingerprint: await onRemote() }))).not.toBe(fingerprint);
  });

  test('is refused at once where its image does not matter, and leaves nothing behind when it cannot be fetched', async () => {
    const alias = await onRemote();
    const refused = async (body: object): Promise<number> => (await local.call('POST', '/1.0/containers', body)).status;
    const name = `c${unique()}`;
    expect(await refused({ name, source: from({ alias }), config: { 'no.such': '1' } })).toBe(400);
    expect(await refused({ name, source: from({ alias }), profiles: ['nope'] })).toBe(400);
    expect(await refused({ name, source: from({ alias, properties: { os: 'x' } }) })).toBe(400);
    expect(await refused({ name, source: from({ alias, mode: 'moon' }) })).toBe(400);
    expect(await refused({ name, source: { type: 'image', mode: 'pull', alias } })).toBe(404);
    await expectFailure(() => create(name, { alias: 'nope' }), /no image with alias nope/);
    expect((await local.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  });
});

describe('automatic updates', () => {
  const hour = 3_600_000;

  test('a refreshed image passes its aliases and settings to the newer one and is deleted', async () => {
    const [alias, mine] = [unique(), unique()];
    const old = await onRemote(tarball(), { 'x-svc-aliases': `alias=${alias}` });
    await pull({ alias }, { auto_update: true, public: true, aliases: [{ name: mine }] });
    const same = await local.run('POST', `/1.0/images/${old}/refresh`);
    expect([same.err, same.metadata?.['refreshed']]).toEqual(['', false]);
    const newer = await onRemote();
    await remote.call('PUT', `/1.0/images/aliases/${alias}`, { target: newer });
    const operation = await local.run('POST', `/1.0/images/${old}/refresh`);
    expect([operation.err, operation.metadata?.['refreshed']]).toEqual(['', true]);
    expect((await local.call('GET', `/1.0/images/${old}`)).status).toBe(404);
    expect(await image(newer)).toMatchObject({
      aliases: [{ name: mine }],
      auto_update: true,
      cached: false,
      public: true,
      update_source: { alias },
    });
  });

  test('an image without a source cannot be refreshed; one whose source is unreachable stays', async () => {
    const bytes = tarball();
    await local.ok('POST', '/1.0/images', bytes);
    const refused = await local.run('POST', `/1.0/images/${sha256(bytes)}/refresh`);
    expect([refused.status, refused.err]).toEqual(['Failure', expect.stringMatching(/has no source/)]);
    const alias = unique();
    const fingerprint = await onRemote(tarball(), { 'x-svc-aliases': `alias=${alias}` });
    await pull({ alias });
    await remote.call('DELETE', `/1.0/images/aliases/${alias}`);
    const operation = await local.run('POST', `/1.0/images/${fingerprint}/refresh`);
    expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(/no image with alias/)]);
    expect((await image(fingerprint)).fingerprint).toBe(fingerprint);
  });

  test('every images.auto_update_interval hours the images with auto_update are refreshed', async () => {
    const alias = unique();
    const old = await onRemote(tarball(), { 'x-svc-aliases': `alias=${alias}` });
    await pull({ alias }, { auto_update: true });
    const other = unique();
    const kept = await onRemote(tarball(), { 'x-svc-aliases': `alias=${other}` });
    await pull({ alias: other });
    const newer = await onRemote();
    for (const name of [alias, other]) await remote.call('PUT', `/1.0/images/aliases/${name}`, { target: newer });
    minutes.pass(7 * hour);
    await until(async () => (await local.call('GET', `/1.0/images/${old}`)).status === 404);
    expect((await image(newer)).auto_update).toBe(true);
    expect((await image(kept)).fingerprint).toBe(kept);
    const newest = await onRemote();
    await remote.call('PUT', `/1.0/images/aliases/${alias}`, { target: newest });
    // The clock was set back: the last update seems to come.
    minutes.pass(-48 * hour);
    await until(async () => (await local.call('GET', `/1.0/images/${newer}`)).status === 404);
    minutes.pass(48 * hour);
  });

  test('a refresh does not change the last use of a cached image', async () => {
    const alias = unique();
    const old = await onRemote(tarball(), { 'x-svc-aliases': `alias=${alias}` });
    const name = `c${unique()}`;
    const made = await local.run('POST', '/1.0/containers', { name, source: from({ alias }) });
    expect(made.err).toBe('');
    const newer = await onRemote();
    await remote.call('PUT', `/1.0/images/aliases/${alias}`, { target: newer });
    minutes.pass(9 * 24 * hour);
    await until(async () => (await local.call('GET', `/1.0/images/${old}`)).status === 404);
    expect((await image(newer)).cached).toBe(true);
    minutes.pass(2 * 24 * hour);
    await until(async () => (await local.call('GET', `/1.0/images/${newer}`)).status === 404);
  });

  test('a cached image is deleted after images.remote_cache_expiry days without use', async () => {
    const fingerprint = await onRemote();
    const name = `c${unique()}`;
    const made = await local.run('POST', '/1.0/containers', { name, source: from({ fingerprint }) });
    expect(made.err).toBe('');
    const asked = await onRemote();
    await pull({ fingerprint: asked });
    minutes.pass(9 * 24 * hour);
    expect((await image(fingerprint)).cached).toBe(true);
    minutes.pass(2 * 24 * hour);
    await until(async () => (await local.call('GET', `/1.0/images/${fingerprint}`)).status === 404);
    expect((await image(asked)).cached).toBe(false);
    expect((await local.get(`/1.0/containers/${name}`)).name).toBe(name);
  });

  test('the deletion of an image waits for a container in creation from it', async () => {
    const fingerprint = await onRemote();
    await pull({ fingerprint });
    const names = [1, 2, 3].map((n) => `d${n}-${unique()}`);
    const making = names.map((name) =>
      local.run('POST', '/1.0/containers', { name, source: { type: 'image', fingerprint } }),
    );
    const isBegun = async (): Promise<boolean> =>
      ((await local.get('/1.0/containers')) as string[]).some((url) => url.includes(names[0]!));
    await until(isBegun);
    const deleted = await local.run('DELETE', `/1.0/images/${fingerprint}`);
    expect(deleted.err).toBe('');
    const made = await Promise.all(making);
    expect(
      made
        .map(({ err }) => err.replace(/ [0-9a-f]{64} /, ' X '))
        .filter((err) => err !== '' && err !== 'The image X was not found'),
    ).toEqual([]);
  });
});
