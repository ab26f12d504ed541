// The SQLite and etcd stores against the memory model: the same random histories must give the same answers, to the last revision.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertNever } from '../../server/lib/shared/assert-never.ts';
import { openEtcdStore } from '../../server/store/etcd/etcd.ts';
import { openMemoryStore } from '../../server/store/memory/memory.ts';
import { openSqliteStore } from '../../server/store/sqlite/sqlite.ts';
import type { Lease, Op, Store, StoreEvent } from '../../server/store/store.ts';
import { eventKey, type WatchBatch } from '../../server/store/watch-hub.ts';
import { isLongRun } from '../support/left-out.ts';
import { etcdMissing, startEtcd } from '../support/store/etcd.ts';
import { bytes, tempDir } from '../support/store/watching.ts';

const keys = ['/a', '/a/', '/a/1', '/a/2', '/b', '/b/\uffff', '/b/\u{1f600}', '/b/\u{1f600}x', '/c'];
const prefixes = ['', '/', '/a', '/a/', '/b/', '/b/\u{1f600}', '/none'];
const keyOf = fc.constantFrom(...keys);

type CompareKind = 'current' | 'absent' | 'stale';
type Command =
  | { do: 'txn'; compares: { key: string; kind: CompareKind }[]; ops: { key: string; put?: string; leased: boolean }[] }
  | { do: 'burst'; count: number; key: string }
  | { do: 'range'; prefix: string; limit?: number; after?: string }
  | { do: 'watch'; prefix: string; back: number }
  | { do: 'compact'; back: number }
  | { do: 'grant' }
  | { do: 'revoke' };

const compare = fc.record({ key: keyOf, kind: fc.constantFrom<CompareKind>('current', 'current', 'absent', 'stale') });
const operation = fc.record(
  { key: keyOf, put: fc.string({ maxLength: 8 }), leased: fc.boolean() },
  { requiredKeys: ['key', 'leased'] },
);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('txn' as const),
      compares: fc.array(compare, { maxLength: 3 }),
      ops: fc.uniqueArray(operation, { maxLength: 5, selector: ({ key }) => key }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('burst' as const), count: fc.integer({ min: 2, max: 60 }), key: keyOf }),
  },
  {
    weight: 4,
    arbitrary: fc.record(
      {
        do: fc.constant('range' as const),
        prefix: fc.constantFrom(...prefixes),
        limit: fc.integer({ min: 1, max: 5 }),
        after: fc.oneof(keyOf, fc.constant('/b0')),
      },
      { requiredKeys: ['do', 'prefix'] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('watch' as const),
      prefix: fc.constantFrom(...prefixes),
      back: fc.integer({ min: -1, max: 80 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('compact' as const), back: fc.integer({ min: -1, max: 20 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'grant' } as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'revoke' } as const) },
);

/** One store and the effects of the run on it: both sides execute the same commands and must give the same answers. */
class Side {
  readonly store: Store;
  leases: Lease[] = [];
  constructor(store: Store) {
    this.store = store;
  }

  async run(step: Command, base: number): Promise<unknown> {
    const { rev } = await this.store.status();
    switch (step.do) {
      case 'txn':
        return relative(await this.#txn(step), base);
      case 'burst': {
        // Calls in progress at the same time may be applied in any order.
        const tries = Array.from({ length: step.count }, () =>
          this.store.txn([], [{ put: step.key, value: bytes(String(step.count)) }]),
        );
        const results = (await Promise.all(tries)).sort((a, b) => a.rev - b.rev);
        return results.map((result) => relative(result, base));
      }
      case 'range': {
        const { prefix, do: _, ...options } = step;
        const found = await this.store.range(prefix, options);
        return { rev: found.rev - base, records: found.records.map((record) => relativeRecord(record, base)) };
      }
      case 'watch':
        return await outcome(() => this.#watch(step.prefix, Math.max(base, rev - step.back), rev, base), base);
      case 'compact':
        return await outcome(() => this.store.compact(Math.max(base, rev - step.back)), base);
      case 'grant':
        this.leases.push(await this.store.lease(1_000));
        return undefined;
      case 'revoke':
        await this.leases.pop()?.revoke();
        return (await this.store.status()).rev - base;
      default:
        return assertNever(step);
    }
  }

  async #txn({ compares, ops }: Extract<Command, { do: 'txn' }>): Promise<{ ok: boolean; rev: number }> {
    const ifAll = [];
    for (const { key, kind } of compares) {
      const modRev = (await this.store.get(key))?.modRev ?? 0;
      ifAll.push({ key, modRev: kind === 'current' ? modRev : kind === 'absent' ? 0 : Math.max(0, modRev - 1) });
    }
    const lease = this.leases.at(-1)?.id;
    const then = ops.map(({ key, put, leased }): Op => {
      if (put === undefined) return { del: key };
      return leased && lease !== undefined ? { put: key, value: bytes(put), lease } : { put: key, value: bytes(put) };
    });
    return await this.store.txn(ifAll, then);
  }

  /** All events of a watch up to the present: of everything, and of the prefix alone; they must agree. */
  async #watch(prefix: string, fromRev: number, rev: number, base: number): Promise<unknown[]> {
    const all = await this.#read('', fromRev, (seen) => (seen.at(-1)?.rev ?? fromRev - 1) >= rev);
    const touching = all.flatMap((batch) => {
      const events = batch.events.filter((event) => eventKey(event).startsWith(prefix));
      return events.length > 0 ? [{ rev: batch.rev, events }] : [];
    });
    expect(await this.#read(prefix, fromRev, (seen) => seen.length >= touching.length)).toEqual(touching);
    return touching.map((batch) => ({
      rev: batch.rev - base,
      events: batch.events.map((event) => relativeEvent(event, base)),
    }));
  }

  /** A watch may wait forever, so it is aborted once it has returned enough. */
  async #read(
    prefix: string,
    fromRev: number,
    isEnough: (seen: readonly WatchBatch[]) => boolean,
  ): Promise<WatchBatch[]> {
    const abort = new AbortController();
    const seen: WatchBatch[] = [];
    const stopWhenEnough = (): void => {
      if (isEnough(seen)) abort.abort();
    };
    const watch = this.store.watch(prefix, fromRev, abort.signal)[Symbol.asyncIterator]();
    // Read once before the abort: a compacted start must throw even when no event is needed.
    const first = watch.next();
    stopWhenEnough();
    for (let next = await first; next.done !== true; next = await watch.next()) {
      seen.push(next.value);
      stopWhenEnough();
    }
    return seen;
  }

  async clear(): Promise<number> {
    for (const lease of this.leases.splice(0)) await lease.revoke();
    for (;;) {
      const { records } = await this.store.range('', { limit: 100 });
      if (records.length === 0) break;
      await this.store.txn(
        [],
        records.map(({ key }) => ({ del: key })),
      );
    }
    const { rev } = await this.store.txn([], [{ put: '/~', value: bytes('') }]);
    await this.store.compact(rev);
    return rev;
  }
}

async function outcome(call: () => Promise<unknown>, base: number): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    const { code, compactRev } = error as { code?: string; compactRev?: number };
    if (code === undefined) throw error;
    return { code, compactRev: compactRev === undefined ? undefined : compactRev - base };
  }
}

const relative = ({ ok, rev }: { ok: boolean; rev: number }, base: number): object => ({ ok, rev: rev - base });

function relativeRecord(record: { createRev: number; modRev: number; value: Uint8Array }, base: number): object {
  const value = Buffer.from(record.value).toString();
  return { ...record, value, createRev: record.createRev - base, modRev: record.modRev - base };
}

function relativeEvent(event: StoreEvent, base: number): object {
  if (event.type === 'del') return { ...event, modRev: event.modRev - base };
  return { ...event, record: relativeRecord(event.record, base) };
}

async function expectSameAnswers(subjectStore: Store, runs: number): Promise<void> {
  const model = new Side(openMemoryStore());
  const subject = new Side(subjectStore);
  const sameAnswers = fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async (steps) => {
    const bases = await Promise.all([model.clear(), subject.clear()]);
    for (const step of steps) {
      const [wanted, found] = await Promise.all([model.run(step, bases[0]), subject.run(step, bases[1])]);
      expect(found, JSON.stringify(step)).toEqual(wanted);
    }
  });
  try {
    await fc.assert(sameAnswers, { numRuns: Number(process.env['GANTRY_MODEL_RUNS'] ?? runs) });
  } finally {
    await Promise.all([model.store.close(), subject.store.close()]);
  }
}

test('SQLite gives the same answers as the model for every random history', async () => {
  const dir = tempDir();
  try {
    await expectSameAnswers(await openSqliteStore({ path: dir.file }), isLongRun ? 200 : 80);
  } finally {
    dir.remove();
  }
});

const missing = etcdMissing();

test.skipIf(missing !== undefined).each([
  { members: 1, runs: isLongRun ? 20 : 8 },
  { members: 3, runs: isLongRun ? 8 : 4 },
])(
  'etcd with $members members gives the same answers as the model for every random history',
  async ({ members, runs }) => {
    const etcd = await startEtcd({ members });
    try {
      await expectSameAnswers(await openEtcdStore({ endpoints: etcd.endpoints, name: 'model' }), runs);
    } finally {
      await etcd.stop();
    }
  },
  60_000 + 5_000 * Number(process.env['GANTRY_MODEL_RUNS'] ?? 0),
);
