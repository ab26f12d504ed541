// gantryd store: moves records into an etcd, into a file and back; an interrupted command leaves a usable store.
import { execFile } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runStoreCommand } from '../../../server/daemon/stores/store-command.ts';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { bundleDaemon, read, settle, startChild } from '../../support/daemons/child-process.ts';
import { makeDaemon, type TestDaemon, type Wire } from '../../support/daemons/daemon.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { put } from '../../support/store/watching.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('gantryd store', () => {
  let etcd: TestEtcd;
  let dir: string;
  let daemon: TestDaemon | undefined;
  let names = 0;
  beforeAll(async () => void (etcd = await startEtcd()));
  afterAll(() => etcd?.stop());
  beforeEach(() => void (dir = tempFolder('gtya-')));
  afterEach(() => stop());

  const start = async (address?: string): Promise<void> => {
    daemon = await makeDaemon({ dir, ...(address === undefined ? {} : { etcd: { address } }) });
  };
  async function stop(): Promise<void> {
    await daemon?.stop();
    daemon = undefined;
  }
  /** In this process: the first migration shows the program itself. */
  const store = async (...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const [out, err] = [process.stdout, process.stderr].map((stream) =>
      vi.spyOn(stream, 'write').mockImplementation(() => true),
    );
    try {
      const code = await runStoreCommand([...args, '--state-dir', dir]);
      const [said = '', complained = ''] = [out, err].map((spy) =>
        spy?.mock.calls.map(([text]) => String(text)).join(''),
      );
      return { code, out: said, err: complained };
    } finally {
      vi.restoreAllMocks();
    }
  };
  const newAddress = (): string => `etcd://${etcd.endpoints.join(',')}/moved${names++}`;
  const makeProfile = async (name: string, at: Wire = daemon!): Promise<void> => {
    const made = await settle(at, 'POST', '/1.0/profiles', { name, config: { 'user.a': name } });
    expect(made.status).toBeLessThan(300);
  };
  const profiles = async (): Promise<string[]> =>
    ((await read(daemon!, '/1.0/profiles?recursion=1')) as { name: string }[]).map(({ name }) => name).sort();

  test('moves a running host into an etcd in one command; the daemon finds it there', async () => {
    const bundle = bundleDaemon();
    const child = await startChild(bundle, dir, 'sim');
    await makeProfile('one', child);
    const address = newAddress();
    const env = { ...process.env };
    delete env['GANTRY_SQLITE_WORKER'];
    const argv = [bundle.entry, 'store', 'migrate', '--to', address, '--state-dir', dir];
    const moved = await promisify(execFile)(process.execPath, argv, { env });
    expect(moved.stderr).toContain('containers keep running');
    expect(moved.stdout).toMatch(/^[0-9]+ records are in etcd:\/\//);
    expect((await child.exited).code).toBe(0);
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
    expect(etcd.ctl('get', `/${address.split('/').at(-1)}/data/profiles/one`, '--keys-only')).toContain('one');
    await stop();
    expect(await store('migrate', '--to', newAddress())).toMatchObject({
      code: 1,
      err: expect.stringContaining(`are in ${address} already`),
    });
  });

  test('refuses to move into a store that has records, and the host stays as it is', async () => {
    await start();
    await makeProfile('one');
    await stop();
    const address = newAddress();
    const other = await openEtcdStore({ endpoints: etcd.endpoints, name: address.split('/').at(-1) ?? '' });
    await other.txn([], [put('/somebody', 'else')]);
    expect(await store('migrate', '--to', address)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not empty: it has 1 records'),
    });
    expect(await other.get('/somebody')).toMatchObject({ version: 1 });
    await other.close();
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
  });

  test('a migration interrupted at any step leaves the host unchanged, and can be repeated', async () => {
    await start();
    await makeProfile('one');
    await stop();
    const address = newAddress();
    const name = address.split('/').at(-1) ?? '';
    // Interrupted while it writes: some records are there, the store is incomplete.
    const half = await openEtcdStore({ endpoints: etcd.endpoints, name, forImport: true });
    await half.beginImport(false);
    await half.txn([], [put('/profiles/one', 'half'), put('/rubbish')]);
    await half.close();
    await expect(openEtcdStore({ endpoints: etcd.endpoints, name })).rejects.toThrow('is not complete');
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
    await stop();
    expect(await store('migrate', '--to', address)).toMatchObject({ code: 0 });
    // Interrupted before the host has noted it.
    const note = join(dir, 'database/store.json');
    expect(JSON.parse(readFileSync(note, 'utf8'))).toMatchObject({ epoch: 2 });
    await rm(note);
    expect(await store('migrate', '--to', address)).toMatchObject({ code: 0 });
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
    expect(etcd.ctl('get', '--prefix', `/${name}/data/rubbish`)).toBe('');
  });

  test.each(['the file', 'an etcd'])('backs up and restores %s; later changes are gone', async (where) => {
    const file = join(dir, 'backup.ndjson');
    await start(where === 'the file' ? undefined : newAddress());
    await makeProfile('one');
    // A store in etcd can be read beside its daemon.
    if (where === 'the file') await stop();
    expect(await store('backup', file)).toMatchObject({ code: 0, out: expect.stringContaining(`are in ${file}`) });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.partial`)).toBe(false);
    if (where === 'the file') await start();
    await makeProfile('two');
    const used = await store('restore', file, '--replace');
    expect(used).toMatchObject({ code: 1, err: expect.stringContaining('is in use') });
    await stop();
    expect(await store('restore', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('--replace puts the backup'),
    });
    expect(await store('restore', file, '--replace')).toMatchObject({ code: 0 });
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
  });

  test('a host that has seen a restore refuses the earlier store', async () => {
    const address = newAddress();
    const file = join(dir, 'backup.ndjson');
    const other = newAddress();
    await start(address);
    await makeProfile('one');
    expect(await store('backup', file)).toMatchObject({ code: 0 });
    await stop();
    expect(await store('restore', file, '--store', other)).toMatchObject({ code: 0 });
    const error: unknown = await start(address).catch((reason: unknown) => reason);
    expect(String(error)).toContain('not a later restore of it');
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
  });

  test('refuses a damaged backup before anything is changed', async () => {
    await start();
    await makeProfile('one');
    await stop();
    const file = join(dir, 'backup.ndjson');
    expect(await store('backup', file)).toMatchObject({ code: 0 });
    const whole = readFileSync(file, 'utf8');
    const damages = { 'is damaged': whole.slice(0, -30), 'is not a dump of a store': 'hello\n', 'is empty': '' };
    for (const [why, content] of Object.entries(damages)) {
      writeFileSync(file, content);
      expect(await store('restore', file, '--replace')).toMatchObject({
        code: 1,
        err: expect.stringContaining(why),
      });
    }
    writeFileSync(file, whole);
    appendFileSync(file, '{"key":"/more","value":""}\n');
    expect(await store('restore', file, '--replace')).toMatchObject({
      code: 1,
      err: expect.stringContaining('is damaged'),
    });
    await start();
    expect(await profiles()).toEqual(['default', 'one']);
  });

  test.each([
    [['migrate'], '--to is required'],
    [['backup'], 'backup needs a FILE'],
    [['turn'], 'migrate, backup or restore is required'],
    [['backup', 'x', '--replace'], '--replace belongs to restore'],
    [['migrate', '--to', 'http://x'], 'it does not start with etcd://'],
  ])('refuses %j', async (args, why) => {
    expect(await store(...args)).toMatchObject({ code: 64, err: expect.stringContaining(why) });
  });
});
