// SQLite store and hard ends of its process: no acknowledged transaction is lost, none is half applied, the lock ends with the process.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import type { Store } from '../../../server/store/store.ts';
import { startStoreProcess } from '../../support/store/process.ts';
import { tempDir, text } from '../../support/store/watching.ts';
import { isLongRun } from '../../support/left-out.ts';

const rounds = Number(process.env['GANTRY_KILL_ROUNDS'] ?? (isLongRun ? 16 : 6));

describe('sqlite store', () => {
  let dir: ReturnType<typeof tempDir>;

  beforeEach(() => {
    dir = tempDir();
  });

  afterEach(() => dir.remove());

  /** The acknowledged writes of each writer must exist; its three keys must agree; it may be ahead of its acks by one. */
  async function verify(store: Store, lines: readonly string[], writers: number): Promise<number> {
    let next = 0;
    for (let w = 0; w < writers; w++) {
      const acked = lines.filter((line) => line.startsWith(`ack ${w} `)).map((line) => Number(line.split(' ')[2]));
      const { records } = await store.range(`/w/${w}/`);
      const numbers = records.map(({ value }) => (JSON.parse(text(value) ?? '') as { n: number }).n);
      if (acked.length > 0) expect(numbers).toHaveLength(3);
      expect(new Set(numbers).size, `torn: ${numbers.join(' ')}`).toBeLessThanOrEqual(1);
      const reached = numbers[0] ?? -1;
      const logged = new Set((await store.range(`/log/${w}/`)).records.map(({ value }) => Number(text(value))));
      expect(
        acked.filter((n) => !logged.has(n)),
        'lost acknowledged transactions',
      ).toEqual([]);
      expect(Math.max(-1, ...logged)).toBe(reached);
      expect(reached).toBeGreaterThanOrEqual(Math.max(-1, ...acked));
      next = Math.max(next, reached + 1);
    }
    return next;
  }

  test.each([1, 16])(
    `survives kill -9 at any moment with %i writers`,
    async (writers) => {
      let acks = 0;
      let next = 0;
      for (let round = 0; round < Math.ceil(rounds / 2); round++) {
        const child = startStoreProcess('write', dir.file, String(writers), String(next));
        await child.said('ack');
        await new Promise((resolve) => {
          setTimeout(resolve, Math.random() * 120);
        });
        await child.kill();
        acks += child.lines.length - 1;
        // The lock ended with its holder: this open must succeed at once.
        const store = await openSqliteStore({ path: dir.file, lockTimeoutMs: 0 });
        next = await verify(store, child.lines, writers);
        await store.txn([], [{ put: '/after', value: Buffer.from(String(round)) }]);
        await store.close();
      }
      expect(acks).toBeGreaterThan(rounds);
    },
    30_000 + rounds * 3_000,
  );

  test('refuses a second process with a clear message, and the first continues', async () => {
    const child = startStoreProcess('hold', dir.file);
    await child.said('open');
    const error: unknown = await openSqliteStore({ path: dir.file, lockTimeoutMs: 50 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'StoreError', code: 'Locked' });
    expect((error as Error).message).toBe(`${dir.file} is in use: another process has this store open`);
    await child.kill();
    const store = await openSqliteStore({ path: dir.file, lockTimeoutMs: 0 });
    const second = startStoreProcess('hold', dir.file);
    await expect(second.said('open')).rejects.toThrow('is in use');
    await store.txn([], [{ put: '/a', value: Buffer.from('x') }]);
    await store.close();
  });

  test('refuses a second opening within the process', async () => {
    const store = await openSqliteStore({ path: dir.file });
    await expect(openSqliteStore({ path: dir.file, lockTimeoutMs: 50 })).rejects.toMatchObject({ code: 'Locked' });
    await store.txn([], [{ put: '/a', value: Buffer.from('x') }]);
    await store.close();
  });

  test('a lease ends with its process', async () => {
    const child = startStoreProcess('lease', dir.file);
    await child.said('leased');
    await child.kill();
    const store = await openSqliteStore({ path: dir.file });
    expect(await store.get('/member')).toBeUndefined();
    const { value } = await store.watch('/member', 2, new AbortController().signal)[Symbol.asyncIterator]().next();
    expect(value).toEqual({ rev: 2, events: [{ type: 'del', key: '/member', modRev: 2 }] });
    await store.close();
  });

  test('a directory that does not exist, or a directory in place of the file, is Unavailable', async () => {
    await expect(openSqliteStore({ path: join(dir.path, 'none/store.db') })).rejects.toMatchObject({
      code: 'Unavailable',
    });
    mkdirSync(dir.file);
    await expect(openSqliteStore({ path: dir.file })).rejects.toMatchObject({ code: 'Unavailable' });
  });
});
