// Image files that a power cut or a faulty disk has damaged: the messages for users, and the repair by an upload of the same image.
import { truncateSync, writeFileSync, rmSync, statSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createContainer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { splitUpload } from '../../support/images/split-upload.ts';
import { fakeServer, serveDirect, sha256 } from '../../support/images/remotes.ts';

const daemon = await seededDaemon();

let count = 0;
const metadataText = (): string => `${goodMetadata}properties: {n: damaged-${(count += 1)}}\n`;
const image = (): Buffer =>
  tarOf({ ...metadataFile, content: metadataText() }, rootfsDirectory, { name: 'rootfs/a', content: 'x'.repeat(9000) });
const fileOf = (fingerprint: string): string => join(daemon.dir, 'images', fingerprint);

async function upload(body: Buffer, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const operation = await daemon.ok('POST', '/1.0/images', body, headers);
  return String(operation.metadata?.['fingerprint']);
}

const create = (name: string, fingerprint: string) =>
  daemon.run('POST', '/1.0/containers', { name, source: { type: 'image', fingerprint } });

const damages: readonly (readonly [string, (path: string) => void, RegExp])[] = [
  ['empty', (path) => truncateSync(path, 0), /has 0 bytes instead of \d+/],
  ['shorter', (path) => truncateSync(path, statSync(path).size - 512), /has \d+ bytes instead of \d+/],
  ['gone', (path) => rmSync(path), /is missing/],
  [
    'as long as before with zeros in it',
    (path) => {
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(0, bytes.length - 4096));
    },
    /has the fingerprint [0-9a-f]{64}/,
  ],
];

describe.each(damages)('an image whose file is %s', (what, damage, why) => {
  const container = `c-${what.replaceAll(' ', '-')}`;

  test('fails a container with the reason and the remedy, and is repaired by another upload', async () => {
    const bytes = image();
    const fingerprint = await upload(bytes);
    damage(fileOf(fingerprint));
    const failed = await create(container, fingerprint);
    expect(failed.status).toBe('Failure');
    expect(failed.err).toMatch(new RegExp(`The image ${fingerprint} is damaged on this server: .*${why.source}`));
    expect(failed.err).toContain('Upload or pull the same image again');
    const before = await daemon.get(`/1.0/images/${fingerprint}`);
    expect(await upload(bytes)).toBe(fingerprint);
    expect(readFileSync(fileOf(fingerprint))).toEqual(bytes);
    expect(await daemon.get(`/1.0/images/${fingerprint}`)).toEqual(before);
    expect((await create(container, fingerprint)).err).toBe('');
    // Repaired, so it exists already.
    expect((await daemon.run('POST', '/1.0/images', bytes)).err).toMatch(/already exists/);
  });
});

test('a split image is repaired whichever of its files is damaged, and gets its new aliases', async () => {
  const metadata = tarOf({ ...metadataFile, content: metadataText() });
  const rootfs = tarOf({ name: 'a', content: 'y'.repeat(5000) });
  const { body, headers } = splitUpload(metadata, rootfs);
  const fingerprint = await upload(body, headers);
  truncateSync(`${fileOf(fingerprint)}.rootfs`, 10);
  expect((await create('split', fingerprint)).err).toMatch(/is damaged on this server/);
  expect(await upload(body, { ...headers, 'x-svc-aliases': 'alias=healed' })).toBe(fingerprint);
  expect(readFileSync(`${fileOf(fingerprint)}.rootfs`)).toEqual(rootfs);
  expect((await daemon.get('/1.0/images/aliases/healed')).target).toBe(fingerprint);
  truncateSync(fileOf(fingerprint), 10);
  expect(await upload(body, headers)).toBe(fingerprint);
  expect((await create('split', fingerprint)).err).toBe('');
});

test('an upload of other bytes never replaces a damaged image', async () => {
  const fingerprint = await upload(image());
  truncateSync(fileOf(fingerprint), 0);
  const other = await upload(image());
  expect(other).not.toBe(fingerprint);
  expect(statSync(fileOf(fingerprint)).size).toBe(0);
});

test('a damaged image is not exported as if it were intact', async () => {
  const fingerprint = await upload(image());
  truncateSync(fileOf(fingerprint), 700);
  const answer = await daemon.call('GET', `/1.0/images/${fingerprint}/export`);
  expect(answer.status).toBe(500);
  expect(answer.bytes.toString()).toMatch(/has 700 bytes instead of \d+/);
});

test('a pull of a damaged image fetches it again', async () => {
  const bytes = image();
  const server = await fakeServer('http', serveDirect(bytes));
  onTestFinished(() => server.close());
  const pull = { source: { type: 'url', url: server.url } };
  await daemon.ok('POST', '/1.0/images', pull);
  truncateSync(fileOf(sha256(bytes)), 0);
  await daemon.ok('POST', '/1.0/images', pull);
  expect(readFileSync(fileOf(sha256(bytes)))).toEqual(bytes);
});

test('the start of the daemon warns of each damaged image, and a container can still use an unpacked copy in a pool', async () => {
  const [whole, damaged] = [await upload(image()), await upload(image())];
  await createContainer(daemon, 'unpacked', { source: { type: 'image', fingerprint: damaged } });
  await daemon.restart(() => truncateSync(fileOf(damaged), 0));
  const warnings = daemon.logged.filter((line) => line.startsWith('warning: The image'));
  expect(warnings.some((line) => line.includes(damaged) && line.includes('has 0 bytes instead of'))).toBe(true);
  expect(warnings.some((line) => line.includes(whole))).toBe(false);
  expect((await create('from-unpacked', damaged)).err).toBe('');
});
