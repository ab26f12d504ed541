// Watches, compaction and leases of all stores.
import { describe, expect, test } from 'vitest';
import { StoreError } from '../../server/store/store.ts';
import { bytes, del, gather, put, watched } from '../support/store/watching.ts';
import { until } from '../support/until.ts';
import type { StoreWorld } from './store-world.ts';

export function watchTests(world: StoreWorld): void {
  const { write, keysOf } = world;

  describe('watches', () => {
    test('give whole transactions, in order, each once, from the asked revision on', async () => {
      const r1 = await write(put('/a', '1'));
      const r2 = await write(put('/a', '2'), put('/b', '1'), put('/c', '1'));
      const r3 = await write(del('/b'), put('/a', '3'));
      const seen = gather(world.store, '', r2);
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
      const { rev } = await world.store.status();
      const live = gather(world.store, '', rev + 1);
      await write(put('/a', '1'), put('/b', '1'));
      await write(put('/a', '2'), del('/b'), del('/none'));
      const lease = await world.store.lease(10);
      await write(put('/a', '3', lease.id));
      await lease.revoke();
      await until(() => live.batches.length === 4);
      const late = gather(world.store, '', rev + 1);
      await until(() => late.batches.length === 4);
      expect(late.batches).toEqual(live.batches);
      await live.stop();
      await late.stop();
    });

    test('give only the events under the prefix, and no transaction without one', async () => {
      const { rev } = await world.store.status();
      const seen = gather(world.store, '/in/', rev + 1);
      await write(put('/in/a', '1'), put('/out/a', '1'));
      await write(put('/out/b', '1'), put('/in', '1'));
      const last = await write(del('/in/a'), del('/out/a'));
      await until(() => seen.batches.length === 2);
      const expected = [`${rev + 1} put /in/a=1`, `${last} del /in/a`];
      expect(seen.lines()).toEqual(expected);
      expect(await watched(world.store, '/in/', rev + 1)).toEqual(expected);
      await seen.stop();
    });

    test('watches from a future revision wait for it', async () => {
      const { rev } = await world.store.status();
      const seen = gather(world.store, '', rev + 3);
      for (const n of [1, 2, 3, 4]) await write(put('/a', String(n)));
      await until(() => seen.batches.length === 2);
      expect(seen.lines()).toEqual([`${rev + 3} put /a=3`, `${rev + 4} put /a=4`]);
      await seen.stop();
    });

    test('go from history into live events without a gap or a duplicate while writers run', async () => {
      const { rev: start } = await world.store.status();
      const writers = Array.from({ length: 4 }, async (_, w) => {
        for (let n = 0; n < 150; n++) await write(put(`/w/${w}`, String(n)));
      });
      const watchers = [];
      for (let i = 0; i < 6; i++) {
        watchers.push(gather(world.store, '/w/', start + 1));
        await world.store.range('');
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
      const { rev: start } = await world.store.status();
      const abort = new AbortController();
      const watch = world.store.watch('', start + 1, abort.signal)[Symbol.asyncIterator]();
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
      await gather(world.store, '', rev + 5).stop();
      const abort = new AbortController();
      const seen = [];
      for await (const batch of world.store.watch('', rev, abort.signal)) {
        seen.push(batch.rev);
        abort.abort();
      }
      expect(seen).toEqual([rev]);
      const late = world.store.watch('', rev, AbortSignal.abort())[Symbol.asyncIterator]();
      expect(await late.next()).toMatchObject({ done: true });
    });
  });

  describe('compaction', () => {
    const compactedError = async (fromRev: number): Promise<StoreError> => {
      const seen = gather(world.store, '', fromRev);
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
      await world.store.compact(r2);
      expect((await world.store.status()).compactRev).toBe(r2);
      expect(await watched(world.store, '/a', r2)).toEqual([`${r2} put /a=2`, `${r3} put /a=3`]);
      expect(await compactedError(r1)).toMatchObject({ code: 'Compacted', compactRev: r2 });
    });

    test('leaves current records and their revisions alone', async () => {
      await write(put('/a', '1'), put('/b', '1'));
      const rev = await write(put('/a', '2'));
      const before = await world.store.range('');
      await world.store.compact(rev);
      expect(await world.store.range('')).toEqual(before);
      expect(await world.store.txn([{ key: '/a', modRev: rev }], [put('/a', '3')])).toMatchObject({ ok: true });
    });

    test('a delete at the very edge is still seen', async () => {
      await write(put('/a', '1'));
      const deleted = await write(del('/a'));
      await world.store.compact(deleted);
      expect(await watched(world.store, '', deleted)).toEqual([`${deleted} del /a`]);
    });

    test('a compaction between a read and its watch is noticed', async () => {
      await write(put('/a', '1'));
      const { rev } = await world.store.range('');
      await write(put('/a', '2'));
      const later = await write(put('/a', '3'));
      await world.store.compact(later);
      expect(await compactedError(rev + 1)).toMatchObject({ code: 'Compacted', compactRev: later });
      const again = await world.store.range('');
      const seen = gather(world.store, '', again.rev + 1);
      await write(put('/a', '4'));
      await until(() => seen.batches.length === 1);
      expect(seen.lines()).toEqual([`${again.rev + 1} put /a=4`]);
      await seen.stop();
    });

    test('compacting to an earlier revision is a no-op, and a compacted world.store keeps working', async () => {
      await write(put('/a', '1'));
      const rev = await write(put('/a', '2'));
      await world.store.compact(rev);
      await world.store.compact(rev - 1);
      await world.store.compact(rev);
      expect((await world.store.status()).compactRev).toBe(rev);
      expect(await write(put('/a', '3'))).toBe(rev + 1);
    });

    test('does not disturb a watch that has kept up', async () => {
      const { rev } = await world.store.status();
      const seen = gather(world.store, '', rev + 1);
      for (let n = 1; n <= 20; n++) {
        const last = await write(put('/a', String(n)));
        await until(() => seen.batches.length === n);
        await world.store.compact(last);
      }
      expect(seen.batches.map((batch) => batch.rev)).toEqual(Array.from({ length: 20 }, (_, i) => rev + 1 + i));
      await seen.stop();
    });
  });

  describe('leases', () => {
    test('revoking deletes every held key in one transaction and resolves lost', async () => {
      const lease = await world.store.lease(10);
      const other = await world.store.lease(10);
      expect(other.id).not.toBe(lease.id);
      await write(put('/m/1', 'x', lease.id), put('/m/2', 'x', lease.id), put('/m/3', 'x', other.id), put('/free'));
      const { rev } = await world.store.status();
      await lease.revoke();
      await lease.lost;
      expect(await keysOf('')).toEqual(['/free', '/m/3']);
      expect(await watched(world.store, '', rev + 1)).toEqual([`${rev + 1} del /m/1, del /m/2`]);
    });

    test('revoking twice, or a lease without keys, moves no revision', async () => {
      const lease = await world.store.lease(10);
      const { rev } = await world.store.status();
      await Promise.all([lease.revoke(), lease.revoke()]);
      await lease.revoke();
      expect((await world.store.status()).rev).toBe(rev);
    });

    test('a key belongs to the lease of its last put, and to none after a put without', async () => {
      const lease = await world.store.lease(10);
      const other = await world.store.lease(10);
      await write(put('/kept', '1', lease.id), put('/moved', '1', lease.id), put('/dropped', '1', lease.id));
      await write(put('/kept', '2'), put('/moved', '2', other.id), del('/dropped'));
      await write(put('/dropped', 'again'));
      await lease.revoke();
      expect(await keysOf('')).toEqual(['/dropped', '/kept', '/moved']);
      await other.revoke();
      expect(await keysOf('')).toEqual(['/dropped', '/kept']);
    });

    test('a revoked lease accepts no more keys', async () => {
      const lease = await world.store.lease(10);
      await lease.revoke();
      await expect(world.store.txn([], [put('/a', '', lease.id)])).rejects.toMatchObject({ code: 'Invalid' });
    });

    test('a lease holding more keys than a transaction may have is still deleted whole', async () => {
      const lease = await world.store.lease(10);
      for (let t = 0; t < 2; t++) {
        await write(...Array.from({ length: 100 }, (_, i) => put(`/m/${t}/${i}`, '', lease.id)));
      }
      const { rev } = await world.store.status();
      await lease.revoke();
      expect((await world.store.status()).rev).toBe(rev + 1);
      expect(await keysOf('/m/')).toEqual([]);
    });

    test('a lease lives as long as its holder runs', async () => {
      const lease = await world.store.lease(3);
      await write(put('/m', 'x', lease.id));
      world.subject.clock.advance(60_000);
      await write(put('/n', 'x', lease.id));
      expect(await keysOf('')).toEqual(['/m', '/n']);
    });

    test('a lease expires when its holder stalls for longer than the time to live', async () => {
      const lease = await world.store.lease(3);
      const longer = await world.store.lease(30);
      await write(put('/m', 'x', lease.id), put('/n', 'x', longer.id));
      world.subject.clock.stall(5_000);
      await lease.lost;
      expect(await keysOf('')).toEqual(['/n']);
      await expect(world.store.txn([], [put('/a', '', lease.id)])).rejects.toMatchObject({ code: 'Invalid' });
    });

    test('closing the world.store ends its leases', async () => {
      const lease = await world.store.lease(30);
      await write(put('/m', 'x', lease.id), put('/stays'));
      const closed = world.store.close();
      await lease.lost;
      await closed;
      if (world.subject.reopen === undefined) return;
      world.store = await world.subject.reopen();
      expect(await keysOf('')).toEqual(['/stays']);
    });
  });
}
