// Images and aliases over the real daemon: uploads, visibility, secrets, export, hostile archives (spec 2.9, 2.10, 4.8).
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { ImageSecrets } from '../../../../server/services/images/image-secrets.ts';
import { busyboxMissing } from '../../../support/images/busybox-rootfs.ts';
import { callTls, makeClient } from '../../../support/daemons/tls.ts';
import { createContainer, lifecycleOf, type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { buildBusyboxImage } from '../../../support/images/busybox.ts';
import { goodMetadata, hostileImages, metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const daemon = await seededDaemon({ https: '127.0.0.1:0' });
const work = tempFolder('gtya-images-');

const sha = (...parts: readonly Buffer[]): string => createHash('sha256').update(Buffer.concat(parts)).digest('hex');
let count = 0;
function tarball(properties = ''): Buffer {
  const content = `${goodMetadata}expiry_date: 1900000000\nproperties: {n: "${(count += 1)}"${properties}}\n`;
  return tarOf({ name: 'metadata.yaml', content, mode: 0o644 }, rootfsDirectory, { name: 'rootfs/a', content: 'x' });
}
const upload = (bytes: Buffer, headers: Record<string, string | string[]> = {}): Promise<Operation> =>
  daemon.run('POST', '/1.0/images', bytes, headers);
async function uploaded(bytes = tarball(), headers: Record<string, string | string[]> = {}): Promise<string> {
  const operation = await upload(bytes, headers);
  expect(operation.err).toBe('');
  return String(operation.metadata?.['fingerprint']);
}
const get = (fingerprint: string): Promise<Json> => daemon.get(`/1.0/images/${fingerprint}`);
const tls = (): string => daemon.daemon.httpsAddress() ?? '';
const leftOver = (): string[] => {
  const known = new Set(readdirSync(join(daemon.dir, 'images')).filter((name) => !name.startsWith('.')));
  const uploads = readdirSync(join(daemon.dir, 'images')).includes('.uploads')
    ? readdirSync(join(daemon.dir, 'images/.uploads'))
    : [];
  return [...known, ...uploads];
};

interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly bytes: Buffer;
}
function multipart(...parts: readonly Part[]): { body: Buffer; headers: Record<string, string> } {
  const boundary = 'frontier';
  const chunks = parts.flatMap(({ name, filename = name, bytes }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    bytes,
    Buffer.from('\r\n'),
  ]);
  return {
    body: Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

describe('uploading an image', () => {
  test('as one tarball uses its SHA-256 as the fingerprint, metadata and headers become the object', async () => {
    const bytes = gzipSync(tarball(', os: busybox, release: old'));
    const listening = await daemon.listen('lifecycle');
    const answer = await daemon.call('POST', '/1.0/images', bytes, {
      'x-svc-filename': 'mine.tar.gz',
      'x-svc-public': '1',
      'x-svc-properties': 'release=new%2C+er&variant=a%20b',
      'x-svc-aliases': 'alias=first&alias=a/second&alias=first',
    });
    const operation = await daemon.wait(answer.body.operation as string);
    const fingerprint = sha(bytes);
    expect(operation).toMatchObject({ status: 'Success', metadata: { fingerprint, size: String(bytes.length) } });
    const image = await get(fingerprint);
    expect(image).toMatchObject({
      fingerprint,
      architecture: 'x86_64',
      filename: 'mine.tar.gz',
      public: true,
      auto_update: false,
      cached: false,
      size: bytes.length,
      created_at: '2023-11-14T22:13:20Z',
      expires_at: '2030-03-17T17:46:40Z',
      properties: { os: 'busybox', release: 'new, er', variant: 'a b' },
    });
    expect((image.aliases as Json[]).map((alias) => alias.name as string).toSorted()).toEqual(['a/second', 'first']);
    await listening.next((event) => lifecycleOf(event).source === `/1.0/images/${fingerprint}`);
    listening.close();
  });

  test('a JSON body with the content type of curl, or with none, is a request and no image', async () => {
    await createContainer(daemon, 'published');
    for (const [index, headers] of [{ 'content-type': 'application/x-www-form-urlencoded' }, {}].entries()) {
      const source = { type: 'container', name: 'published' };
      const body = Buffer.from(JSON.stringify({ source, properties: { n: `curl${index}` } }));
      const operation = await daemon.run('POST', '/1.0/images', body, headers);
      expect([operation.status, operation.err]).toEqual(['Success', '']);
      expect((await get(String(operation.metadata?.['fingerprint']))).properties).toMatchObject({ n: `curl${index}` });
    }
    const wrong = await daemon.call('POST', '/1.0/images', Buffer.from('{"source":{"type":"none"}}'));
    expect(wrong.status).toBe(400);
  });

  test('uploading an image in chunks without a length has the same result', async () => {
    const bytes = tarball();
    const operation = await daemon.run(
      'POST',
      '/1.0/images',
      Readable.from([bytes.subarray(0, 100), bytes.subarray(100)]),
    );
    expect(operation.metadata?.['fingerprint']).toBe(sha(bytes));
  });

  test('as metadata and rootfs uses a fingerprint of both, in this order', async () => {
    const metadata = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: "split"}\n` });
    const rootfs = tarOf(
      { name: './', flag: '5' },
      { name: './etc', flag: '5' },
      { name: './etc/motd', content: 'hi' },
    );
    const { body, headers } = multipart(
      { name: 'metadata', bytes: metadata },
      { name: 'rootfs', filename: 'root.tar', bytes: rootfs },
    );
    const operation = await daemon.run('POST', '/1.0/images', body, headers);
    expect([operation.err, operation.metadata?.['fingerprint']]).toEqual(['', sha(metadata, rootfs)]);
    expect(await get(sha(metadata, rootfs))).toMatchObject({
      filename: 'root.tar',
      size: metadata.length + rootfs.length,
    });
    await createContainer(daemon, 'fromsplit', { source: { type: 'image', fingerprint: sha(metadata, rootfs) } });
    const files = join(daemon.dir, 'storage-pools/default/containers/fromsplit');
    expect(await readFile(join(files, 'rootfs/etc/motd'), 'utf8')).toBe('hi');
  });

  test('as parts that have a name only is accepted', async () => {
    const [metadata, rootfs] = [tarball(), tarOf({ name: './', flag: '5' })];
    const part = (name: string): string => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
    const body = Buffer.concat(
      [part('metadata'), metadata, `\r\n${part('rootfs')}`, rootfs, '\r\n--b--\r\n'].map((each) => Buffer.from(each)),
    );
    const operation = await upload(body, { 'content-type': 'multipart/form-data; boundary=b' });
    expect([operation.err, operation.metadata?.['fingerprint']]).toEqual(['', sha(metadata, rootfs)]);
    expect((await get(sha(metadata, rootfs))).filename).toBe('');
  });

  test.each([
    ['the parts in the wrong order', ['rootfs', 'metadata']],
    ['one part', ['metadata']],
    ['three parts', ['metadata', 'rootfs', 'metadata']],
    ['other parts', ['file']],
    ['no part', []],
  ])('with %s is refused and leaves nothing behind', async (_what, names) => {
    const before = leftOver();
    const { body, headers } = multipart(...names.map((name) => ({ name, bytes: tarball() })));
    const answer = await daemon.call('POST', '/1.0/images', body, headers);
    const failed =
      answer.status === 400 ||
      (answer.status === 202 && (await daemon.wait(answer.body.operation as string)).status === 'Failure');
    expect([answer.status, failed]).toEqual([400, true]);
    expect(leftOver()).toEqual(before);
  });

  test('uploading an image with another announced fingerprint fails and leaves nothing behind', async () => {
    const before = leftOver();
    const operation = await upload(tarball(), { 'x-svc-fingerprint': 'ab'.repeat(32) });
    expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(/announced was abab/)]);
    expect(leftOver()).toEqual(before);
    const bytes = tarball();
    expect(await uploaded(bytes, { 'x-svc-fingerprint': sha(bytes).toUpperCase() })).toBe(sha(bytes));
  });

  test('uploading an image that exists already fails with its name, and leaves the first unchanged', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded(bytes);
    const before = leftOver();
    const operation = await upload(bytes);
    expect(operation).toMatchObject({ status: 'Failure', metadata: { fingerprint } });
    expect(operation.err).toMatch(/already exists/);
    expect(leftOver()).toEqual(before);
    expect(sha((await daemon.call('GET', `/1.0/images/${fingerprint}/export`)).bytes)).toBe(fingerprint);
  });

  test('ten concurrent uploads of an image make it once', async () => {
    const bytes = tarball();
    const operations = await Promise.all(Array.from({ length: 10 }, () => upload(bytes)));
    expect(operations.filter((operation) => operation.status === 'Success')).toHaveLength(1);
    expect(sha((await daemon.call('GET', `/1.0/images/${sha(bytes)}/export`)).bytes)).toBe(sha(bytes));
  });

  test('uploading an image with an alias in use, or with an invalid one, fails and leaves nothing behind', async () => {
    await uploaded(tarball(), { 'x-svc-aliases': 'alias=taken' });
    const before = leftOver();
    const operation = await upload(tarball(), { 'x-svc-aliases': 'alias=taken' });
    expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(/taken already exists/)]);
    const answer = await daemon.call('POST', '/1.0/images', tarball(), { 'x-svc-aliases': 'alias=a%20b' });
    expect(answer.status).toBe(400);
    expect(leftOver()).toEqual(before);
  });

  test('uploading an image of an unknown architecture fails', async () => {
    const bytes = tarOf({ ...metadataFile, content: 'architecture: z80\ncreation_date: 1\n' }, rootfsDirectory);
    expect((await upload(bytes)).err).toMatch(/z80/);
  });

  test('uploading an image that is broken off half way leaves nothing behind', async () => {
    const before = leftOver();
    const socket = connect(daemon.socketPath);
    socket.write(
      `POST /1.0/images HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 5000\r\n\r\n`,
    );
    socket.write(tarball().subarray(0, 700));
    await until(() => leftOver().length > before.length);
    socket.destroy();
    await until(() => leftOver().length === before.length);
  });

  test.each([
    [{ source: { type: 'image', mode: 'pull', server: 'http://x', alias: 'y' } }, 400],
    [{ source: { type: 'url', url: 'x' } }, 400],
    [{ source: { type: 'moon' } }, 400],
    [{}, 400],
  ])('the JSON form %j answers %i', async (body, status) => {
    expect((await daemon.call('POST', '/1.0/images', body)).status).toBe(status);
  });
});

// image-archive.test.ts has every hostile image.
test('a hostile archive ends as Failure with a clear reason and leaves nothing on disk', async () => {
  const all = hostileImages(join(work, 'canary'));
  for (const name of [
    'a file through a symbolic link',
    'cut off before its end mark',
    'a template whose trigger is a text',
  ]) {
    const hostile = all[name] ?? expect.unreachable();
    const before = leftOver();
    const operation = await upload(hostile.bytes);
    expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(hostile.message)]);
    expect(leftOver()).toEqual(before);
    expect(readdirSync(work)).toEqual([]);
    expect((await daemon.call('GET', `/1.0/images/${sha(hostile.bytes)}`)).status).toBe(404);
  }
});

describe('reading images', () => {
  test('a unique prefix of the fingerprint is enough; an ambiguous or unknown one is not', async () => {
    const fingerprint = await uploaded();
    expect((await get(fingerprint.slice(0, 20))).fingerprint).toBe(fingerprint);
    expect((await daemon.call('GET', '/1.0/images/zz')).status).toBe(404);
    expect((await daemon.call('GET', `/1.0/images/${'0'.repeat(64)}`)).status).toBe(404);
    const all = (await daemon.get('/1.0/images')) as string[];
    expect(all).toContain(`/1.0/images/${fingerprint}`);
    const twins = all.map((url) => url.split('/')[3] ?? '').map((each) => each[0] ?? '');
    const shared = twins.find((letter, index) => twins.indexOf(letter) !== index);
    if (shared !== undefined) expect((await daemon.call('GET', `/1.0/images/${shared}`)).status).toBe(400);
  });

  test('the export of a single file has its length and its fingerprint', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded(bytes);
    const answer = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.length),
    });
    expect(answer.headers['content-disposition']).toContain(fingerprint);
    expect(answer.bytes.equals(bytes)).toBe(true);
  });

  test('the export of a single file resumes at the byte that the client asks for', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded(bytes);
    const answer = await daemon.call('GET', `/1.0/images/${fingerprint}/export`, undefined, { range: 'bytes=100-' });
    expect([answer.status, answer.headers['content-range']]).toEqual([
      206,
      `bytes 100-${bytes.length - 1}/${bytes.length}`,
    ]);
    expect(answer.bytes.equals(bytes.subarray(100))).toBe(true);
  });

  test('the export of a split image, uploaded again as it is, has the same fingerprint', async () => {
    const metadata = tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: "roundtrip"}\n` });
    const rootfs = tarOf({ name: './', flag: '5' }, { name: './b', content: 'y' });
    const first = multipart({ name: 'metadata', bytes: metadata }, { name: 'rootfs', bytes: rootfs });
    await daemon.ok('POST', '/1.0/images', first.body, first.headers);
    const fingerprint = sha(metadata, rootfs);
    const exported = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
    expect(exported.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    await daemon.ok('DELETE', `/1.0/images/${fingerprint}`);
    const again = await daemon.ok('POST', '/1.0/images', exported.bytes, {
      'content-type': String(exported.headers['content-type']),
    });
    expect(again.metadata?.['fingerprint']).toBe(fingerprint);
  });

  test.runIf(busyboxMissing() === undefined)(
    'a real image of a root file system makes a container with it',
    async () => {
      const built = await buildBusyboxImage(join(work, 'real'));
      const fingerprint = await uploaded(await readFile(built.metadataPath));
      await rm(join(work, 'real'), { recursive: true });
      expect(fingerprint).toBe(built.fingerprint);
      await createContainer(daemon, 'real', { source: { type: 'image', fingerprint } });
      expect(readdirSync(join(daemon.dir, 'storage-pools/default/containers/real/rootfs'))).toContain('bin');
    },
  );
});

describe('changing and deleting images', () => {
  test('PUT replaces, PATCH merges, an old ETag answers 412', async () => {
    const fingerprint = await uploaded(tarball(', a: "1", b: "2"'));
    const path = `/1.0/images/${fingerprint}`;
    const etag = String((await daemon.call('GET', path)).headers.etag);
    expect(
      (await daemon.call('PATCH', path, { properties: { a: '', c: '3' }, public: true }, { 'if-match': etag })).status,
    ).toBe(200);
    expect(await get(fingerprint)).toMatchObject({ public: true, properties: { b: '2', c: '3' } });
    expect((await daemon.call('PUT', path, { properties: { d: '4' } }, { 'if-match': etag })).status).toBe(412);
    expect((await daemon.call('PUT', path, { properties: { d: '4' }, auto_update: true })).status).toBe(200);
    expect(await get(fingerprint)).toMatchObject({ public: false, auto_update: true, properties: { d: '4' } });
    expect((await daemon.call('PUT', path, { properties: { d: 4 } })).status).toBe(400);
    const expiry = async (method: string, expires: unknown): Promise<unknown> => {
      const { status } = await daemon.call(method, path, { expires_at: expires });
      return [status, (await get(fingerprint)).expires_at];
    };
    const [spring, fall] = ['2050-04-01T00:00:00Z', '2050-10-01T00:00:00Z'];
    const before = String((await daemon.call('GET', path)).headers.etag);
    expect(await expiry('PUT', spring)).toEqual([200, spring]);
    expect((await daemon.call('PUT', path, {}, { 'if-match': before })).status).toBe(412);
    expect(await expiry('PUT', '0001-01-01T00:00:00Z')).toEqual([200, spring]);
    expect(await expiry('PATCH', fall)).toEqual([200, fall]);
    expect(await expiry('PATCH', 'soon')).toEqual([400, fall]);
    expect((await daemon.call('PUT', '/1.0/images/00ff', {})).status).toBe(404);
  });

  test('a deletion removes files, unpacked copies and aliases; containers made from it stay', async () => {
    const fingerprint = await uploaded(tarball(), { 'x-svc-aliases': 'alias=going' });
    await createContainer(daemon, 'offspring', { source: { type: 'image', alias: 'going' } });
    expect((await get(fingerprint)).last_used_at).not.toMatch(/^0001|^1970/);
    const operation = await daemon.ok('DELETE', `/1.0/images/${fingerprint.slice(0, 30)}`);
    expect(operation.resources).toEqual({ images: [`/1.0/images/${fingerprint}`] });
    expect(leftOver()).not.toContain(fingerprint);
    expect(readdirSync(join(daemon.dir, 'storage-pools/default/images'))).not.toContain(fingerprint);
    expect((await daemon.call('GET', '/1.0/images/aliases/going')).status).toBe(404);
    expect((await daemon.call('DELETE', `/1.0/images/${fingerprint}`)).status).toBe(404);
    expect((await daemon.get('/1.0/containers/offspring')).config['volatile.base_image']).toBe(fingerprint);
  });
});

describe('callers without trust', () => {
  const asGuest = (path: string): Promise<Answer> => callTls(tls(), 'GET', path);

  test('see only public images and their aliases, also by a part of the fingerprint', async () => {
    const open = await uploaded(tarball(), { 'x-svc-public': 'true', 'x-svc-aliases': 'alias=open' });
    const hidden = await uploaded(tarball(), { 'x-svc-aliases': 'alias=hidden' });
    const list = (await asGuest('/1.0/images')).metadata as string[];
    expect([list.includes(`/1.0/images/${open}`), list.includes(`/1.0/images/${hidden}`)]).toEqual([true, false]);
    expect(
      ((await asGuest('/1.0/images?recursion=1')).metadata as Json[]).every((image) => image.public === true),
    ).toBe(true);
    for (const suffix of ['', '/export']) {
      expect((await asGuest(`/1.0/images/${open}${suffix}`)).status).toBe(200);
      expect((await asGuest(`/1.0/images/${hidden}${suffix}`)).status).toBe(404);
      expect((await asGuest(`/1.0/images/${hidden.slice(0, 12)}${suffix}`)).status).toBe(404);
    }
    expect((await asGuest('/1.0/images/aliases/open')).status).toBe(200);
    expect((await asGuest('/1.0/images/aliases/hidden')).status).toBe(404);
    // Every one-letter prefix: a private image must be indistinguishable from a missing one.
    for (const letter of '0123456789abcdef') {
      const answer = await asGuest(`/1.0/images/${letter}`);
      if (answer.status === 400) expect(answer.body.metadata.message).toMatch(/fits \d+ images/);
      const visible = list.filter((url) => url.startsWith(`/1.0/images/${letter}`)).length;
      expect([letter, answer.status]).toEqual([letter, visible === 0 ? 404 : visible === 1 ? 200 : 400]);
    }
    const untrusted = await callTls(tls(), 'GET', `/1.0/images/${hidden}`, undefined, { client: await makeClient() });
    expect(untrusted.status).toBe(404);
  });

  test('fetch a private image with its secret, more than once', async () => {
    const fingerprint = await uploaded();
    const other = await uploaded();
    const answer = await daemon.call('POST', `/1.0/images/${fingerprint}/secret`, {});
    const secret = String(answer.metadata.metadata.secret);
    expect(answer.metadata).toMatchObject({ class: 'token', status: 'Running', may_cancel: true });
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    const path = `/1.0/images/${fingerprint}`;
    expect((await asGuest(`${path}?secret=${'0'.repeat(64)}`)).status).toBe(404);
    expect((await asGuest(`/1.0/images/${other}?secret=${secret}`)).status).toBe(404);
    expect((await asGuest(`${path}?secret=${secret}`)).status).toBe(200);
    expect(sha((await asGuest(`${path}/export?secret=${secret}`)).bytes)).toBe(fingerprint);
    expect((await daemon.get(`/1.0/operations/${answer.metadata.id}`)).status).toBe('Success');
  });

  test('fetch it with that secret until five seconds after its first use', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const secrets = new ImageSecrets();
    const { secret } = secrets.issue('a');
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(secrets.use('a', secret)).toBe(true);
    await vi.advanceTimersByTimeAsync(4_999);
    expect(secrets.use('a', secret)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(secrets.use('a', secret)).toBe(false);
  });

  test('a cancelled secret is invalid', async () => {
    const fingerprint = await uploaded();
    const answer = await daemon.call('POST', `/1.0/images/${fingerprint}/secret`, {});
    expect((await daemon.call('DELETE', answer.body.operation as string)).status).toBe(202);
    expect((await daemon.wait(answer.body.operation as string)).status).toBe('Cancelled');
    expect((await asGuest(`/1.0/images/${fingerprint}?secret=${answer.metadata.metadata.secret}`)).status).toBe(404);
  });
});

describe('aliases', () => {
  const alias = (name: string): string => `/1.0/images/aliases/${name}`;

  test('aliases with a slash are made, read with and without encoding, changed, renamed and deleted', async () => {
    const [one, two] = [await uploaded(), await uploaded()];
    const made = await daemon.call('POST', '/1.0/images/aliases', {
      name: 'debian/12',
      description: 'd',
      target: one.slice(0, 20),
    });
    expect([made.status, made.headers.location]).toEqual([200, alias('debian/12')]);
    expect(await daemon.get(alias('debian/12'))).toEqual({ name: 'debian/12', description: 'd', target: one });
    expect(await daemon.get(alias('debian%2F12'))).toEqual({ name: 'debian/12', description: 'd', target: one });
    expect(await daemon.get('/1.0/images/aliases')).toContain(alias('debian/12'));
    expect((await get(one)).aliases).toEqual([{ name: 'debian/12', description: 'd' }]);
    expect((await daemon.call('PATCH', alias('debian/12'), { target: two })).status).toBe(200);
    expect(await daemon.get(alias('debian/12'))).toEqual({ name: 'debian/12', description: 'd', target: two });
    expect((await daemon.call('PUT', alias('debian/12'), { target: one })).status).toBe(200);
    expect(await daemon.get(alias('debian/12'))).toEqual({ name: 'debian/12', description: '', target: one });
    const renamed = await daemon.call('POST', alias('debian/12'), { name: 'debian/old' });
    expect(renamed.status).toBe(200);
    expect((await daemon.call('GET', alias('debian/12'))).status).toBe(404);
    expect((await daemon.call('DELETE', alias('debian/old'))).status).toBe(200);
    expect((await daemon.call('DELETE', alias('debian/old'))).status).toBe(404);
  });

  test('onto a name in use answer 409, to no image 404, without required members 400', async () => {
    const one = await uploaded(tarball(), { 'x-svc-aliases': 'alias=x1&alias=x2' });
    const post = async (body: object): Promise<number> =>
      (await daemon.call('POST', '/1.0/images/aliases', body)).status;
    expect(await post({ name: 'x1', target: one })).toBe(409);
    expect(await post({ name: 'x3', target: '00ff' })).toBe(404);
    expect(await post({ name: 'x3' })).toBe(400);
    expect(await post({ target: one })).toBe(400);
    expect(await post({ name: 'a b', target: one })).toBe(400);
    // An URL with one of these would mean something else.
    for (const name of ['.', '..', 'a/', '/a', 'a//b', 'a/../b'])
      expect([name, await post({ name, target: one })]).toEqual([name, 400]);
    const twice = {
      aliases: [{ name: 'x4' }, { name: 'x4', description: null }],
      source: { type: 'url', url: 'http://x' },
    };
    const refused = await daemon.call('POST', '/1.0/images', twice);
    expect([refused.status, refused.metadata.details]).toEqual([
      400,
      [{ path: 'aliases.1.name', message: 'occurs twice: x4' }],
    ]);
    expect((await daemon.call('POST', alias('x1'), { name: 'x2' })).status).toBe(409);
    expect((await daemon.call('PUT', alias('x1'), { description: 'x' })).status).toBe(400);
    expect((await daemon.call('PUT', alias('nobody'), { target: one })).status).toBe(404);
    const etag = String((await daemon.call('GET', alias('x1'))).headers.etag);
    await daemon.call('PATCH', alias('x1'), { description: 'new' });
    expect((await daemon.call('PATCH', alias('x1'), { description: 'newer' }, { 'if-match': etag })).status).toBe(412);
  });
});
