// Records and their limits, for all stores.
import { describe, expect, test } from 'vitest';
import { compareKeys } from '../../server/store/keys.ts';
import { StoreError, type StoreErrorCode, storeLimits } from '../../server/store/store.ts';
import { bytes, del, put, text, watched } from '../support/store/watching.ts';
import type { StoreWorld } from './store-world.ts';

export function recordTests(world: StoreWorld): void {
  const { write, keysOf } = world;

  describe('records', () => {
    test('an absent key reads as undefined', async () => {
      expect(await world.store.get('/none')).toBeUndefined();
    });

    test('a record has the revisions of its creation and last change, and its version', async () => {
      const first = await write(put('/a', 'one'));
      await write(put('/b', 'other'));
      const second = await write(put('/a', 'two'));
      const record = await world.store.get('/a');
      expect(record).toEqual({ key: '/a', value: bytes('two'), createRev: first, modRev: second, version: 2 });
      expect(record?.value).toBeInstanceOf(Uint8Array);
    });

    test('a deleted and recreated key starts again at version 1', async () => {
      await write(put('/a', 'one'));
      await write(put('/a', 'two'));
      await write(del('/a'));
      expect(await world.store.get('/a')).toBeUndefined();
      const rev = await write(put('/a', 'three'));
      expect(await world.store.get('/a')).toMatchObject({ createRev: rev, modRev: rev, version: 1 });
    });

    test('empty values, binary values and unusual keys are returned unchanged', async () => {
      const binary = Uint8Array.from({ length: 256 }, (_, i) => i);
      const keys = ['/nul\0inside', '/ünïcode/日本', '/emoji/😀', ' ', '/quote\'"%_\\'];
      await world.store.txn(
        [],
        [{ put: '/empty', value: new Uint8Array() }, ...keys.map((key) => ({ put: key, value: binary }))],
      );
      expect((await world.store.get('/empty'))?.value).toEqual(new Uint8Array());
      for (const key of keys) expect((await world.store.get(key))?.value).toEqual(binary);
    });

    test('a value is the view that was given, not the buffer behind it, and is copied at the call', async () => {
      const pool = bytes('-----view-----');
      const view = pool.subarray(5, 9);
      const done = world.store.txn([], [{ put: '/a', value: view }]);
      pool.fill(0);
      await done;
      expect(text((await world.store.get('/a'))?.value)).toBe('view');
    });
  });

  describe('ranges', () => {
    test('come in bytewise order, where U+FFFF stands before U+1F600', async () => {
      const keys = [
        '/k/\u{1f600}',
        '/k/\uffff',
        '/k/z',
        '/k/\u0080',
        '/k/~',
        '/k',
        '/k/',
        '/k/\u{10ffff}',
        '/k/\ud7ff',
        '/k/\ue000',
      ];
      await write(...keys.map((key) => put(key)));
      const found = await keysOf('/k');
      const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(found).toEqual(byBytes);
      expect(found).toEqual([...keys].sort(compareKeys));
      expect(found.indexOf('/k/\uffff')).toBeLessThan(found.indexOf('/k/\u{1f600}'));
    });

    test('hold exactly the keys that start with the prefix', async () => {
      await write(put('/a'), put('/a/1'), put('/a/2'), put('/a0'), put('/b'), put('a'));
      expect(await keysOf('/a/')).toEqual(['/a/1', '/a/2']);
      expect(await keysOf('/a')).toEqual(['/a', '/a/1', '/a/2', '/a0']);
      expect(await keysOf('')).toHaveLength(6);
      expect(await keysOf('/none')).toEqual([]);
      expect(await keysOf('/a%')).toEqual([]);
    });

    test('a prefix ending in the highest code point has an end', async () => {
      await write(put('/\u{10ffff}'), put('/\u{10ffff}x'), put('0'));
      expect(await keysOf('/\u{10ffff}')).toEqual(['/\u{10ffff}', '/\u{10ffff}x']);
    });

    test('page by limit and exclusive start key, which need not exist', async () => {
      await write(...['a', 'b', 'c', 'd'].map((key) => put(`/p/${key}`)));
      expect(await keysOf('/p/', { limit: 2 })).toEqual(['/p/a', '/p/b']);
      expect(await keysOf('/p/', { limit: 2, after: '/p/b' })).toEqual(['/p/c', '/p/d']);
      expect(await keysOf('/p/', { after: '/p/bb' })).toEqual(['/p/c', '/p/d']);
      expect(await keysOf('/p/', { after: '/p/d' })).toEqual([]);
      expect(await keysOf('/p/', { after: '/a' })).toHaveLength(4);
      expect(await keysOf('/p/', { after: '/z' })).toEqual([]);
    });

    test('tell the revision they were read at', async () => {
      const rev = await write(put('/a'));
      expect((await world.store.range('/none')).rev).toBe(rev);
    });

    test('are one snapshot: a writer of pairs is never seen half way', async () => {
      const stop = new AbortController();
      const writer = async (): Promise<void> => {
        for (let n = 0; !stop.signal.aborted; n++) await write(put('/pair/1', String(n)), put('/pair/2', String(n)));
      };
      const running = writer();
      for (let i = 0; i < 50; i++) {
        const { rev, records } = await world.store.range('/pair/');
        expect(new Set(records.map(({ value }) => text(value))).size).toBeLessThanOrEqual(1);
        for (const { modRev } of records) expect(modRev).toBeLessThanOrEqual(rev);
      }
      stop.abort();
      await running;
    });
  });

  describe('limits', () => {
    const refused = async (code: StoreErrorCode, call: () => Promise<unknown>): Promise<void> => {
      const { rev } = await world.store.status();
      const error = await call().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(StoreError);
      expect((error as StoreError).code).toBe(code);
      expect((error as StoreError).message).not.toBe('');
      expect((await world.store.status()).rev).toBe(rev);
    };
    const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `/many/${i}`);

    test('a transaction at the limits of operations and compares is accepted, one more is TooLarge', async () => {
      const { opsPerTxn, comparesPerTxn } = storeLimits;
      const absent = many(comparesPerTxn).map((key) => ({ key, modRev: 0 }));
      expect(
        await world.store.txn(
          absent,
          many(opsPerTxn).map((key) => put(key)),
        ),
      ).toMatchObject({ ok: true });
      await refused('TooLarge', () =>
        world.store.txn(
          [],
          many(opsPerTxn + 1).map((key) => put(key)),
        ),
      );
      await refused('TooLarge', () => world.store.txn([...absent, { key: '/one-more', modRev: 0 }], [put('/a')]));
    });

    test('the maximum of deletes is accepted, with as many compares, in one revision', async () => {
      const { opsPerTxn, comparesPerTxn } = storeLimits;
      const absent = Array.from({ length: comparesPerTxn }, (_, i) => ({ key: `/absent/${i}`, modRev: 0 }));
      const deletes = many(opsPerTxn).map((key) => del(key));
      const { rev } = await world.store.txn([], [put(`/many/${opsPerTxn - 1}`), put('/stays')]);
      expect(await world.store.txn([{ key: '/stays', modRev: 0 }, ...absent.slice(1)], deletes)).toEqual({
        ok: false,
        rev,
      });
      expect(await world.store.txn(absent, deletes)).toEqual({ ok: true, rev: rev + 1 });
      expect(await world.store.txn(absent, deletes)).toEqual({ ok: true, rev: rev + 1 });
      expect(await keysOf('')).toEqual(['/stays']);
      expect(await watched(world.store, '', rev + 1)).toEqual([`${rev + 1} del /many/${opsPerTxn - 1}`]);
    });

    test('a value of 1 MiB is accepted, one byte more is TooLarge', async () => {
      const value = new Uint8Array(storeLimits.valueBytes).fill(7);
      await world.store.txn([], [{ put: '/big', value }]);
      expect(Buffer.compare((await world.store.get('/big'))?.value ?? bytes(''), value)).toBe(0);
      await refused('TooLarge', () =>
        world.store.txn([], [{ put: '/big', value: new Uint8Array(storeLimits.valueBytes + 1) }]),
      );
    });

    test('a transaction larger than the smallest request limit is TooLarge', async () => {
      const half = new Uint8Array(storeLimits.txnBytes / 2);
      await refused('TooLarge', () =>
        world.store.txn(
          [],
          [
            { put: '/1', value: half },
            { put: '/2', value: half },
          ],
        ),
      );
    });

    test('keys are measured in bytes', async () => {
      await world.store.txn([], [put('k'.repeat(storeLimits.keyBytes))]);
      await refused('TooLarge', () => world.store.txn([], [put('k'.repeat(storeLimits.keyBytes + 1))]));
      await refused('TooLarge', () => world.store.txn([], [put('é'.repeat(storeLimits.keyBytes / 2 + 1))]));
      await refused('TooLarge', () => world.store.get('k'.repeat(storeLimits.keyBytes + 1)));
    });

    test.each([
      ['a key twice in one transaction', () => world.store.txn([], [put('/a', '1'), put('/a', '2')])],
      ['a key put and deleted in one transaction', () => world.store.txn([], [put('/a'), del('/a')])],
      ['an empty key', () => world.store.txn([], [put('')])],
      ['an empty key in a compare', () => world.store.txn([{ key: '', modRev: 0 }], [])],
      ['an empty key in get', () => world.store.get('')],
      ['a key with half a surrogate pair', () => world.store.txn([], [put('/\ud83d')])],
      ['a prefix with half a surrogate pair', () => world.store.range('/\ud83d')],
      ['a compare with a negative revision', () => world.store.txn([{ key: '/a', modRev: -1 }], [])],
      ['a limit of zero', () => world.store.range('', { limit: 0 })],
      ['a lease that does not exist', () => world.store.txn([], [put('/b'), put('/a', '', 'no-such-lease')])],
      ['a lease of no time', () => world.store.lease(0)],
      ['compaction to a future revision', async () => world.store.compact((await world.store.status()).rev + 1)],
    ])('%s is Invalid and changes nothing', async (_what, call) => {
      await refused('Invalid', call);
      expect(await keysOf('')).toEqual([]);
    });

    test('an invalid transaction among valid ones harms only itself', async () => {
      const calls = [put('/1'), put('/2', '', 'no-such-lease'), put('/3')].map((op) => world.store.txn([], [op]));
      const results = await Promise.allSettled(calls);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await keysOf('')).toEqual(['/1', '/3']);
    });
  });
}
