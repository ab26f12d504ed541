// Replaced or deleted secrets are gone from all database files after some seconds, also when an older release wrote them.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadDriver } from '../../../server/store/sqlite/driver.ts';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import { createContainer, seed, withDaemon } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const holds = (dir: string, text: string): boolean =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));

const gone = (dir: string, text: string): Promise<void> => until(() => !holds(dir, text));

test('the config of a deleted container, a replaced password of a container and of a profile, and the hash of a replaced trust password are erased', async () => {
  await withDaemon({}, async (daemon) => {
    const database = join(daemon.dir, 'database');
    await seed(daemon);
    // Large enough for separate pages, which become free.
    const secret = (word: string): string => `${word}${'x'.repeat(9000)}`;
    await createContainer(daemon, 'c1', { config: { 'user.a': secret('first-secret') } });
    await createContainer(daemon, 'c2', { config: { 'user.a': secret('deleted-secret') } });
    await daemon.call('POST', '/1.0/profiles', { name: 'p', config: { 'environment.TOKEN': 'first-token' } });
    await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'one' } });
    expect(holds(database, 'first-secret')).toBe(true);
    expect(holds(database, 'first-token')).toBe(true);
    const text = readdirSync(database)
      .map((name) => readFileSync(join(database, name)).toString('latin1'))
      .join('');
    const hash = /"core\.trust_password":"([0-9a-f]{64,})"/.exec(text)?.[1] ?? '';
    expect(hash).not.toBe('');

    await daemon.call('PATCH', '/1.0/containers/c1', { config: { 'user.a': secret('second-secret') } });
    await daemon.call('PATCH', '/1.0/profiles/p', { config: { 'environment.TOKEN': 'second-token' } });
    await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'two' } });
    expect(holds(database, 'deleted-secret')).toBe(true);
    await daemon.ok('DELETE', '/1.0/containers/c2');
    await gone(database, 'deleted-secret');
    await gone(database, 'first-secret');
    await gone(database, 'first-token');
    await gone(database, hash);
    expect(holds(database, 'second-secret')).toBe(true);
    expect((await daemon.get('/1.0/profiles/p')).config).toEqual({ 'environment.TOKEN': 'second-token' });
  });
}, 240_000);

test('remains of an older release in history and free pages are erased', async () => {
  const dir = tempFolder('gtya-secrets-');
  try {
    const path = join(dir, 'state.db');
    const bytes = (text: string) => Buffer.from(`${text}${'x'.repeat(5000)}`);
    const old = await openSqliteStore({ path });
    await old.txn([], [{ put: '/a', value: bytes('in-history') }]);
    await old.txn([], [{ put: '/a', value: bytes('current') }]);
    await old.close();
    const { DatabaseSync } = await loadDriver();
    const db = new DatabaseSync(path, {});
    db.exec('PRAGMA secure_delete = OFF; PRAGMA user_version = 0; CREATE TABLE t (x TEXT)');
    db.exec(`INSERT INTO t VALUES ('in-a-free-page${'y'.repeat(20_000)}'); DROP TABLE t`);
    db.close();
    expect(holds(dir, 'in-history')).toBe(true);
    expect(holds(dir, 'in-a-free-page')).toBe(true);

    const store = await openSqliteStore({ path, history: { minRevisions: 1, maxAgeMs: 0, maxRevisions: 1 } });
    await gone(dir, 'in-history');
    await gone(dir, 'in-a-free-page');
    expect(Buffer.from((await store.get('/a'))?.value ?? []).toString()).toMatch(/^current/);
    await store.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 240_000);
