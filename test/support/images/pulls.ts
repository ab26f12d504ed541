// Images that tests pull from other servers, and what a pull that fails leaves behind.
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Operation } from '../../../server/api/operation.ts';
import type { TestDaemon } from '../daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from './hostile.ts';
import { fakeServer, type FakeServer, type Handler } from './remotes.ts';

let count = 0;
export const unique = (): string => `${process.pid}-${(count += 1)}-${randomBytes(3).toString('hex')}`;

/** A whole image; each one is different. */
export const tarball = (more = ''): Buffer =>
  tarOf(
    { name: 'metadata.yaml', content: `${goodMetadata}properties: {n: "${unique()}"${more}}\n`, mode: 0o644 },
    rootfsDirectory,
    { name: 'rootfs/a', content: 'x' },
  );
export const metadataOf = (): Buffer =>
  tarOf({ ...metadataFile, content: `${goodMetadata}properties: {n: "${unique()}"}\n` });
export const rootfsOf = (content = 'hi'): Buffer =>
  tarOf({ name: './', flag: '5' }, { name: './etc', flag: '5' }, { name: './etc/motd', content });

/** Until the end of the test. */
export async function serve(scheme: 'http' | 'https', handle: Handler): Promise<FakeServer> {
  const server = await fakeServer(scheme, handle);
  onTestFinished(() => server.close());
  return server;
}

export function fingerprintOf(operation: Operation): string {
  expect([operation.status, operation.err]).toEqual(['Success', '']);
  return String(operation.metadata?.['fingerprint']);
}

export function imageFiles({ dir }: Pick<TestDaemon, 'dir'>): string[] {
  const names = readdirSync(join(dir, 'images'));
  const uploads = names.includes('.uploads') ? readdirSync(join(dir, 'images/.uploads')) : [];
  return [...names.filter((name) => name !== '.uploads'), ...uploads];
}

/** The work fails with this reason and leaves nothing behind. */
export async function expectFailed(daemon: TestDaemon, work: () => Promise<Operation>, words: RegExp): Promise<void> {
  const state = async (): Promise<unknown> => [imageFiles(daemon), (await daemon.get('/1.0/images')).length];
  const before = await state();
  const operation = await work();
  expect([operation.status, operation.err]).toEqual(['Failure', expect.stringMatching(words)]);
  expect(await state()).toEqual(before);
}
