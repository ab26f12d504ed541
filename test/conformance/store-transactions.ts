// Transactions of all stores.
import { describe, expect, test } from 'vitest';
import { type Store, storeLimits } from '../../server/store/store.ts';
import { del, gather, put, text, watched } from '../support/store/watching.ts';
import { until } from '../support/until.ts';
import type { StoreWorld } from './store-world.ts';

export function transactionTests(world: StoreWorld): void {
  const { write } = world;

  describe('transactions', () => {
    test('apply all operations at one new revision when every compare holds', async () => {
      const before = await write(put('/a', '1'), put('/gone', 'x'));
      const a = await world.store.get('/a');
      const compares = [
        { key: '/a', modRev: a?.modRev ?? -1 },
        { key: '/new', modRev: 0 },
      ];
      const result = await world.store.txn(compares, [put('/a', '2'), put('/new', '1'), del('/gone')]);
      expect(result).toEqual({ ok: true, rev: before + 1 });
      expect((await world.store.range('')).records.map(({ key, modRev }) => [key, modRev])).toEqual([
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
      expect(await world.store.txn([compare], [put('/a', '3'), put('/b')])).toEqual({ ok: false, rev });
      expect(await world.store.txn([{ key: '/a', modRev: rev }, compare], [del('/a')])).toEqual({ ok: false, rev });
      expect(text((await world.store.get('/a'))?.value)).toBe('2');
      expect(await world.store.get('/b')).toBeUndefined();
      expect((await world.store.status()).rev).toBe(rev);
    });

    test('transactions that change nothing do not move the revision', async () => {
      const rev = await write(put('/a'));
      expect(await world.store.txn([], [])).toEqual({ ok: true, rev });
      expect(await world.store.txn([{ key: '/a', modRev: rev }], [])).toEqual({ ok: true, rev });
      expect(await world.store.txn([], [del('/none'), del('/neither')])).toEqual({ ok: true, rev });
      expect(await write(put('/b'))).toBe(rev + 1);
    });

    test('a delete of an absent key beside a real change leaves no event of its own', async () => {
      const rev = await write(put('/a'), del('/none'));
      expect(await watched(world.store, '', rev)).toEqual([`${rev} put /a=`]);
    });

    test('putting the same value again is a change', async () => {
      const rev = await write(put('/a', 'same'));
      expect(await write(put('/a', 'same'))).toBe(rev + 1);
      expect((await world.store.get('/a'))?.version).toBe(2);
    });

    test('exactly one of many writers comparing the same record wins each round', async () => {
      let rev = await write(put('/counter', '0'));
      for (let round = 0; round < 10; round++) {
        const compare = [{ key: '/counter', modRev: rev }];
        const tries = Array.from({ length: 16 }, (_, i) =>
          world.store.txn(compare, [put('/counter', `${round}/${i}`)]),
        );
        const won = (await Promise.all(tries)).filter(({ ok }) => ok);
        expect(won).toHaveLength(1);
        rev = won[0]?.rev ?? 0;
      }
      expect(await world.store.get('/counter')).toMatchObject({ modRev: rev, version: 11 });
    });

    test('concurrent increments by compare and retry lose none', async () => {
      const increment = async (): Promise<void> => {
        for (;;) {
          const old = await world.store.get('/n');
          const next = String(Number(text(old?.value) ?? 0) + 1);
          if ((await world.store.txn([{ key: '/n', modRev: old?.modRev ?? 0 }], [put('/n', next)])).ok) return;
        }
      };
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 10; i++) await increment();
        }),
      );
      expect(text((await world.store.get('/n'))?.value)).toBe('80');
    });

    test('concurrent transactions get revisions of their own, without gaps, and are readable once acknowledged', async () => {
      const { rev: start } = await world.store.status();
      const revs = await Promise.all(
        Array.from({ length: 300 }, async (_, i) => {
          const { rev } = await world.store.txn([], [put(`/many/${i}`, String(i))]);
          expect((await world.store.get(`/many/${i}`))?.modRev).toBe(rev);
          return rev;
        }),
      );
      expect(revs.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => start + i + 1));
    });
  });

  describe('the newest transaction', () => {
    test('is at revision 0 before the first one, and after each at its own', async () => {
      expect(await world.store.lastWrite()).toBe(0);
      const lastOf = async (ops: Parameters<Store['txn']>[1], compare: Parameters<Store['txn']>[0] = []) => {
        const { ok, rev } = await world.store.txn(compare, ops);
        expect(ok).toBe(true);
        expect(await world.store.lastWrite()).toBe(rev);
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
      await world.store.txn([{ key: '/a', modRev: 0 }], [put('/a', '2')]);
      await world.store.txn([], [del('/none')]);
      await world.store.txn(
        [],
        Array.from({ length: storeLimits.opsPerTxn }, (_, i) => del(`/none/${i}`)),
      );
      await world.store.txn([{ key: '/a', modRev: rev }], []);
      expect(await world.store.lastWrite()).toBe(rev);
    });

    test('is never older than one that was acknowledged, and a watch arrives at it', async () => {
      const seen = gather(world.store, '', 1);
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const { rev } = await world.store.txn([], i % 3 === 0 ? [put(`/${i}`), del(`/${i - 1}`)] : [put(`/${i}`)]);
          const last = await world.store.lastWrite();
          expect(last).toBeGreaterThanOrEqual(rev);
          await until(() => seen.batches.some((batch) => batch.rev === last));
        }),
      );
      await seen.stop();
    });

    test('is found again by the next open, where the backend keeps anything', async (context) => {
      if (world.subject.reopen === undefined) {
        context.skip('this backend keeps nothing');
        return;
      }
      const rev = await write(put('/a'));
      world.store = await world.subject.reopen();
      expect(await world.store.lastWrite()).toBe(rev);
    });
  });
}
