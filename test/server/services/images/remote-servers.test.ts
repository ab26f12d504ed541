// Images from addresses and through proxies over the real daemon, and servers that attack or fail (spec 2.5.1, 4.8; real system 14.5-14.7).
import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import type { Json } from '../../../support/daemons/daemon.ts';
import { fileDaemon } from '../../../support/daemons/file-daemon.ts';
import {
  expectFailed,
  fingerprintOf,
  imageFiles,
  metadataOf,
  rootfsOf,
  serve,
  tarball,
} from '../../../support/images/pulls.ts';
import {
  fakeProxy,
  serveDirect,
  serveTree,
  sha256,
  streamTree,
  type Handler,
} from '../../../support/images/remotes.ts';
import { until } from '../../../support/until.ts';

const local = await fileDaemon();
/** Waits only for servers that must time out. */
const impatient = await fileDaemon({ remoteLimits: { answerMs: 3000, paceMs: 1000, paceBytes: 1024 } });

const pull = (source: object): Promise<Operation> =>
  local.run('POST', '/1.0/images', { source: { type: 'image', mode: 'pull', ...source } });
const image = (fingerprint: string): Promise<Json> => local.get(`/1.0/images/${fingerprint}`);
const expectFailure = (work: () => Promise<Operation>, words: RegExp, daemon = local): Promise<void> =>
  expectFailed(daemon, work, words);

describe('pulling the image at an address', () => {
  const run = (url: string, more: object = {}): Promise<Operation> =>
    local.run('POST', '/1.0/images', { source: { type: 'url', url }, ...more });

  test.each(['LXD', 'SVC'])('pulling the image at an address with headers of %s', async (prefix) => {
    const bytes = tarball(', os: busybox');
    let headers: Json = {};
    const server = await serve('http', (request, response) => {
      if (request.method === 'HEAD') headers = request.headers;
      serveDirect(bytes, { prefix })(request, response);
    });
    const operation = await run(`${server.url}/busybox?v=1`, { public: true, properties: { release: 'x' } });
    expect(fingerprintOf(operation)).toBe(sha256(bytes));
    expect(headers).toMatchObject({
      'lxd-server-architectures': 'x86_64, i686',
      'user-agent': expect.stringMatching(/^gantry\//),
    });
    expect(await image(sha256(bytes))).toMatchObject({
      public: true,
      filename: 'image.tar',
      properties: { os: 'busybox', release: 'x' },
    });
  });

  test('follows redirects, but not from https to http, not to other schemes, not endlessly', async () => {
    const bytes = tarball();
    const plain = await serve('http', serveDirect(bytes));
    const redirect =
      (status: number, location: string): Handler =>
      (_request, response) => {
        response.writeHead(status, { location });
        response.end();
      };
    const there = await serve('http', redirect(302, `${plain.url}/busybox`));
    expect(fingerprintOf(await run(there.url))).toBe(sha256(bytes));
    there.handle = redirect(301, 'file:///etc/passwd');
    await expectFailure(() => run(there.url), /redirects to file:\/\/, which is not followed/);
    there.handle = redirect(302, '/again');
    await expectFailure(() => run(there.url), /redirects more than 5 times/);
    plain.handle = serveDirect(bytes, { location: 'gopher://x/y' });
    await expectFailure(() => run(plain.url), /redirects to gopher:/);
  });

  test.each([
    ['no headers', { hash: '', location: '' }, /stands for no image: .*LXD-Image-Hash/],
    ['another hash', { hash: 'cd'.repeat(32) }, /has fingerprint [0-9a-f]{64}, expected is (cd){32}/],
    ['a missing file', { location: '/files/none' }, /answers 404/],
  ])('with %s fails and leaves nothing behind', async (_what, more, words) => {
    const server = await serve('http', serveDirect(tarball(), more));
    await expectFailure(() => run(server.url), words);
  });

  test.each([{ url: '' }, { url: 'moon' }, { url: 'file:///etc/passwd' }])('%j is refused at once', async (source) => {
    expect((await local.call('POST', '/1.0/images', { source: { type: 'url', ...source } })).status).toBe(400);
  });
});

describe('a server that', () => {
  /** Sends the head of the file and a part of it, then the given ending. */
  const partly =
    (bytes: Buffer, then: (response: ServerResponse) => void): Handler =>
    (request, response) => {
      if (request.method === 'HEAD') return serveDirect(bytes)(request, response);
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 700), () => then(response));
    };
  const run = (url: string): Promise<Operation> =>
    impatient.run('POST', '/1.0/images', { source: { type: 'url', url } });

  test.each<[string, Handler, RegExp]>([
    ['dies in the middle', partly(tarball(), (response) => response.destroy()), /broke off/],
    ['stops sending', partly(tarball(), () => {}), /comes too slowly|broke off/],
    [
      'trickles',
      partly(tarball(), (response) => {
        const timer = setInterval(() => response.write('x'), 100);
        response.on('close', () => clearInterval(timer));
      }),
      /comes too slowly: \d+ bytes in 1000 ms/,
    ],
    ['never answers', () => {}, /cannot reach/],
    ['hangs up', (request) => void request.socket.destroy(), /cannot reach/],
    [
      'announces more than fits on the disk',
      (request, response) => {
        if (request.method === 'HEAD') return serveDirect(tarball())(request, response);
        response.writeHead(200, { 'content-length': Number.MAX_SAFE_INTEGER });
        response.write('x');
      },
      /has 9007199254740991 bytes, but only \d+ are free/,
    ],
    [
      'compresses without being asked',
      (request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' });
        response.end();
      },
      /answers packed as gzip/,
    ],
  ])('%s makes the pull fail and leaves nothing behind', async (_what, handle, words) => {
    const server = await serve('http', handle);
    await expectFailure(() => run(`${server.url}/image`), words, impatient);
  });

  test.each<[string, Json, RegExp]>([
    [
      'another image than asked for',
      { metadata: { fingerprint: 'ab'.repeat(32) } },
      /was asked for image c+ and answers with/,
    ],
    ['no object', { metadata: 'x' }, /was asked for image/],
    ['nonsense', 'x', /was asked for image/],
  ])('answers with %s is refused', async (_what, body, words) => {
    const server = await serve('https', (_request, response) => response.end(JSON.stringify(body)));
    const source = { server: server.url, certificate: server.certificate, fingerprint: 'c'.repeat(64) };
    await expectFailure(() => pull(source), words);
  });

  test.each<[string, (parts: Buffer[]) => Buffer[], RegExp]>([
    ['one part', (parts) => parts.slice(0, 1), /of the parts "metadata"/],
    ['an exchanged part', ([first = Buffer.of()]) => [first, first], /has fingerprint|of the parts/],
  ])('sends %s of an image in two', async (_what, change, words) => {
    const parts = [metadataOf(), rootfsOf()];
    const fingerprint = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    const server = await serve('https', (request, response) => {
      if (request.url?.endsWith('/export') !== true) {
        response.end(JSON.stringify({ type: 'sync', metadata: { fingerprint, size: Buffer.concat(parts).length } }));
        return;
      }
      response.writeHead(200, { 'content-type': 'multipart/form-data; boundary=b' });
      for (const [at, bytes] of change(parts).entries()) {
        const name = ['metadata', 'rootfs'][at];
        response.write(`--b\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\n\r\n`);
        response.write(bytes);
        response.write('\r\n');
      }
      response.end('--b--\r\n');
    });
    await expectFailure(() => pull({ server: server.url, certificate: server.certificate, fingerprint }), words);
  });

  test('sends slowly can be cancelled, and one of two waiting clients may leave', async () => {
    const bytes = tarball();
    const open: ServerResponse[] = [];
    const server = await serve(
      'http',
      partly(bytes, (response) => open.push(response)),
    );
    const start = async (): Promise<string> =>
      (await local.call('POST', '/1.0/images', { source: { type: 'url', url: server.url } })).body.operation as string;
    const before = imageFiles(local);
    const [first, second] = [await start(), await start()];
    await until(() => open.length === 1);
    await until(async () => (await local.get(second)).metadata?.fingerprint !== undefined);
    await local.call('DELETE', first);
    expect(await local.wait(first)).toMatchObject({ status: 'Cancelled' });
    for (const response of open) response.end(bytes.subarray(700));
    expect(fingerprintOf(await local.wait(second))).toBe(sha256(bytes));
    expect(server.asked.filter((line) => line.startsWith('GET'))).toHaveLength(1);
    await local.ok('DELETE', `/1.0/images/${sha256(bytes)}`);
    const third = await start();
    await until(() => open.length === 2);
    await local.call('DELETE', third);
    expect(await local.wait(third)).toMatchObject({ status: 'Cancelled' });
    expect(imageFiles(local)).toEqual(before);
  });
});

describe('proxies', () => {
  const image1 = tarball();
  test('are used for http and https servers unless the host is excluded', async () => {
    const plain = await serve('http', serveDirect(image1));
    const proxy = await fakeProxy(() => plain);
    onTestFinished(() => proxy.close());
    await local.call('PATCH', '/1.0', { config: { 'core.proxy_http': proxy.url } });
    onTestFinished(
      async () =>
        void (await local.call('PATCH', '/1.0', { config: { 'core.proxy_http': '', 'core.proxy_ignore_hosts': '' } })),
    );
    const url = 'http://images.example/one';
    const operation = await local.run('POST', '/1.0/images', { source: { type: 'url', url } });
    expect(fingerprintOf(operation)).toBe(sha256(image1));
    expect(proxy.asked[0]).toBe('HEAD http://images.example/one');
    await local.call('PATCH', '/1.0', { config: { 'core.proxy_ignore_hosts': 'images.example' } });
    await expectFailure(
      () => local.run('POST', '/1.0/images', { source: { type: 'url', url } }),
      /cannot reach http:\/\/images\.example\/one \(.*images\.example.*: check the network of the host/,
    );
  });

  test('tunnel TLS to a server whose certificate is still pinned', async () => {
    const version = { metadata: metadataOf(), rootfs: rootfsOf() };
    const tree = streamTree({ a: { aliases: 'busy', arch: 'amd64', versions: { '20240101': version } } });
    const secure = await serve('https', serveTree(tree));
    const proxy = await fakeProxy(() => secure);
    onTestFinished(() => proxy.close());
    await local.call('PATCH', '/1.0', { config: { 'core.proxy_https': proxy.url } });
    const source = { type: 'image', protocol: 'simplestreams', server: 'https://streams.example', alias: 'busy' };
    onTestFinished(async () => void (await local.call('PATCH', '/1.0', { config: { 'core.proxy_https': '' } })));
    const pinned = { ...source, certificate: secure.certificate };
    const operation = await local.run('POST', '/1.0/images', { source: pinned });
    expect(fingerprintOf(operation)).toBe(sha256(version.metadata, version.rootfs));
    expect(proxy.asked[0]).toBe('CONNECT streams.example:443');
    const { certificate } = await serve('https', serveTree(new Map()));
    await expectFailure(() => local.run('POST', '/1.0/images', { source: { ...source, certificate } }), /cannot reach/);
  });
});
