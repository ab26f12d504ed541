// Many processes that write to one store in etcd: none disturbs another, and each can be shut out by the others.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type EtcdBackend, type EtcdStoreOptions, openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { openRelay, type Relay } from '../../../support/store/cuttable.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';
import { put, text } from '../../../support/store/watching.ts';
import { until } from '../../../support/until.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('many writers of a store', () => {
  let etcd: TestEtcd;
  let relay: Relay;
  let name: string;
  const opened: EtcdBackend[] = [];

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd?.stop());
  beforeEach(async () => {
    relay = await openRelay(etcd.endpoints[0] ?? '');
    name = randomUUID();
  });
  afterEach(async () => {
    relay.mend();
    await Promise.all(opened.splice(0).map((store) => store.close()));
    relay.close();
  });

  /** Waits for answers as long as a busy machine needs: a late one would move its fence. */
  const open = async (writer: string, more: Partial<EtcdStoreOptions> = {}): Promise<EtcdBackend> => {
    const own = { name, writer, writerName: `member ${writer}` };
    const limits = { attemptMs: 60_000, totalMs: 60_000 };
    const store = await openEtcdStore({ endpoints: etcd.endpoints, ...limits, ...own, ...more });
    opened.push(store);
    return store;
  };
  /** Reaches etcd through the relay alone: on a busy machine it would leave the relay for another address before that is cut. */
  const openBehindRelay = (writer: string): Promise<EtcdBackend> =>
    open(writer, { endpoints: [relay.address], attemptMs: 400 });
  /** Past the relay, too. */
  const letAround = (store: EtcdBackend): void => store.useEndpoints([relay.address, ...etcd.endpoints]);
  const fences = (): Map<string, number> => {
    const found = JSON.parse(etcd.ctl('get', '--prefix', `/${name}/meta/fence/`, '--write-out=json')) as {
      kvs?: { key: string; mod_revision: number }[];
    };
    const idOf = (key: string): string => Buffer.from(key, 'base64').toString().split('/').at(-1) ?? '';
    return new Map((found.kvs ?? []).map(({ key, mod_revision }) => [idOf(key), mod_revision]));
  };

  test('a writer without an answer moves its own fence and no other', async () => {
    const slow = await openBehindRelay('slow');
    const [quick, quicker] = [await open('quick'), await open('quicker')];
    const before = fences();
    expect([...before.keys()].sort()).toEqual(['quick', 'quicker', 'slow']);
    relay.cut('answers');
    letAround(slow);
    const written = slow.txn([], [put('/slow')]);
    for (let n = 0; n < 20; n += 1)
      await Promise.all([quick, quicker].map((store, i) => store.txn([], [put(`/${i}`)])));
    expect(await written).toMatchObject({ ok: true });
    const after = fences();
    expect(after.get('quick')).toBe(before.get('quick'));
    expect(after.get('quicker')).toBe(before.get('quicker'));
    expect(after.get('slow')).toBeGreaterThan(before.get('slow') ?? 0);
    expect(await quick.get('/slow')).toMatchObject({ version: 1 });
  });

  test('forty writers at once lose no increment', async () => {
    const stores = await Promise.all(Array.from({ length: 40 }, (_, n) => open(`member-${n}`)));
    const increment = async (store: EtcdBackend, key: string): Promise<void> => {
      for (;;) {
        const old = await store.get(key);
        const next = put(key, String(Number(text(old?.value) ?? 0) + 1));
        if ((await store.txn([{ key, modRev: old?.modRev ?? 0 }], [next])).ok) return;
      }
    };
    await Promise.all(
      stores.map(async (store, n) => {
        for (let round = 0; round < 3; round += 1) await increment(store, `/counter/${(n + round) % 8}`);
      }),
    );
    const [first] = stores;
    const { records } = (await first?.range('/counter/')) ?? { records: [] };
    expect(records.map(({ value }) => text(value))).toEqual(Array.from({ length: 8 }, () => '15'));
  });

  test('a writer that is shut out writes nothing more, and learns by whom; the others keep writing', async () => {
    const [a, b, c] = [await open('a'), await open('b'), await open('c')];
    await a.txn([], [put('/a', 'before')]);
    await b.fenceOut('a');
    const shutOut = { code: 'Locked', message: expect.stringContaining('member b has shut this daemon out') };
    await expect(a.txn([], [put('/a', 'after')])).rejects.toMatchObject(shutOut);
    await expect(a.txn([], [put('/a', 'again')])).rejects.toMatchObject(shutOut);
    expect(text((await a.get('/a'))?.value)).toBe('before');
    expect(await b.txn([], [put('/b')])).toMatchObject({ ok: true });
    expect(await c.txn([], [put('/c')])).toMatchObject({ ok: true });
  });

  test('a write that a writer sent before it was shut out is never applied afterwards', async () => {
    // It waits for the answer until the relay carries the write on.
    const a = await open('a', { endpoints: [relay.address] });
    const b = await open('b');
    await a.txn([], [put('/a', 'before')]);
    relay.cut('both');
    const lost = a.txn([], [put('/a', 'late')]);
    const refused = expect(lost).rejects.toMatchObject({ code: 'Locked' });
    await b.fenceOut('a');
    relay.mend();
    await refused;
    for (let n = 0; n < 20; n += 1) await a.get('/a');
    expect(text((await b.get('/a'))?.value)).toBe('before');
  });

  test('a writer that is shut out cannot shut out others', async () => {
    const [a, b, c] = [await open('a'), await open('b'), await open('c')];
    await b.fenceOut('a');
    await expect(a.fenceOut('c')).rejects.toMatchObject({ code: 'Locked' });
    expect(await c.txn([], [put('/c')])).toMatchObject({ ok: true });
    // Idempotent.
    await c.fenceOut('a');
    await expect(a.txn([], [put('/a')])).rejects.toThrow('member b');
  });

  test('one is left of two writers that shut each other out concurrently', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [a, b] = [await open('a'), await open('b')];
      const outcomes = await Promise.allSettled([a.fenceOut('b'), b.fenceOut('a')]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const writes = await Promise.allSettled([a.txn([], [put('/a')]), b.txn([], [put('/b')])]);
      expect(writes.map(({ status }) => status)).toEqual(outcomes.map(({ status }) => status));
    }
  });

  test('a later process with the same id replaces the earlier one, shut out or not', async () => {
    const first = await open('a');
    const b = await open('b');
    const second = await open('a');
    await expect(first.txn([], [put('/a')])).rejects.toMatchObject({
      code: 'Locked',
      message: expect.stringContaining('member a has taken over'),
    });
    expect(await second.txn([], [put('/a')])).toMatchObject({ ok: true });
    await b.fenceOut('a');
    const third = await open('a');
    expect(await third.txn([], [put('/a')])).toMatchObject({ ok: true });
    await expect(second.txn([], [put('/a')])).rejects.toMatchObject({ code: 'Locked' });
  });

  test('a delayed attempt to shut a writer out does not harm a later process', async () => {
    const b = await openBehindRelay('b');
    await open('a');
    await b.txn([], [put('/b')]);
    relay.cut('both');
    letAround(b);
    await b.fenceOut('a');
    const later = await open('a');
    relay.mend();
    for (let n = 0; n < 20; n += 1) await b.get('/b');
    expect(await later.txn([], [put('/a')])).toMatchObject({ ok: true });
  });

  test('a closed writer leaves no fence behind, unless another one has it', async () => {
    const first = await open('a');
    const second = await open('a');
    await first.close();
    expect([...fences().keys()]).toEqual(['a']);
    expect(await second.txn([], [put('/a')])).toMatchObject({ ok: true });
    await second.close();
    await until(() => fences().size === 0);
    const b = await open('b');
    await b.fenceOut('a');
    expect(await (await open('a')).txn([], [put('/a')])).toMatchObject({ ok: true });
  });

  test('invalid ids, and the own id, are Invalid', async () => {
    await expect(open('a/b')).rejects.toMatchObject({ code: 'Invalid' });
    const a = await open('a');
    await expect(a.fenceOut('')).rejects.toMatchObject({ code: 'Invalid' });
    await expect(a.fenceOut('../store')).rejects.toMatchObject({ code: 'Invalid' });
    await expect(a.fenceOut('a')).rejects.toMatchObject({ code: 'Invalid' });
    const both = { writer: 'x', exclusive: { holder: 'x', identity: 'x', hasEnded: () => false } };
    await expect(openEtcdStore({ endpoints: etcd.endpoints, name, ...both })).rejects.toMatchObject({
      code: 'Invalid',
    });
  });
});
