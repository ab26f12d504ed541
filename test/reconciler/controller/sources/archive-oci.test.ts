// Archives and OCI artefacts as sources, from servers on loopback: digests first, and nothing hostile is unpacked.
import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack, type Header } from 'tar-stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { ArchiveSettings, OciSettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { readOciReference } from '../../../../reconciler/controller/sources/oci/oci-reference.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
let closers: (() => void)[] = [];
beforeEach(() => void (folder = tempFolder('gantry-tar-')));
afterEach(() => {
  for (const close of closers) close();
  closers = [];
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function tar(entries: readonly (Partial<Header> & { name: string; text?: string })[]): Promise<Buffer> {
  const stream = pack();
  for (const { text, ...header } of entries) stream.entry(header, text ?? '');
  stream.finalize();
  return buffer(stream);
}

const digestOf = (bytes: Buffer | string): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const context = () => ({
  stateDir: join(folder, 'state'),
  absolute: (path: string) => join(folder, path),
  now: () => '2026-01-01T00:00:00Z',
});
const archive = (settings: ArchiveSettings): Source => openSource({ name: 'site', archive: settings }, context());
const filesOf = async (source: Source): Promise<readonly string[]> => {
  const { revision } = await source.check();
  return readdirSync((await source.checkout(revision)).dir, { recursive: true })
    .map(String)
    .sort();
};

describe('an archive', () => {
  const site = [
    { name: './', type: 'directory' as const },
    { name: './web.yaml', text: 'web' },
    { name: './db/db.yaml', text: 'db' },
    { name: './db/link.yaml', type: 'symlink' as const, linkname: '../web.yaml' },
  ];

  test('is read packed and unpacked, from HTTP and from a file; its digest is the revision', async () => {
    const plain = await tar(site);
    const packed = gzipSync(plain);
    const host = await serve((request, response) => response.end(request.url === '/a.tar' ? plain : packed));
    expect(await filesOf(archive({ url: `http://${host}/a.tar` }))).toEqual([
      'db',
      'db/db.yaml',
      'db/link.yaml',
      'web.yaml',
    ]);
    const fromGzip = archive({ url: `http://${host}/a.tgz?token=s3cret` });
    expect((await fromGzip.check()).revision).toBe(digestOf(packed));
    expect(fromGzip.url).toBe(`http://${host}/a.tgz`);
    writeFileSync(join(folder, 'a.tar'), plain);
    const below = openSource({ name: 'below', archive: { url: `file://${folder}/a.tar`, path: 'db' } }, context());
    // The link leads out of `path`.
    await expect(below.check()).rejects.toMatchObject({ problem: 'refused' });
    await expect(archive({ url: `file://${folder}/absent.tar` }).check()).rejects.toMatchObject({
      problem: 'not-found',
    });
    await expect(archive({ url: `http://${host}/a.tar`, path: 'absent' }).check()).rejects.toMatchObject({
      problem: 'not-found',
    });
  });

  test('an archive with another digest is never unpacked; with the named one it is fetched once', async () => {
    const packed = gzipSync(await tar(site));
    let requests = 0;
    const host = await serve((_request, response) => {
      requests += 1;
      response.end(packed);
    });
    const url = `http://${host}/a.tgz`;
    const wrong = archive({ url, digest: `sha256:${'0'.repeat(64)}` });
    await expect(wrong.check()).rejects.toMatchObject({ problem: 'unverified' });
    expect(existsSync(join(folder, 'state/sources/site/checkouts'))).toBe(false);
    const right = archive({ url, digest: digestOf(packed) });
    expect(await right.check()).toMatchObject({ verified: { by: 'digest' } });
    await right.check();
    expect(requests).toBe(2);
  });

  test('an archive that has not changed is not sent again', async () => {
    const plain = await tar(site);
    const statuses: number[] = [];
    const host = await serve((request, response) => {
      const isKnown = request.headers['if-none-match'] === '"1"';
      statuses.push(isKnown ? 304 : 200);
      response.writeHead(isKnown ? 304 : 200, { etag: '"1"' }).end(isKnown ? undefined : plain);
    });
    const source = archive({ url: `http://${host}/a.tar` });
    expect(await source.check()).toEqual(await source.check());
    expect(statuses).toEqual([200, 304]);
  });

  test.each([
    ['a path with ..', [{ name: '../evil.yaml', text: 'x' }]],
    ['a path with .. in the middle', [{ name: 'a/../../evil.yaml', text: 'x' }]],
    ['an absolute path', [{ name: '/tmp/evil.yaml', text: 'x' }]],
    ['a link out of the tree', [{ name: 'a', type: 'symlink' as const, linkname: '../../..' }]],
    ['a link to an absolute path', [{ name: 'a', type: 'symlink' as const, linkname: '/etc/passwd' }]],
    [
      'a file through a link',
      [
        { name: 'a', type: 'symlink' as const, linkname: 'b' },
        { name: 'b/c', text: 'x' },
        { name: 'a/c', text: 'y' },
      ],
    ],
    [
      'a hard link',
      [
        { name: 'a', text: 'x' },
        { name: 'b', type: 'link' as const, linkname: 'a' },
      ],
    ],
    ['a device', [{ name: 'a', type: 'character-device' as const }]],
    [
      'a file twice',
      [
        { name: 'a', text: 'x' },
        { name: 'a', text: 'y' },
      ],
    ],
    ['a folder .git', [{ name: '.git/config', text: 'x' }]],
  ])('with %s is refused', async (_title, entries) => {
    const bytes = await tar(entries);
    const host = await serve((_request, response) => response.end(bytes));
    await expect(archive({ url: `http://${host}/a.tar` }).check()).rejects.toMatchObject({ problem: 'refused' });
    expect(readdirSync(join(folder, 'state/sources/site/checkouts'))).toEqual([]);
    expect(existsSync(join(folder, 'state/sources/site/evil.yaml'))).toBe(false);
  });

  test('an archive that unpacks beyond the limit, or never ends, is aborted', async () => {
    const bomb = gzipSync(Buffer.concat([await tar([{ name: 'a', text: '0'.repeat(20_000_000) }])]));
    const host = await serve((request, response) => {
      if (request.url === '/bomb') {
        response.end(bomb);
        return;
      }
      const timer = setInterval(() => response.write(Buffer.alloc(1_000_000)), 5);
      response.on('close', () => clearInterval(timer));
    });
    expect(bomb.length).toBeLessThan(100_000);
    await expect(archive({ url: `http://${host}/bomb`, limits: { size: 1_000_000 } }).check()).rejects.toMatchObject({
      problem: 'limit',
    });
    await expect(archive({ url: `http://${host}/endless`, limits: { size: 5_000_000 } }).check()).rejects.toMatchObject(
      { problem: 'limit' },
    );
    await expect(
      archive({ url: `http://${host}/endless`, limits: { timeout: '300ms' } }).check(),
    ).rejects.toMatchObject({ problem: 'limit' });
  });

  test('an HTML page and a truncated archive are refused, and statuses have different errors', async () => {
    const packed = gzipSync(await tar(site));
    const host = await serve((request, response) => {
      if (request.url === '/page') {
        response.end('<html>'.repeat(500));
        return;
      }
      if (request.url === '/cut') {
        response.end(packed.subarray(0, 60));
        return;
      }
      response.writeHead(Number(request.url?.slice(1))).end();
    });
    const problem = (path: string) => archive({ url: `http://${host}${path}` }).check();
    await expect(problem('/page')).rejects.toMatchObject({ problem: 'refused' });
    await expect(problem('/cut')).rejects.toMatchObject({ problem: 'refused' });
    await expect(problem('/403')).rejects.toMatchObject({ problem: 'denied' });
    await expect(problem('/404')).rejects.toMatchObject({ problem: 'not-found' });
    await expect(problem('/500')).rejects.toMatchObject({ problem: 'unreachable' });
  });

  test('behind a redirect is fetched without the credentials', async () => {
    const plain = await tar(site);
    const seen: (string | undefined)[] = [];
    const store = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response.end(plain);
    });
    const front = await serve((request, response) => {
      seen.push(request.headers.authorization);
      response
        .writeHead(302, { location: request.url === '/file' ? 'file:///etc/passwd' : `http://${store}/a.tar` })
        .end();
    });
    writeFileSync(join(folder, 'token'), 's3cret\n');
    const credentials = { passwordFile: 'token' };
    expect(await filesOf(archive({ url: `http://${front}/a`, credentials }))).toContain('web.yaml');
    expect(seen.slice(0, 2)).toEqual(['Bearer s3cret', undefined]);
    await expect(archive({ url: `http://${front}/file`, credentials }).check()).rejects.toMatchObject({
      problem: 'refused',
    });
    expect(() => archive({ url: 'https://ada:pw@host/a' })).toThrow('write them to credentials');
    expect(() => archive({ url: 'ftp://host/a' })).toThrow('write an https, http or file URL');
  });
});

/** A fake registry: one artefact, with tokens from a separate server as in the distribution spec. */
async function registry(layers: readonly { readonly type: string; readonly bytes: Buffer }[], tampered?: Buffer) {
  const described = layers.map(({ type, bytes }) => ({ mediaType: type, digest: digestOf(bytes), size: bytes.length }));
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: {},
    layers: described,
  });
  const paths: string[] = [];
  /** By path: signatures. */
  const more = new Map<string, Buffer>();
  const host: string = await serve((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    paths.push(pathname);
    if (pathname === '/token') {
      const isKnown = request.headers.authorization === `Basic ${Buffer.from('bot:s3cret').toString('base64')}`;
      response.writeHead(isKnown ? 200 : 401).end(JSON.stringify({ token: `t-${searchParams.get('scope') ?? ''}` }));
      return;
    }
    if (request.headers.authorization !== 'Bearer t-repository:team/site:pull') {
      response
        .writeHead(401, { 'www-authenticate': `Bearer realm="http://${host}/token",service="r",scope="x"` })
        .end();
      return;
    }
    if (pathname === '/v2/team/site/manifests/v1' || pathname === `/v2/team/site/manifests/${digestOf(manifest)}`) {
      response.end(manifest);
      return;
    }
    const other = more.get(pathname.slice('/v2/team/site/'.length));
    if (other !== undefined) {
      response.end(other);
      return;
    }
    const layer = layers.find(({ bytes }) => pathname === `/v2/team/site/blobs/${digestOf(bytes)}`);
    if (layer === undefined) {
      response.writeHead(404).end();
      return;
    }
    response.end(tampered ?? layer.bytes);
  });
  writeFileSync(join(folder, 'token'), 's3cret');
  return { host, digest: digestOf(manifest), paths, more };
}

describe('an OCI artefact', () => {
  const oci = (host: string, settings: Partial<OciSettings> = {}): Source =>
    openSource(
      {
        name: 'site',
        oci: {
          ref: `${host}/team/site:v1`,
          insecure: true,
          credentials: { username: 'bot', passwordFile: 'token' },
          ...settings,
        },
      },
      context(),
    );
  const flux = 'application/vnd.cncf.flux.content.v1.tar+gzip';
  const files = async (): Promise<Buffer> => gzipSync(await tar([{ name: 'web.yaml', text: 'web' }]));

  test('is pulled with a token, by tag and by digest; the digest of its manifest is the revision', async () => {
    const { host, digest, paths } = await registry([
      { type: 'application/vnd.cncf.flux.config.v1+json', bytes: Buffer.from('{}') },
      { type: flux, bytes: await files() },
    ]);
    const source = oci(host);
    expect(await source.check()).toEqual({ revision: digest, at: '2026-01-01T00:00:00Z', reference: 'v1' });
    expect(await filesOf(source)).toEqual(['web.yaml']);
    expect(paths.filter((path) => path.includes('/blobs/'))).toHaveLength(1);
    rmSync(join(folder, 'state'), { recursive: true });
    const pinned = oci(host, { digest });
    expect(readFileSync(join((await pinned.checkout(digest)).dir, 'web.yaml'), 'utf8')).toBe('web');
    expect(await pinned.check()).toMatchObject({ verified: { by: 'digest', key: digest } });
  });

  test('is used only with a cosign signature by a configured key', async () => {
    const { host, digest, more, paths } = await registry([{ type: flux, bytes: await files() }]);
    const [mine, other] = [0, 1].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
    const pem = (key: KeyObject | undefined): string => key?.export({ type: 'spki', format: 'pem' }).toString() ?? '';
    writeFileSync(join(folder, 'cosign.pub'), pem(mine?.publicKey));
    writeFileSync(join(folder, 'other.pub'), pem(other?.publicKey));
    const signed = oci(host, { verify: { cosign: ['cosign.pub'] } });
    await expect(signed.check()).rejects.toMatchObject({ problem: 'unverified' });
    expect(paths.filter((path) => path.includes('/blobs/'))).toEqual([]);
    const publish = (statement: Buffer, signature: Buffer): void => {
      const annotations = { 'dev.cosignproject.cosign/signature': signature.toString('base64') };
      const mediaType = 'application/vnd.dev.cosign.simplesigning.v1+json';
      const layer = { mediaType, digest: digestOf(statement), size: statement.length, annotations };
      more.set(`manifests/${digest.replace(':', '-')}.sig`, Buffer.from(JSON.stringify({ layers: [layer] })));
      more.set(`blobs/${digestOf(statement)}`, statement);
    };
    const statementOf = (about: string, type = 'cosign container image signature'): Buffer =>
      Buffer.from(JSON.stringify({ critical: { identity: {}, image: { 'docker-manifest-digest': about }, type } }));
    const by = (statement: Buffer, key: KeyObject | undefined): Buffer =>
      sign('sha256', statement, key ?? expect.fail('no key'));
    const good = statementOf(digest);
    const elsewhere = statementOf(`sha256:${'0'.repeat(64)}`);
    const untyped = statementOf(digest, 'something else');
    for (const [statement, signature] of [
      [good, by(good, other?.privateKey)],
      [elsewhere, by(elsewhere, mine?.privateKey)],
      [untyped, by(untyped, mine?.privateKey)],
      [good, by(elsewhere, mine?.privateKey)],
      [good, Buffer.from('x')],
      [Buffer.from('no json'), by(Buffer.from('no json'), mine?.privateKey)],
    ] as const) {
      publish(statement, signature);
      await expect(signed.check()).rejects.toMatchObject({ problem: 'unverified' });
    }
    publish(good, by(good, mine?.privateKey));
    // The registry sends a statement that differs from the one in the manifest.
    more.set(`blobs/${digestOf(good)}`, elsewhere);
    await expect(signed.check()).rejects.toMatchObject({ problem: 'unverified' });
    publish(good, by(good, mine?.privateKey));
    const both = oci(host, { verify: { cosign: ['other.pub', 'cosign.pub'] } });
    expect(await both.check()).toMatchObject({ revision: digest, verified: { by: 'cosign', key: 'cosign.pub' } });
    expect(await filesOf(signed)).toEqual(['web.yaml']);
    // A key that leaves its file signs nothing any more, also the revision that was accepted.
    writeFileSync(join(folder, 'cosign.pub'), pem(other?.publicKey));
    await expect(both.check()).rejects.toMatchObject({ problem: 'unverified' });
    await expect(oci(host, { digest, verify: { cosign: ['cosign.pub'] } }).check()).rejects.toMatchObject({
      problem: 'unverified',
    });
    writeFileSync(join(folder, 'cosign.pub'), pem(mine?.publicKey));
    expect(await both.check()).toMatchObject({ revision: digest });
    // Even files that are stored already are not used without a signature.
    more.clear();
    await expect(oci(host, { verify: { cosign: ['cosign.pub'] } }).check()).rejects.toMatchObject({
      problem: 'unverified',
    });
    writeFileSync(join(folder, 'bad.pub'), 'no key');
    await expect(oci(host, { verify: { cosign: ['bad.pub'] } }).check()).rejects.toThrow(
      'bad.pub is no public key in PEM',
    );
  });

  test('an OCI artefact with another digest, or a layer that was exchanged, is refused', async () => {
    const bytes = await files();
    const evil = gzipSync(await tar([{ name: 'web.yaml', text: 'evil' }]));
    const { host } = await registry([{ type: flux, bytes }], evil);
    await expect(oci(host).check()).rejects.toMatchObject({ problem: 'unverified' });
    await expect(oci(host, { digest: `sha256:${'0'.repeat(64)}` }).check()).rejects.toMatchObject({
      problem: 'not-found',
    });
    expect(existsSync(join(folder, 'state/sources/site/checkouts'))).toBe(false);
  });

  test('an OCI artefact with no layer of files or with two is refused', async () => {
    const bytes = await files();
    const none = await registry([{ type: 'text/plain', bytes }]);
    await expect(oci(none.host).check()).rejects.toMatchObject({ problem: 'refused' });
    const two = await registry([
      { type: flux, bytes },
      { type: 'application/vnd.oci.image.layer.v1.tar+gzip', bytes: Buffer.from('x') },
    ]);
    await expect(oci(two.host).check()).rejects.toMatchObject({ problem: 'refused' });
  });

  test('is refused with wrong credentials, and the password does not show', async () => {
    const { host } = await registry([{ type: flux, bytes: await files() }]);
    writeFileSync(join(folder, 'token'), 'wrong-pass');
    const error = await oci(host)
      .check()
      .then(
        () => 'none',
        (thrown: Error) => thrown,
      );
    expect(error).toMatchObject({ problem: 'denied' });
    expect(reasonOf(error)).not.toContain('wrong-pass');
  });

  test.each(['site', 'host/UPPER', 'host/a:b:c', 'host/../x', 'host/a@sha256:1', '-x/y', 'host/a b'])(
    'the reference %j is refused',
    (text) => {
      expect(() => readOciReference(text)).toThrow('is no reference');
    },
  );

  test('sends its credentials to no host that the registry redirects to, though that one asks for them', async () => {
    const seen: (readonly [string, string | undefined])[] = [];
    const elsewhere = await serve((request, response) => {
      seen.push([request.url ?? '', request.headers.authorization]);
      const realm = `http://${request.headers.host ?? ''}/token`;
      response.writeHead(401, { 'www-authenticate': `Bearer realm="${realm}",service="a"` }).end();
    });
    const host = await serve((request, response) =>
      response.writeHead(307, { location: `http://${elsewhere}/blob` }).end(),
    );
    writeFileSync(join(folder, 'token'), 's3cret\n');
    await expect(oci(host).check()).rejects.toMatchObject({
      problem: 'denied',
      message: expect.stringContaining(`${elsewhere}, to which the registry redirects, asks for credentials`),
    });
    expect(seen).toEqual([['/blob', undefined]]);
  });

  test('references have a tag, a digest, or the tag latest', () => {
    expect(readOciReference('oci://ghcr.io/team/site')).toEqual({
      registry: 'ghcr.io',
      repository: 'team/site',
      reference: 'latest',
    });
    expect(readOciReference('localhost:5000/a/b_c:v1')).toMatchObject({ registry: 'localhost:5000', reference: 'v1' });
    const digest = `sha256:${'a'.repeat(64)}`;
    expect(readOciReference(`h/a:v1@${digest}`)).toEqual({ registry: 'h', repository: 'a', reference: digest, digest });
  });
});
