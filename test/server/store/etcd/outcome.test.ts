// Writes whose answer, or whose request, is lost: they are applied exactly once, and the caller learns the revision.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { type Store, storeLimits } from '../../../../server/store/store.ts';
import { openRelay, type Relay } from '../../../support/store/cuttable.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';
import { del, put, text, watched } from '../../../support/store/watching.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('a store that loses one of two endpoints', () => {
  let etcd: TestEtcd;
  let relay: Relay;
  let store: Store;
  /** Another client, which sees the real state. */
  let other: Store;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd?.stop());

  beforeEach(async () => {
    relay = await openRelay(etcd.endpoints[0] ?? '');
    const name = randomUUID();
    store = await openEtcdStore({
      endpoints: [relay.address, ...etcd.endpoints],
      name,
      attemptMs: 400,
      totalMs: 60_000,
    });
    other = await openEtcdStore({ endpoints: etcd.endpoints, name, totalMs: 60_000 });
  });
  afterEach(async () => {
    await store.close();
    await other.close();
    relay.close();
  });

  test.each(['answers', 'both'] as const)('puts once when it loses %s', async (which) => {
    relay.cut(which);
    const { ok, rev } = await store.txn([], [put('/a', '1'), put('/b', '1')]);
    relay.mend();
    expect(ok).toBe(true);
    await store.txn([], [put('/after')]);
    const record = await other.get('/a');
    expect(record).toMatchObject({ modRev: rev, version: 1 });
  });

  test.each(['answers', 'both'] as const)('wins a compare once when it loses %s', async (which) => {
    const first = await store.txn([], [put('/a', '1')]);
    relay.cut(which);
    const won = await store.txn([{ key: '/a', modRev: first.rev }], [put('/a', '2')]);
    relay.mend();
    expect(won.ok).toBe(true);
    expect(await other.get('/a')).toMatchObject({ modRev: won.rev, version: 2 });
    expect(await store.txn([{ key: '/a', modRev: first.rev }], [put('/a', '3')])).toMatchObject({ ok: false });
  });

  test.each(['answers', 'both'] as const)('deletes once when it loses %s', async (which) => {
    const first = await store.txn([], [put('/a', '1'), put('/b', '1')]);
    relay.cut(which);
    const gone = await store.txn([{ key: '/a', modRev: first.rev }], [del('/a'), del('/b'), del('/none')]);
    relay.mend();
    expect(gone.ok).toBe(true);
    expect(await watched(other, '/', gone.rev)).toContain(`${gone.rev} del /a, del /b`);
    expect((await other.range('/')).records.map(({ key }) => key)).toEqual(['/~mark']);
  });

  test('a delayed write is refused when it arrives', async () => {
    await store.txn([], [put('/a', '1')]);
    relay.cut('both');
    const { rev } = await store.txn([], [put('/a', 'from the lost way')]);
    await other.txn([], [put('/a', 'newer')]);
    relay.mend();
    // The held request reaches etcd on the mended connection before this read does.
    for (let n = 0; n < 20; n++) await other.get('/a');
    const record = await other.get('/a');
    expect(text(record?.value)).toBe('newer');
    expect(record?.version).toBe(3);
    expect(rev).toBeLessThan(record?.modRev ?? 0);
  });

  test('a failed compare is a plain refusal, even if the first answer is lost', async () => {
    await store.txn([], [put('/a', '1')]);
    relay.cut('answers');
    expect(await store.txn([{ key: '/a', modRev: 0 }], [put('/a', '2')])).toMatchObject({ ok: false });
    relay.mend();
    expect(text((await other.get('/a'))?.value)).toBe('1');
  });

  test.each(['answers', 'both'] as const)('deletes the maximum once when it loses %s', async (which) => {
    const keys = Array.from({ length: storeLimits.opsPerTxn }, (_, n) => `/many/${n}`);
    const deletes = keys.map((key) => del(key));
    await store.txn(
      [],
      keys.map((key) => put(key)),
    );
    relay.cut(which);
    const gone = await store.txn([], deletes);
    relay.mend();
    expect(gone.ok).toBe(true);
    expect(await other.lastWrite()).toBe(gone.rev);
    expect(await watched(other, '/many/', gone.rev)).toEqual([
      `${gone.rev} ${keys.map((key) => `del ${key}`).join(', ')}`,
    ]);
    expect((await other.range('/many/')).records).toEqual([]);
  });
});

describe.skipIf(missing !== undefined)('a store without a quorum', () => {
  test('answers Unavailable in bounded time and recovers when the quorum is back', async () => {
    const etcd = await startEtcd({ members: 3 });
    onTestFinished(() => etcd.stop());
    const store = await openEtcdStore({ endpoints: etcd.endpoints, name: 'quorum', attemptMs: 400, totalMs: 1_500 });
    await store.txn([], [put('/a', '1')]);
    await etcd.kill(0);
    await etcd.kill(1);
    const started = performance.now();
    await expect(store.get('/a')).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(store.txn([], [put('/a', '2')])).rejects.toMatchObject({ code: 'Unknown' });
    expect(performance.now() - started).toBeLessThan(30_000);
    await etcd.start(0);
    await etcd.start(1);
    for (let n = 0; n < 10; n++) await store.get('/a').catch(() => {});
    const { ok } = await store.txn([], [put('/a', '3')]);
    expect(ok).toBe(true);
    expect(text((await store.get('/a'))?.value)).toBe('3');
    await store.close();
  });

  test('an address without a server is Unavailable', async () => {
    const nobody = { endpoints: ['127.0.0.1:1'], name: 'x', attemptMs: 200, totalMs: 300 };
    await expect(openEtcdStore(nobody)).rejects.toMatchObject({ code: 'Unavailable' });
  });
});
