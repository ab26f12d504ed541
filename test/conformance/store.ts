// The suite of all stores, clause by clause of server/store/store.ts; a backend is done when this suite is green on it.
import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { del, gather, put, textSink, watched } from '../support/store/watching.ts';
import { until } from '../support/until.ts';
import { recordTests } from './store-records.ts';
import { transactionTests } from './store-transactions.ts';
import { watchTests } from './store-watches.ts';
import { storeWorld, type StoreUnderTest, type StoreWorld } from './store-world.ts';

export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} store`, () => {
    const world = storeWorld(open);
    recordTests(world);
    transactionTests(world);
    watchTests(world);
    otherTests(world);
  });
}

function otherTests(world: StoreWorld): void {
  const { write } = world;

  describe('status and snapshot', () => {
    test('status counts', async () => {
      const rev = await write(put('/a', 'x'), put('/b', 'x'));
      const status = await world.store.status();
      expect(status).toMatchObject({ rev, compactRev: 0, records: 2 });
      expect(status.sizeBytes).toBeGreaterThan(0);
      expect(status.storeUuid).toMatch(/^[0-9a-f-]{36}$/);
    });

    test('a snapshot is a header and every lasting record in order, with a checksum', async () => {
      const lease = await world.store.lease(10);
      const keys = Array.from({ length: 450 }, (_, i) => `/k/${String(i).padStart(4, '0')}`);
      for (let i = 0; i < keys.length; i += 90)
        await write(...keys.slice(i, i + 90).map((key) => put(key, `of ${key}`)));
      await write(put('/member', 'x', lease.id));
      const { rev, storeUuid } = await world.store.status();
      const out = textSink();
      expect(await world.store.snapshot(out.sink)).toEqual({ rev });
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
      const dumping = world.store.snapshot(sink);
      await until(() => chunks.length > 0);
      await write(put('/k/1', 'after'), del('/k/99'), put('/k/new', 'after'));
      release();
      const { rev } = await dumping;
      expect((await world.store.status()).rev).toBe(rev + 1);
      const lines = chunks.join('').trimEnd().split('\n').slice(1);
      expect(lines).toHaveLength(100);
      for (const line of lines) {
        const { value } = JSON.parse(line) as { value: string };
        expect(Buffer.from(value, 'base64').toString()).toMatch(/^(before)+$/);
      }
    });

    test('a snapshot into a broken sink rejects, and the world.store keeps working', async () => {
      await write(put('/a', 'x'));
      const sink = new Writable({
        write: (_chunk, _encoding, done) => done(new Error('pipe is gone')),
        highWaterMark: 1,
      });
      sink.on('error', () => {});
      await expect(world.store.snapshot(sink)).rejects.toThrow('pipe is gone');
      await write(put('/a', 'y'));
    });
  });

  describe('closing', () => {
    test('closing finishes earlier calls, then refuses every call, and is idempotent', async () => {
      const asked = Array.from({ length: 50 }, (_, i) => world.store.txn([], [put(`/${i}`)]));
      const closed = world.store.close();
      expect(await Promise.all(asked)).toHaveLength(50);
      await Promise.all([closed, world.store.close()]);
      const refusals = [
        () => world.store.get('/a'),
        () => world.store.range(''),
        () => world.store.txn([], [put('/a')]),
        () => world.store.lease(1),
        () => world.store.compact(0),
        () => world.store.status(),
        () => world.store.lastWrite(),
        () => world.store.snapshot(textSink().sink),
      ];
      for (const call of refusals) await expect(call()).rejects.toMatchObject({ code: 'Unavailable' });
      await world.store.close();
    });

    test('ends watches quietly, waiting ones and new ones', async () => {
      const rev = await write(put('/a'));
      const waiting = gather(world.store, '', rev + 1);
      const reading = gather(world.store, '', rev);
      await world.store.close();
      await waiting.ended;
      await reading.ended;
      await gather(world.store, '', rev).ended;
    });

    test('keeps everything for the next open, where the backend keeps anything', async (context) => {
      if (world.subject.reopen === undefined) {
        context.skip('this backend keeps nothing');
        return;
      }
      await write(put('/a', '1'), put('/b', '1'));
      const r2 = await write(put('/a', '2'), del('/b'));
      const r3 = await write(put('/c', '1'));
      await world.store.compact(r2);
      const records = await world.store.range('');
      const { storeUuid } = await world.store.status();
      world.store = await world.subject.reopen();
      expect(await world.store.range('')).toEqual(records);
      expect(await world.store.status()).toMatchObject({ rev: r3, compactRev: r2, records: 2, storeUuid });
      expect(await watched(world.store, '', r2)).toEqual([`${r2} put /a=2, del /b`, `${r3} put /c=1`]);
      await expect(gather(world.store, '', r2 - 1).ended).rejects.toMatchObject({ code: 'Compacted' });
      expect(await write(put('/a', '3'))).toBe(r3 + 2);
    });
  });
}
