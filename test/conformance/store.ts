// The suite of all stores, clause by clause of server/store/store.ts; a backend is done when this suite is green on it.
import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compareKeys } from '../../server/store/keys.ts';
import { type Store, StoreError, type StoreErrorCode, storeLimits } from '../../server/store/store.ts';
import type { ScriptedClock } from '../support/store/clock.ts';
import { bytes, del, gather, put, text, textSink, watched } from '../support/store/watching.ts';
import { until } from '../support/until.ts';

export interface StoreUnderTest {
  readonly store: Store;
  /** Drives the leases of this store. */
  readonly clock: ScriptedClock;
  /** Closes the store and opens the same data again; absent when the backend keeps nothing. */
  readonly reopen?: () => Promise<Store>;
  readonly dispose: () => Promise<void>;
}

export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} store`, () => {
    let subject: StoreUnderTest;
    let store: Store;

    beforeEach(async () => {
      subject = await open();
      store = subject.store;
    });

    afterEach(async () => {
      await subject.dispose();
    });

    const write = async (...ops: Parameters<Store['txn']>[1]): Promise<number> => (await store.txn([], ops)).rev;
    const keysOf = async (prefix: string, options = {}): Promise<string[]> =>
      (await store.range(prefix, options)).records.map(({ key }) => key);

    describe('records', () => {
      test('an absent key reads as undefined', async () => {
        expect(await store.get('/none')).toBeUndefined();
      });

      test('a record has the revisions of its creation and last change, and its version', async () => {
        const first = await write(put('/a', 'one'));
        await write(put('/b', 'other'));
        const second = await write(put('/a', 'two'));
        const record = await store.get('/a');
        expect(record).toEqual({ key: '/a', value: bytes('two'), createRev: first, modRev: second, version: 2 });
        expect(record?.value).toBeInstanceOf(Uint8Array);
      });

      test('a deleted and recreated key starts again at version 1', async () => {
        await write(put('/a', 'one'));
        await write(put('/a', 'two'));
        await write(del('/a'));
        expect(await store.get('/a')).toBeUndefined();
        const rev = await write(put('/a', 'three'));
        expect(await store.get('/a')).toMatchObject({ createRev: rev, modRev: rev, version: 1 });
      });

      test('empty values, binary values and unusual keys are returned unchanged', async () => {
        const binary = Uint8Array.from({ length: 256 }, (_, i) => i);
        const keys = ['/nul\0inside', '/ünïcode/日本', '/emoji/😀', ' ', '/quote\'"%_\\'];
        await store.txn(
          [],
          [{ put: '/empty', value: new Uint8Array() }, ...keys.map((key) => ({ put: key, value: binary }))],
        );
        expect((await store.get('/empty'))?.value).toEqual(new Uint8Array());
        for (const key of keys) expect((await store.get(key))?.value).toEqual(binary);
      });

      test('a value is the view that was given, not the buffer behind it, and is copied at the call', async () => {
        const pool = bytes('-----view-----');
        const view = pool.subarray(5, 9);
        const done = store.txn([], [{ put: '/a', value: view }]);
        pool.fill(0);
        await done;
        expect(text((await store.get('/a'))?.value)).toBe('view');
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
        expect((await store.range('/none')).rev).toBe(rev);
      });

      test('are one snapshot: a writer of pairs is never seen half way', async () => {
        const stop = new AbortController();
        const writer = async (): Promise<void> => {
          for (let n = 0; !stop.signal.aborted; n++) await write(put('/pair/1', String(n)), put('/pair/2', String(n)));
        };
        const running = writer();
        for (let i = 0; i < 50; i++) {
          const { rev, records } = await store.range('/pair/');
          expect(new Set(records.map(({ value }) => text(value))).size).toBeLessThanOrEqual(1);
          for (const { modRev } of records) expect(modRev).toBeLessThanOrEqual(rev);
        }
        stop.abort();
        await running;
      });
    });

    describe('transactions', () => {
      test('apply all operations at one new revision when every compare holds', async () => {
        const before = await write(put('/a', '1'), put('/gone', 'x'));
        const a = await store.get('/a');
        const compares = [
          { key: '/a', modRev: a?.modRev ?? -1 },
          { key: '/new', modRev: 0 },
        ];
        const result = await store.txn(compares, [put('/a', '2'), put('/new', '1'), del('/gone')]);
        expect(result).toEqual({ ok: true, rev: before + 1 });
        expect((await store.range('')).records.map(({ key, modRev }) => [key, modRev])).toEqual([
          ['/a', before + 1],
          ['/new', before + 1],
        ]);
      });

      test.each([
        ['an absent key is expected to exist', { key: '/none', modRev: 1 }],
        ['an existing key is expected to be absent', { key: '/a', modRev: 0 }],
        ['a key has changed since', { key: '/a', modRev: 1 }],
      ])('change nothing when %s', async (_why, compare) => {
        await write(put('/a', '1'));
        const rev = await write(put('/a', '2'));
        expect(await store.txn([compare], [put('/a', '3'), put('/b')])).toEqual({ ok: false, rev });
        expect(await store.txn([{ key: '/a', modRev: rev }, compare], [del('/a')])).toEqual({ ok: false, rev });
        expect(text((await store.get('/a'))?.value)).toBe('2');
        expect(await store.get('/b')).toBeUndefined();
        expect((await store.status()).rev).toBe(rev);
      });

      test('transactions that change nothing do not move the revision', async () => {
        const rev = await write(put('/a'));
        expect(await store.txn([], [])).toEqual({ ok: true, rev });
        expect(await store.txn([{ key: '/a', modRev: rev }], [])).toEqual({ ok: true, rev });
        expect(await store.txn([], [del('/none'), del('/neither')])).toEqual({ ok: true, rev });
        expect(await write(put('/b'))).toBe(rev + 1);
      });

      test('a delete of an absent key beside a real change leaves no event of its own', async () => {
        const rev = await write(put('/a'), del('/none'));
        expect(await watched(store, '', rev)).toEqual([`${rev} put /a=`]);
      });

      test('putting the same value again is a change', async () => {
        const rev = await write(put('/a', 'same'));
        expect(await write(put('/a', 'same'))).toBe(rev + 1);
        expect((await store.get('/a'))?.version).toBe(2);
      });

      test('exactly one of many writers comparing the same record wins each round', async () => {
        let rev = await write(put('/counter', '0'));
        for (let round = 0; round < 10; round++) {
          const compare = [{ key: '/counter', modRev: rev }];
          const tries = Array.from({ length: 16 }, (_, i) => store.txn(compare, [put('/counter', `${round}/${i}`)]));
          const won = (await Promise.all(tries)).filter(({ ok }) => ok);
          expect(won).toHaveLength(1);
          rev = won[0]?.rev ?? 0;
        }
        expect(await store.get('/counter')).toMatchObject({ modRev: rev, version: 11 });
      });

      test('concurrent increments by compare and retry lose none', async () => {
        const increment = async (): Promise<void> => {
          for (;;) {
            const old = await store.get('/n');
            const next = String(Number(text(old?.value) ?? 0) + 1);
            if ((await store.txn([{ key: '/n', modRev: old?.modRev ?? 0 }], [put('/n', next)])).ok) return;
          }
        };
        await Promise.all(
          Array.from({ length: 8 }, async () => {
            for (let i = 0; i < 10; i++) await increment();
          }),
        );
        expect(text((await store.get('/n'))?.value)).toBe('80');
      });

      test('concurrent transactions get revisions of their own, without gaps, and are readable once acknowledged', async () => {
        const { rev: start } = await store.status();
        const revs = await Promise.all(
          Array.from({ length: 300 }, async (_, i) => {
            const { rev } = await store.txn([], [put(`/many/${i}`, String(i))]);
            expect((await store.get(`/many/${i}`))?.modRev).toBe(rev);
            return rev;
          }),
        );
        expect(revs.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => start + i + 1));
      });
    });

    describe('the newest transaction', () => {
      test('is at revision 0 before the first one, and after each at its own', async () => {
        expect(await store.lastWrite()).toBe(0);
        const lastOf = async (ops: Parameters<Store['txn']>[1], compare: Parameters<Store['txn']>[0] = []) => {
          const { ok, rev } = await store.txn(compare, ops);
          expect(ok).toBe(true);
          expect(await store.lastWrite()).toBe(rev);
          return rev;
        };
        const made = await lastOf([put('/a'), put('/b'), put('/c')]);
        await lastOf([put('/a', '2')]);
        await lastOf([put('/a', '3'), del('/c')]);
        await lastOf([del('/a')]);
        await lastOf([del('/b'), del('/none')], [{ key: '/b', modRev: made }]);
      });

      test('is not moved by one that changes nothing', async () => {
        const rev = await write(put('/a'));
        await store.txn([{ key: '/a', modRev: 0 }], [put('/a', '2')]);
        await store.txn([], [del('/none')]);
        await store.txn(
          [],
          Array.from({ length: storeLimits.opsPerTxn }, (_, i) => del(`/none/${i}`)),
        );
        await store.txn([{ key: '/a', modRev: rev }], []);
        expect(await store.lastWrite()).toBe(rev);
      });

      test('is never older than one that was acknowledged, and a watch arrives at it', async () => {
        const seen = gather(store, '', 1);
        await Promise.all(
          Array.from({ length: 100 }, async (_, i) => {
            const { rev } = await store.txn([], i % 3 === 0 ? [put(`/${i}`), del(`/${i - 1}`)] : [put(`/${i}`)]);
            const last = await store.lastWrite();
            expect(last).toBeGreaterThanOrEqual(rev);
            await until(() => seen.batches.some((batch) => batch.rev === last));
          }),
        );
        await seen.stop();
      });

      test('is found again by the next open, where the backend keeps anything', async (context) => {
        if (subject.reopen === undefined) {
          context.skip('this backend keeps nothing');
          return;
        }
        const rev = await write(put('/a'));
        store = await subject.reopen();
        expect(await store.lastWrite()).toBe(rev);
      });
    });

    describe('limits', () => {
      const refused = async (code: StoreErrorCode, call: () => Promise<unknown>): Promise<void> => {
        const { rev } = await store.status();
        const error = await call().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(StoreError);
        expect((error as StoreError).code).toBe(code);
        expect((error as StoreError).message).not.toBe('');
        expect((await store.status()).rev).toBe(rev);
      };
      const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `/many/${i}`);

      test('a transaction at the limits of operations and compares is accepted, one more is TooLarge', async () => {
        const { opsPerTxn, comparesPerTxn } = storeLimits;
        const absent = many(comparesPerTxn).map((key) => ({ key, modRev: 0 }));
        expect(
          await store.txn(
            absent,
            many(opsPerTxn).map((key) => put(key)),
          ),
        ).toMatchObject({ ok: true });
        await refused('TooLarge', () =>
          store.txn(
            [],
            many(opsPerTxn + 1).map((key) => put(key)),
          ),
        );
        await refused('TooLarge', () => store.txn([...absent, { key: '/one-more', modRev: 0 }], [put('/a')]));
      });

      test('the maximum of deletes is accepted, with as many compares, in one revision', async () => {
        const { opsPerTxn, comparesPerTxn } = storeLimits;
        const absent = Array.from({ length: comparesPerTxn }, (_, i) => ({ key: `/absent/${i}`, modRev: 0 }));
        const deletes = many(opsPerTxn).map((key) => del(key));
        const { rev } = await store.txn([], [put(`/many/${opsPerTxn - 1}`), put('/stays')]);
        expect(await store.txn([{ key: '/stays', modRev: 0 }, ...absent.slice(1)], deletes)).toEqual({
          ok: false,
          rev,
        });
        expect(await store.txn(absent, deletes)).toEqual({ ok: true, rev: rev + 1 });
        expect(await store.txn(absent, deletes)).toEqual({ ok: true, rev: rev + 1 });
        expect(await keysOf('')).toEqual(['/stays']);
        expect(await watched(store, '', rev + 1)).toEqual([`${rev + 1} del /many/${opsPerTxn - 1}`]);
      });

      test('a value of 1 MiB is accepted, one byte more is TooLarge', async () => {
        const value = new Uint8Array(storeLimits.valueBytes).fill(7);
        await store.txn([], [{ put: '/big', value }]);
        expect(Buffer.compare((await store.get('/big'))?.value ?? bytes(''), value)).toBe(0);
        await refused('TooLarge', () =>
          store.txn([], [{ put: '/big', value: new Uint8Array(storeLimits.valueBytes + 1) }]),
        );
      });

      test('a transaction larger than the smallest request limit is TooLarge', async () => {
        const half = new Uint8Array(storeLimits.txnBytes / 2);
        await refused('TooLarge', () =>
          store.txn(
            [],
            [
              { put: '/1', value: half },
              { put: '/2', value: half },
            ],
          ),
        );
      });

      test('keys are measured in bytes', async () => {
        await store.txn([], [put('k'.repeat(storeLimits.keyBytes))]);
        await refused('TooLarge', () => store.txn([], [put('k'.repeat(storeLimits.keyBytes + 1))]));
        await refused('TooLarge', () => store.txn([], [put('é'.repeat(storeLimits.keyBytes / 2 + 1))]));
        await refused('TooLarge', () => store.get('k'.repeat(storeLimits.keyBytes + 1)));
      });

      test.each([
        ['a key twice in one transaction', () => store.txn([], [put('/a', '1'), put('/a', '2')])],
        ['a key put and deleted in one transaction', () => store.txn([], [put('/a'), del('/a')])],
        ['an empty key', () => store.txn([], [put('')])],
        ['an empty key in a compare', () => store.txn([{ key: '', modRev: 0 }], [])],
        ['an empty key in get', () => store.get('')],
        ['a key with half a surrogate pair', () => store.txn([], [put('/\ud83d')])],
        ['a prefix with half a surrogate pair', () => store.range('/\ud83d')],
        ['a compare with a negative revision', () => store.txn([{ key: '/a', modRev: -1 }], [])],
        ['a limit of zero', () => store.range('', { limit: 0 })],
        ['a lease that does not exist', () => store.txn([], [put('/b'), put('/a', '', 'no-such-lease')])],
        ['a lease of no time', () => store.lease(0)],
        ['compaction to a future revision', async () => store.compact((await store.status()).rev + 1)],
      ])('%s is Invalid and changes nothing', async (_what, call) => {
        await refused('Invalid', call);
        expect(await keysOf('')).toEqual([]);
      });

      test('an invalid transaction among valid ones harms only itself', async () => {
        const calls = [put('/1'), put('/2', '', 'no-such-lease'), put('/3')].map((op) => store.txn([], [op]));
        const results = await Promise.allSettled(calls);
        expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
        expect(await keysOf('')).toEqual(['/1', '/3']);
      });
    });

    describe('watches', () => {
      test('give whole transactions, in order, each once, from the asked revision on', async () => {
        const r1 = await write(put('/a', '1'));
        const r2 = await write(put('/a', '2'), put('/b', '1'), put('/c', '1'));
        const r3 = await write(del('/b'), put('/a', '3'));
        const seen = gather(store, '', r2);
        await until(() => seen.batches.length === 2);
        expect(seen.lines()).toEqual([`${r2} put /a=2, put /b=1, put /c=1`, `${r3} del /b, put /a=3`]);
        expect(seen.batches[0]?.events[0]).toEqual({
          type: 'put',
          record: { key: '/a', value: bytes('2'), createRev: r1, modRev: r2, version: 2 },
        });
        expect(seen.batches[1]?.events[0]).toEqual({ type: 'del', key: '/b', modRev: r3 });
        await seen.stop();
      });

      test('live events are the same as those of history', async () => {
        const { rev } = await store.status();
        const live = gather(store, '', rev + 1);
        await write(put('/a', '1'), put('/b', '1'));
        await write(put('/a', '2'), del('/b'), del('/none'));
        const lease = await store.lease(10);
        await write(put('/a', '3', lease.id));
        await lease.revoke();
        await until(() => live.batches.length === 4);
        const late = gather(store, '', rev + 1);
        await until(() => late.batches.length === 4);
        expect(late.batches).toEqual(live.batches);
        await live.stop();
        await late.stop();
      });

      test('give only the events under the prefix, and no transaction without one', async () => {
        const { rev } = await store.status();
        const seen = gather(store, '/in/', rev + 1);
        await write(put('/in/a', '1'), put('/out/a', '1'));
        await write(put('/out/b', '1'), put('/in', '1'));
        const last = await write(del('/in/a'), del('/out/a'));
        await until(() => seen.batches.length === 2);
        const expected = [`${rev + 1} put /in/a=1`, `${last} del /in/a`];
        expect(seen.lines()).toEqual(expected);
        expect(await watched(store, '/in/', rev + 1)).toEqual(expected);
        await seen.stop();
      });

      test('watches from a future revision wait for it', async () => {
        const { rev } = await store.status();
        const seen = gather(store, '', rev + 3);
        for (const n of [1, 2, 3, 4]) await write(put('/a', String(n)));
        await until(() => seen.batches.length === 2);
        expect(seen.lines()).toEqual([`${rev + 3} put /a=3`, `${rev + 4} put /a=4`]);
        await seen.stop();
      });

      test('go from history into live events without a gap or a duplicate while writers run', async () => {
        const { rev: start } = await store.status();
        const writers = Array.from({ length: 4 }, async (_, w) => {
          for (let n = 0; n < 150; n++) await write(put(`/w/${w}`, String(n)));
        });
        const watchers = [];
        for (let i = 0; i < 6; i++) {
          watchers.push(gather(store, '/w/', start + 1));
          await store.range('');
        }
        await Promise.all(writers);
        const expected = Array.from({ length: 600 }, (_, i) => start + i + 1);
        for (const watcher of watchers) {
          await until(() => watcher.batches.length >= 600);
          expect(watcher.batches.map(({ rev }) => rev)).toEqual(expected);
          await watcher.stop();
        }
      });

      test('a reader that stands still for thousands of transactions misses none', async () => {
        const { rev: start } = await store.status();
        const abort = new AbortController();
        const watch = store.watch('', start + 1, abort.signal)[Symbol.asyncIterator]();
        await write(put('/a', '0'));
        expect(await watch.next()).toMatchObject({ value: { rev: start + 1 } });
        await Promise.all(Array.from({ length: 900 }, (_, i) => write(put('/a', String(i)))));
        for (let i = 2; i <= 901; i++) expect(await watch.next()).toMatchObject({ value: { rev: start + i } });
        abort.abort();
        expect(await watch.next()).toMatchObject({ done: true });
      });

      test('end when the signal aborts, while waiting and between transactions', async () => {
        const rev = await write(put('/a'));
        await write(put('/a'));
        await gather(store, '', rev + 5).stop();
        const abort = new AbortController();
        const seen = [];
        for await (const batch of store.watch('', rev, abort.signal)) {
          seen.push(batch.rev);
          abort.abort();
        }
        expect(seen).toEqual([rev]);
        const late = store.watch('', rev, AbortSignal.abort())[Symbol.asyncIterator]();
        expect(await late.next()).toMatchObject({ done: true });
      });
    });

    describe('compaction', () => {
      const compactedError = async (fromRev: number): Promise<StoreError> => {
        const seen = gather(store, '', fromRev);
        const error: unknown = await seen.ended.then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(StoreError);
        expect(seen.batches).toEqual([]);
        return error as StoreError;
      };

      test('forgets history below a revision; a watch from exactly there is allowed, one before is Compacted', async () => {
        const r1 = await write(put('/a', '1'));
        const r2 = await write(put('/a', '2'));
        const r3 = await write(put('/a', '3'));
        await store.compact(r2);
        expect((await store.status()).compactRev).toBe(r2);
        expect(await watched(store, '/a', r2)).toEqual([`${r2} put /a=2`, `${r3} put /a=3`]);
        expect(await compactedError(r1)).toMatchObject({ code: 'Compacted', compactRev: r2 });
      });

      test('leaves current records and their revisions alone', async () => {
        await write(put('/a', '1'), put('/b', '1'));
        const rev = await write(put('/a', '2'));
        const before = await store.range('');
        await store.compact(rev);
        expect(await store.range('')).toEqual(before);
        expect(await store.txn([{ key: '/a', modRev: rev }], [put('/a', '3')])).toMatchObject({ ok: true });
      });

      test('a delete at the very edge is still seen', async () => {
        await write(put('/a', '1'));
        const deleted = await write(del('/a'));
        await store.compact(deleted);
        expect(await watched(store, '', deleted)).toEqual([`${deleted} del /a`]);
      });

      test('a compaction between a read and its watch is noticed', async () => {
        await write(put('/a', '1'));
        const { rev } = await store.range('');
        await write(put('/a', '2'));
        const later = await write(put('/a', '3'));
        await store.compact(later);
        expect(await compactedError(rev + 1)).toMatchObject({ code: 'Compacted', compactRev: later });
        const again = await store.range('');
        const seen = gather(store, '', again.rev + 1);
        await write(put('/a', '4'));
        await until(() => seen.batches.length === 1);
        expect(seen.lines()).toEqual([`${again.rev + 1} put /a=4`]);
        await seen.stop();
      });

      test('compacting to an earlier revision is a no-op, and a compacted store keeps working', async () => {
        await write(put('/a', '1'));
        const rev = await write(put('/a', '2'));
        await store.compact(rev);
        await store.compact(rev - 1);
        await store.compact(rev);
        expect((await store.status()).compactRev).toBe(rev);
        expect(await write(put('/a', '3'))).toBe(rev + 1);
      });

      test('does not disturb a watch that has kept up', async () => {
        const { rev } = await store.status();
        const seen = gather(store, '', rev + 1);
        for (let n = 1; n <= 20; n++) {
          const last = await write(put('/a', String(n)));
          await until(() => seen.batches.length === n);
          await store.compact(last);
        }
        expect(seen.batches.map((batch) => batch.rev)).toEqual(Array.from({ length: 20 }, (_, i) => rev + 1 + i));
        await seen.stop();
      });
    });

    describe('leases', () => {
      test('revoking deletes every held key in one transaction and resolves lost', async () => {
        const lease = await store.lease(10);
        const other = await store.lease(10);
        expect(other.id).not.toBe(lease.id);
        await write(put('/m/1', 'x', lease.id), put('/m/2', 'x', lease.id), put('/m/3', 'x', other.id), put('/free'));
        const { rev } = await store.status();
        await lease.revoke();
        await lease.lost;
        expect(await keysOf('')).toEqual(['/free', '/m/3']);
        expect(await watched(store, '', rev + 1)).toEqual([`${rev + 1} del /m/1, del /m/2`]);
      });

      test('revoking twice, or a lease without keys, moves no revision', async () => {
        const lease = await store.lease(10);
        const { rev } = await store.status();
        await Promise.all([lease.revoke(), lease.revoke()]);
        await lease.revoke();
        expect((await store.status()).rev).toBe(rev);
      });

      test('a key belongs to the lease of its last put, and to none after a put without', async () => {
        const lease = await store.lease(10);
        const other = await store.lease(10);
        await write(put('/kept', '1', lease.id), put('/moved', '1', lease.id), put('/dropped', '1', lease.id));
        await write(put('/kept', '2'), put('/moved', '2', other.id), del('/dropped'));
        await write(put('/dropped', 'again'));
        await lease.revoke();
        expect(await keysOf('')).toEqual(['/dropped', '/kept', '/moved']);
        await other.revoke();
        expect(await keysOf('')).toEqual(['/dropped', '/kept']);
      });

      test('a revoked lease accepts no more keys', async () => {
        const lease = await store.lease(10);
        await lease.revoke();
        await expect(store.txn([], [put('/a', '', lease.id)])).rejects.toMatchObject({ code: 'Invalid' });
      });

      test('a lease holding more keys than a transaction may have is still deleted whole', async () => {
        const lease = await store.lease(10);
        for (let t = 0; t < 2; t++) {
          await write(...Array.from({ length: 100 }, (_, i) => put(`/m/${t}/${i}`, '', lease.id)));
        }
        const { rev } = await store.status();
        await lease.revoke();
        expect((await store.status()).rev).toBe(rev + 1);
        expect(await keysOf('/m/')).toEqual([]);
      });

      test('a lease lives as long as its holder runs', async () => {
        const lease = await store.lease(3);
        await write(put('/m', 'x', lease.id));
        subject.clock.advance(60_000);
        await write(put('/n', 'x', lease.id));
        expect(await keysOf('')).toEqual(['/m', '/n']);
      });

      test('a lease expires when its holder stalls for longer than the time to live', async () => {
        const lease = await store.lease(3);
        const longer = await store.lease(30);
        await write(put('/m', 'x', lease.id), put('/n', 'x', longer.id));
        subject.clock.stall(5_000);
        await lease.lost;
        expect(await keysOf('')).toEqual(['/n']);
        await expect(store.txn([], [put('/a', '', lease.id)])).rejects.toMatchObject({ code: 'Invalid' });
      });

      test('closing the store ends its leases', async () => {
        const lease = await store.lease(30);
        await write(put('/m', 'x', lease.id), put('/stays'));
        const closed = store.close();
        await lease.lost;
        await closed;
        if (subject.reopen === undefined) return;
        store = await subject.reopen();
        expect(await keysOf('')).toEqual(['/stays']);
      });
    });

    describe('status and snapshot', () => {
      test('status counts', async () => {
        const rev = await write(put('/a', 'x'), put('/b', 'x'));
        const status = await store.status();
        expect(status).toMatchObject({ rev, compactRev: 0, records: 2 });
        expect(status.sizeBytes).toBeGreaterThan(0);
        expect(status.storeUuid).toMatch(/^[0-9a-f-]{36}$/);
      });

      test('a snapshot is a header and every lasting record in order, with a checksum', async () => {
        const lease = await store.lease(10);
        const keys = Array.from({ length: 450 }, (_, i) => `/k/${String(i).padStart(4, '0')}`);
        for (let i = 0; i < keys.length; i += 90)
          await write(...keys.slice(i, i + 90).map((key) => put(key, `of ${key}`)));
        await write(put('/member', 'x', lease.id));
        const { rev, storeUuid } = await store.status();
        const out = textSink();
        expect(await store.snapshot(out.sink)).toEqual({ rev });
        const [head = '', ...lines] = out.text().trimEnd().split('\n');
        const sha256 = createHash('sha256')
          .update(lines.map((line) => `${line}\n`).join(''))
          .digest('hex');
        expect(JSON.parse(head)).toEqual({
          format: 'gantry-store-snapshot',
          version: 1,
          storeUuid,
          rev,
          records: 450,
          sha256,
        });
        const found = lines.map((line) => JSON.parse(line) as { key: string; value: string });
        expect(found.map(({ key }) => key)).toEqual(keys);
        expect(Buffer.from(found[7]?.value ?? '', 'base64').toString()).toBe('of /k/0007');
      });

      test('a snapshot shows one revision however long its reader takes', async () => {
        await write(...Array.from({ length: 100 }, (_, i) => put(`/k/${i}`, 'before'.repeat(50))));
        let release = (): void => {};
        const chunks: string[] = [];
        const sink = new Writable({
          highWaterMark: 1,
          write(chunk: Buffer, _encoding, done) {
            chunks.push(chunk.toString());
            if (chunks.length > 1) done();
            else release = done;
          },
        });
        const dumping = store.snapshot(sink);
        await until(() => chunks.length > 0);
        await write(put('/k/1', 'after'), del('/k/99'), put('/k/new', 'after'));
        release();
        const { rev } = await dumping;
        expect((await store.status()).rev).toBe(rev + 1);
        const lines = chunks.join('').trimEnd().split('\n').slice(1);
        expect(lines).toHaveLength(100);
        for (const line of lines) {
          const { value } = JSON.parse(line) as { value: string };
          expect(Buffer.from(value, 'base64').toString()).toMatch(/^(before)+$/);
        }
      });

      test('a snapshot into a broken sink rejects, and the store keeps working', async () => {
        await write(put('/a', 'x'));
        const sink = new Writable({
          write: (_chunk, _encoding, done) => done(new Error('pipe is gone')),
          highWaterMark: 1,
        });
        sink.on('error', () => {});
        await expect(store.snapshot(sink)).rejects.toThrow('pipe is gone');
        await write(put('/a', 'y'));
      });
    });

    describe('closing', () => {
      test('closing finishes earlier calls, then refuses every call, and is idempotent', async () => {
        const asked = Array.from({ length: 50 }, (_, i) => store.txn([], [put(`/${i}`)]));
        const closed = store.close();
        expect(await Promise.all(asked)).toHaveLength(50);
        await Promise.all([closed, store.close()]);
        const refusals = [
          () => store.get('/a'),
          () => store.range(''),
          () => store.txn([], [put('/a')]),
          () => store.lease(1),
          () => store.compact(0),
          () => store.status(),
          () => store.lastWrite(),
          () => store.snapshot(textSink().sink),
        ];
        for (const call of refusals) await expect(call()).rejects.toMatchObject({ code: 'Unavailable' });
        await store.close();
      });

      test('ends watches quietly, waiting ones and new ones', async () => {
        const rev = await write(put('/a'));
        const waiting = gather(store, '', rev + 1);
        const reading = gather(store, '', rev);
        await store.close();
        await waiting.ended;
        await reading.ended;
        await gather(store, '', rev).ended;
      });

      test('keeps everything for the next open, where the backend keeps anything', async (context) => {
        if (subject.reopen === undefined) {
          context.skip('this backend keeps nothing');
          return;
        }
        await write(put('/a', '1'), put('/b', '1'));
        const r2 = await write(put('/a', '2'), del('/b'));
        const r3 = await write(put('/c', '1'));
        await store.compact(r2);
        const records = await store.range('');
        const { storeUuid } = await store.status();
        store = await subject.reopen();
        expect(await store.range('')).toEqual(records);
        expect(await store.status()).toMatchObject({ rev: r3, compactRev: r2, records: 2, storeUuid });
        expect(await watched(store, '', r2)).toEqual([`${r2} put /a=2, del /b`, `${r3} put /c=1`]);
        await expect(gather(store, '', r2 - 1).ended).rejects.toMatchObject({ code: 'Compacted' });
        expect(await write(put('/a', '3'))).toBe(r3 + 2);
      });
    });
  });
}
