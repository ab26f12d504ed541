// Buckets as sources: a fake S3 server on loopback that checks each signature.
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readListing } from '../../../../reconciler/controller/sources/bucket/read-listing.ts';
import { encoded, signedGet } from '../../../../reconciler/controller/sources/bucket/sign-request.ts';
import { openSource } from '../../../../reconciler/controller/sources/open-source.ts';
import type { Source } from '../../../../reconciler/controller/sources/source.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const login = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const folder = tempFolder('gantry-bucket-');
const objects = new Map<string, string>();
let listing: ((text: string) => string) | undefined;
/** Called before an object is answered. */
let onGet: (() => unknown) | undefined;
/** Answers only the first bytes of an object, or breaks the connection after them. */
let cut: { readonly to: number; readonly isBroken: boolean } | undefined;
let refusal: { readonly status: number; readonly headers: object; readonly text: string } | undefined;
let endpoint = '';
const etag = (text: string): string => `"${createHash('md5').update(text).digest('hex')}"`;
const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', `http://${request.headers.host ?? ''}`);
  const match = request.headers['if-match'];
  if (request.headers.authorization === undefined) {
    response.writeHead(403).end();
    return;
  }
  const at = String(request.headers['x-amz-date']).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const more = match === undefined ? {} : { 'if-match': match };
  if (request.headers.authorization !== signedGet(url, login, new Date(at), more).authorization) {
    response.writeHead(403).end();
    return;
  }
  if (refusal !== undefined) {
    response.writeHead(refusal.status, { ...refusal.headers }).end(refusal.text);
    return;
  }
  if (url.pathname === '/site/') {
    const prefix = url.searchParams.get('prefix') ?? '';
    const all = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const from = Number(url.searchParams.get('continuation-token') ?? 0);
    const page = all.slice(from, from + 2).map((key) => {
      const text = objects.get(key) ?? '';
      return `<Contents><Key>${encoded(key).replaceAll('%2F', '/')}</Key><ETag>${etag(text).replaceAll('"', '&quot;')}</ETag><Size>${Buffer.byteLength(text)}</Size></Contents>`;
    });
    const isCut = all.length > from + 2;
    const next = isCut ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : '';
    const text = `<?xml version="1.0"?>\n<ListBucketResult xmlns="x"><EncodingType>url</EncodingType><IsTruncated>${isCut}</IsTruncated>${next}${page.join('')}</ListBucketResult>`;
    response.end(listing?.(text) ?? text);
    return;
  }
  onGet?.();
  const text = objects.get(decodeURIComponent(url.pathname.slice('/site/'.length)));
  if (cut !== undefined && text !== undefined) {
    response.writeHead(200, cut.isBroken ? { 'content-length': text.length } : {});
    response.write(text.slice(0, cut.to), () => (cut?.isBroken === true ? response.destroy() : response.end()));
    return;
  }
  response.writeHead(text === undefined ? 404 : etag(text) === match ? 200 : 412).end(text);
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'secret'), `${login.secretKey}\n`);
  writeFileSync(join(folder, 'wrong'), 'wrong');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const open = (more: object = {}): Source =>
  openSource(
    {
      name: 'site',
      bucket: {
        endpoint,
        bucket: 'site',
        path: 'web',
        credentials: { username: login.accessKey, passwordFile: 'secret' },
        ...more,
      },
    },
    { stateDir: join(folder, 'state'), absolute: (path) => join(folder, path), now: () => '2026-01-01T00:00:00Z' },
  );

test('the signature of a request matches the example of AWS', () => {
  const url = new URL('https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J');
  expect(signedGet(url, login, new Date('2013-05-24T00:00:00Z')).authorization).toContain(
    'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
  const object = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
  expect(signedGet(object, login, new Date('2013-05-24T00:00:00Z'), { range: 'bytes=0-9' }).authorization).toContain(
    'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('the objects below the path are the files, on all pages, and a change is another revision', async () => {
  objects.clear();
  for (const key of ['web/a.yaml', 'web/sub/b c+ü.yaml', 'web/sub/', 'web/z.yaml', 'other.yaml'])
    objects.set(key, `text of ${key}`);
  const source = open();
  const { revision } = await source.check();
  const { dir } = await source.checkout(revision);
  expect(readdirSync(dir, { recursive: true }).map(String).sort()).toEqual([
    'a.yaml',
    'sub',
    'sub/b c+ü.yaml',
    'z.yaml',
  ]);
  expect(readFileSync(join(dir, 'sub/b c+ü.yaml'), 'utf8')).toBe('text of web/sub/b c+ü.yaml');
  expect((await source.check()).revision).toBe(revision);
  objects.set('web/a.yaml', 'another text');
  const next = await source.check();
  expect(next.revision).not.toBe(revision);
  expect(readFileSync(join((await source.checkout(next.revision)).dir, 'a.yaml'), 'utf8')).toBe('another text');
  expect(readFileSync(join((await source.checkout(revision)).dir, 'a.yaml'), 'utf8')).toBe('text of web/a.yaml');
});

test('wrong keys, hostile names, excess data and incomplete lists change nothing', async () => {
  objects.clear();
  objects.set('web/a.yaml', 'a');
  await expect(open({ credentials: { username: 'x', passwordFile: 'wrong' } }).check()).rejects.toMatchObject({
    problem: 'denied',
  });
  await expect(open({ credentials: {} }).check()).rejects.toMatchObject({ problem: 'denied' });
  for (const key of ['web/../../etc/x', 'web//x', 'web/.git/config', 'web/a\u0000b']) {
    objects.set(key, 'evil');
    await expect(open().check(), key).rejects.toMatchObject({ problem: 'refused' });
    objects.delete(key);
  }
  await expect(open({ limits: { files: 1, size: 1000 } }).check()).resolves.toMatchObject({
    at: '2026-01-01T00:00:00Z',
  });
  objects.set('web/b.yaml', 'b'.repeat(2000));
  await expect(open({ limits: { size: 1000 } }).check()).rejects.toMatchObject({ problem: 'limit' });
  for (const change of [
    (text: string) => text.slice(0, -5),
    () => '',
    () => '<html></html>',
    (text: string) => text.replace('<EncodingType>url</EncodingType>', ''),
    (text: string) => text.replaceAll(/<Size>\d+/g, '<Size>-1'),
    (text: string) => text.replace('web/a', 'web/%zz'),
  ]) {
    listing = change;
    await expect(open().check()).rejects.toMatchObject({ problem: 'refused' });
  }
  listing = (text) => text.replace(/<ETag>[^<]*/, '<ETag>&quot;old&quot;');
  await expect(open().check()).rejects.toThrow('changes while it is read');
  listing = undefined;
  expect(() =>
    readListing(
      '<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated></ListBucketResult>',
      'x',
    ),
  ).toThrow('no continuation token');
});

test('a bucket that changes while it is read is read again, and no mixture of its states is used', async () => {
  objects.clear();
  objects.set('web/a.yaml', 'first of a');
  objects.set('web/b.yaml', 'first of b');
  const before = await open().check();
  const changes: (() => void)[] = [
    () => objects.set('web/a.yaml', 'second of a'),
    () => objects.set('web/c.yaml', 'needs the second a'),
    () => objects.delete('web/b.yaml'),
  ];
  onGet = () => changes.shift()?.();
  const { revision } = await open().check();
  onGet = undefined;
  const { dir } = await open().checkout(revision);
  expect(readdirSync(dir).sort()).toEqual(['a.yaml', 'c.yaml']);
  expect([revision === before.revision, readFileSync(join(dir, 'a.yaml'), 'utf8')]).toEqual([false, 'second of a']);

  let count = 0;
  onGet = () => objects.set('web/a.yaml', `change ${(count += 1)}`);
  await expect(open().check()).rejects.toMatchObject({
    problem: 'unreachable',
    message: expect.stringContaining('changes while it is read') as string,
  });
  onGet = undefined;
});

test.each([
  ['ends early', false, 'changes while it is read'],
  ['breaks off', true, 'source site'],
])('an object whose answer %s is not used', async (_how, isBroken, says) => {
  objects.clear();
  objects.set('web/a.yaml', 'kind: profile\nname: web\n');
  cut = { to: 14, isBroken };
  await expect(open().check()).rejects.toMatchObject({
    problem: 'unreachable',
    message: expect.stringContaining(says) as string,
  });
  cut = undefined;
  await expect(open().check()).resolves.toMatchObject({ at: '2026-01-01T00:00:00Z' });
});

test.each([
  ['RequestTimeTooSkewed', 403, {}, 'the clock of this machine or of the server is wrong'],
  ['SignatureDoesNotMatch', 403, {}, 'check credentials.passwordFile'],
  ['NoSuchBucket', 404, {}, 'check bucket'],
  [
    'PermanentRedirect',
    301,
    { 'x-amz-bucket-region': 'eu-west-1' },
    'in the region eu-west-1, not in us-east-1: set region',
  ],
  [
    'AuthorizationHeaderMalformed',
    400,
    {},
    'in the region eu-north-1, not in us-east-1: set region',
    '<Region>eu-north-1</Region>',
  ],
] as const)(
  'the message about %s says what to do, without the keys',
  async (code, status, headers, says, more?: string) => {
    refusal = {
      status,
      headers,
      text: `<Error><Code>${code}</Code>${more ?? ''}<AWSAccessKeyId>${login.accessKey}</AWSAccessKeyId></Error>`,
    };
    const error: unknown = await open()
      .check()
      .catch((caught: unknown) => caught);
    refusal = undefined;
    expect(String(error)).toContain(says);
    expect(String(error)).not.toContain(login.accessKey);
  },
);

test('a check at work keeps its files while old checkouts are deleted', async () => {
  objects.clear();
  for (const name of ['a', 'b', 'c/d']) objects.set(`web/${name}.yaml`, `the file ${name}`);
  const source = open();
  const deletions: Promise<void>[] = [];
  onGet = () => deletions.push(source.keepOnly(new Set()));
  await source.check();
  onGet = undefined;
  await Promise.all(deletions);
  const { revision } = await source.check();
  const { dir } = await source.checkout(revision);
  expect([readdirSync(dir).sort(), readdirSync(join(dir, 'c'))]).toEqual([['a.yaml', 'b.yaml', 'c'], ['d.yaml']]);
});

test('a user name without a password is refused at once, and the other way round', () => {
  expect(() => open({ credentials: { username: login.accessKey } })).toThrow('both username and passwordFile');
  expect(() => open({ credentials: { passwordFile: 'secret' } })).toThrow('both username and passwordFile');
});
