// New containers whose files are not on the disk yet: marked from their creation, warned of after a power cut, not after an orderly stop or
// a kill.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBootId } from '../../../server/lib/shared/processes.ts';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import type { Json } from '../../support/daemons/daemon.ts';
import { bundleDaemon, read, settle, startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const bundle = bundleDaemon();
let daemon: ChildDaemon;
const dir = tempFolder('gantry-unsynced-');
const otherBoot = '00000000-0000-4000-8000-000000000000';
const type = 'Files of instance lost in power cut';

beforeAll(async () => {
  daemon = await startChild(bundle, dir, 'sim');
});
afterAll(async () => {
  await daemon.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

const done = async (method: string, path: string, body?: object | Buffer): Promise<void> => {
  const { status, operation, metadata } = await settle(daemon, method, path, body);
  if (status >= 300 || (operation !== undefined && operation.status !== 'Success'))
    throw new Error(`${method} ${path} failed: ${JSON.stringify(operation ?? metadata)}`);
};
const warnings = async (): Promise<Json[]> =>
  ((await read(daemon, '/1.0/warnings?recursion=1')) as Json[]).filter((one) => one.type === type);

/** By name, of the stopped daemon's store; `next` replaces them. */
async function marks(next?: string): Promise<Record<string, string | undefined>> {
  const store = await openSqliteStore({ path: join(dir, 'database/state.db') });
  try {
    const { records } = await store.range('/');
    const containers = records.filter(({ key }) => key.includes('/containers/'));
    const found = containers.map(({ key, value }) => {
      const document: Json = JSON.parse(Buffer.from(value).toString());
      return { key, document, name: key.split('/').at(-1) ?? '' };
    });
    for (const { key, document } of found)
      if (next !== undefined && document.unsynced !== undefined) {
        const value = Buffer.from(JSON.stringify({ ...document, unsynced: next }));
        await store.txn([], [{ put: key, value }]);
      }
    return Object.fromEntries(found.map(({ name, document }) => [name, document.unsynced as string | undefined]));
  } finally {
    await store.close();
  }
}

test('containers from images and copies are marked from their creation, empty ones and those of synced pools are not', async () => {
  await done('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
  await done('POST', '/1.0/storage-pools', { name: 'synced', driver: 'dir', config: { 'sync.volumes': 'true' } });
  await done(
    'POST',
    '/1.0/images',
    tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory, { name: 'rootfs/file', content: 'text' }),
  );
  const [url = ''] = (await read(daemon, '/1.0/images')) as string[];
  const image = { type: 'image', fingerprint: url.split('/').at(-1) };
  const make = (name: string, source: object, pool = 'default'): Promise<void> =>
    done('POST', '/1.0/containers', { name, source, devices: { root: { type: 'disk', path: '/', pool } } });
  await make('unpacked', image);
  await make('copied', { type: 'copy', source: 'unpacked' });
  await make('empty', { type: 'none' });
  await make('synced', image, 'synced');
  await daemon.kill('SIGKILL');
  const boot = readBootId();
  expect(await marks()).toEqual({ unpacked: boot, copied: boot, empty: undefined, synced: undefined });
});

test('a killed daemon warns of none, and an orderly stop leaves no mark', async () => {
  daemon = await startChild(bundle, dir, 'sim');
  expect(await warnings()).toEqual([]);
  const [url = ''] = (await read(daemon, '/1.0/images')) as string[];
  const source = { type: 'image', fingerprint: url.split('/').at(-1) };
  const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
  await done('POST', '/1.0/containers', { name: 'late', source, devices });
  await daemon.kill('SIGTERM');
  expect(Object.values(await marks()).filter((mark) => mark !== undefined)).toEqual([]);
});

test('the start after a power cut warns of each container that was not on the disk, once', async () => {
  daemon = await startChild(bundle, dir, 'sim');
  const [url = ''] = (await read(daemon, '/1.0/images')) as string[];
  const source = { type: 'image', fingerprint: url.split('/').at(-1) };
  const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
  await done('POST', '/1.0/containers', { name: 'cut', source, devices });
  await daemon.kill('SIGKILL');
  expect((await marks(otherBoot))['cut']).toBe(readBootId());

  daemon = await startChild(bundle, dir, 'sim');
  await until(async () => (await warnings()).length > 0);
  const [warning, ...others] = await warnings();
  expect(others).toEqual([]);
  expect(warning).toMatchObject({
    entity_url: '/1.0/containers/cut',
    project: 'default',
    severity: 'high',
    status: 'new',
    count: 1,
  });
  expect(warning.last_message).toMatch(
    /^The host went down before the files of the container cut \(created .*\) were on the disk of the pool default: some may be empty or missing\. Delete it and create or copy it anew, or check its files$/,
  );
  rmSync(join(dir, 'storage-pools/default/containers/cut/rootfs'), { recursive: true });
  const started = await settle(daemon, 'PUT', '/1.0/containers/cut/state', { action: 'start' });
  expect(started.operation?.err).toMatch(
    /^Cannot start container "cut": .*\. Its files may be empty or missing: the host went down before they were on the disk\. Delete it and create or copy it again$/,
  );
  expect(daemon.log.join('\n')).toContain('The host went down before the files of the container cut');
  await daemon.kill('SIGTERM');
  expect(Object.values(await marks()).filter((mark) => mark !== undefined)).toEqual([]);

  daemon = await startChild(bundle, dir, 'sim');
  expect(await warnings()).toMatchObject([{ status: 'new', count: 1 }]);
  await done('DELETE', '/1.0/containers/cut');
  expect(daemon.log.join('\n')).not.toContain('The host went down');
});
