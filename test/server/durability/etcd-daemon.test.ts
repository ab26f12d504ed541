// A daemon with its records in an etcd: restarts, a hard end, a second daemon, another writer, an etcd that goes away.
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { bundleDaemon, type Bundle, read, settle, startChild } from '../../support/daemons/child-process.ts';
import {
  createContainer,
  makeDaemon,
  makeSeeded,
  seed,
  setState,
  statusOf,
  withDaemon,
} from '../../support/daemons/daemon.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('a daemon on etcd', () => {
  let etcd: TestEtcd;
  let bundle: Bundle;
  let names = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
    bundle = bundleDaemon();
  });
  afterAll(() => etcd?.stop());
  const nameOf = (address: string): string => address.split('/').at(-1) ?? '';
  const newAddress = (): string => `etcd://${etcd.endpoints.join(',')}/host${names++}`;

  test('has its containers and profiles after a restart, without the address as a flag', async () => {
    const address = newAddress();
    const first = await makeSeeded({ etcd: { address } });
    await createContainer(first, 'one');
    await setState(first, 'one', 'start');
    await first.stop();
    const again = await makeDaemon({ dir: first.dir });
    onTestFinished(() => again.cleanUp());
    expect(await statusOf(again, 'one')).toBe('Running');
    expect((await again.get('/1.0/profiles/default')).devices.root.pool).toBe('default');
    await createContainer(again, 'two');
    expect(await again.get('/1.0/containers')).toHaveLength(2);
  });

  test('continues at once after kill -9, with every acknowledged container', async () => {
    const dir = tempFolder('gtya-');
    const flags = ['--store', newAddress()];
    let child = await startChild(bundle, dir, 'sim', flags);
    try {
      await settle(child, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
      const root = { type: 'disk', path: '/', pool: 'default' };
      await settle(child, 'PUT', '/1.0/profiles/default', { devices: { root } });
      const made = ['c0', 'c1', 'c2', 'c3', 'c4'];
      for (const name of made) {
        const { operation } = await settle(child, 'POST', '/1.0/containers', { name, source: { type: 'none' } });
        expect(operation?.status).toBe('Success');
      }
      await child.kill('SIGKILL');
      const started = performance.now();
      child = await startChild(bundle, dir, 'sim', flags);
      // The lock of the ended process does not delay it.
      expect(performance.now() - started).toBeLessThan(10_000);
      const found = (await read(child, '/1.0/containers?recursion=1')) as { name: string }[];
      expect(found.map(({ name }) => name).sort()).toEqual(made);
    } finally {
      await child.kill('SIGTERM');
      await rm(dir, { recursive: true, force: true });
    }
  });

  test('refuses a second daemon on the same store, and names the first', async () => {
    const address = newAddress();
    await withDaemon({ etcd: { address } }, async (first) => {
      await expect(makeDaemon({ etcd: { address } })).rejects.toThrow(
        `is in use by process ${process.pid} on ${hostname()} (${first.dir})`,
      );
      await seed(first);
      await createContainer(first, 'one');
    });
  });

  test('sees changes of another writer, and retries a change on old data', async () => {
    const address = newAddress();
    await withDaemon({ etcd: { address } }, async (daemon) => {
      await seed(daemon);
      const other = await openEtcdStore({ endpoints: etcd.endpoints, name: nameOf(address) });
      const record = await other.get('/profiles/default');
      const document = JSON.parse(Buffer.from(record?.value ?? '').toString()) as object;
      const value = Buffer.from(JSON.stringify({ ...document, description: 'from elsewhere' }));
      await other.txn(
        [],
        [
          { put: '/profiles/default', value },
          { put: '/profiles/new', value },
        ],
      );
      await until(async () => (await daemon.get('/1.0/profiles/default')).description === 'from elsewhere');
      expect(await daemon.get('/1.0/profiles')).toHaveLength(2);
      const patched = await daemon.call('PATCH', '/1.0/profiles/default', { config: { 'user.a': '1' } });
      expect(patched.status).toBe(200);
      expect((await daemon.get('/1.0/profiles/default')).description).toBe('from elsewhere');
      await other.txn([], [{ del: '/profiles/new' }]);
      await until(async () => (await daemon.get('/1.0/profiles')).length === 1);
      await other.close();
    });
  });

  test('writes nothing more after another daemon has taken over its store', async () => {
    const address = newAddress();
    const first = await makeDaemon({ etcd: { address } });
    try {
      await seed(first);
      // As if the host had been frozen for longer than its lease: the lease ends, and another host starts.
      const lease = /"lease":(-?[0-9]+)/.exec(
        etcd.ctl('get', `/${nameOf(address)}/meta/holder`, '--write-out=json'),
      )?.[1];
      etcd.ctl('lease', 'revoke', BigInt(lease ?? 0).toString(16));
      const second = await makeDaemon({ etcd: { address } });
      try {
        const refused = await first.call('PATCH', '/1.0/profiles/default', { config: { 'user.a': '1' } });
        expect(refused.status).toBe(500);
        expect(refused.metadata.code).toBe('unavailable');
        expect(refused.metadata.message).toContain('has taken over the store');
        expect((await second.get('/1.0/profiles/default')).config).toEqual({});
        await createContainer(second, 'one');
        // Readers of the first one stay up to date.
        await until(async () => (await first.get('/1.0/containers')).length === 1);
      } finally {
        await second.stop();
        await rm(second.dir, { recursive: true, force: true });
      }
    } finally {
      await first.stop();
      await rm(first.dir, { recursive: true, force: true });
    }
  });

  test('answers reads while etcd is away, refuses writes in bounded time, and recovers afterwards', async () => {
    const own = await startEtcd();
    const daemon = await makeDaemon({ etcd: { address: `etcd://${own.endpoints.join(',')}` } });
    try {
      await seed(daemon);
      await createContainer(daemon, 'one');
      await own.kill(0);
      expect(await daemon.get('/1.0/containers')).toHaveLength(1);
      const refused = await daemon.call('PATCH', '/1.0/profiles/default', { config: { 'user.a': '1' } });
      expect(refused.status).toBeGreaterThanOrEqual(500);
      expect(refused.metadata.message).toContain('etcd did not answer');
      await own.start(0);
      await until(async () => {
        const { status } = await daemon.call('PATCH', '/1.0/profiles/default', { config: { 'user.a': '2' } });
        return status === 200;
      });
      await createContainer(daemon, 'two');
    } finally {
      await daemon.cleanUp();
      await own.stop();
    }
  });

  test('does not start on an etcd without its records, or on an older copy of them', async () => {
    const address = newAddress();
    const first = await makeSeeded({ etcd: { address } });
    await first.stop();
    try {
      await expect(makeDaemon({ dir: first.dir, etcd: { address: newAddress() } })).rejects.toThrow(
        'not a later restore of it',
      );
      const note = join(first.dir, 'database/store.json');
      const noted = JSON.parse(readFileSync(note, 'utf8')) as { rev: number };
      writeFileSync(note, JSON.stringify({ ...noted, rev: noted.rev + 1_000 }));
      await expect(makeDaemon({ dir: first.dir })).rejects.toThrow('it is an older copy');
      writeFileSync(note, 'rubbish');
      await expect(makeDaemon({ dir: first.dir })).rejects.toThrow('store.json is damaged');
    } finally {
      await rm(first.dir, { recursive: true, force: true });
    }
  });

  test('does not start on an etcd while the state directory has records in its own file', async () => {
    const first = await makeDaemon();
    await first.stop();
    try {
      await expect(makeDaemon({ dir: first.dir, etcd: { address: newAddress() } })).rejects.toThrow(
        'gantryd store migrate --to etcd://',
      );
    } finally {
      await rm(first.dir, { recursive: true, force: true });
    }
  });
});
