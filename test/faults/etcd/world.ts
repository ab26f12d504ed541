// An etcd of three members under a store with writers and a watcher, and the invariants after any fault.
import { setTimeout as sleep } from 'node:timers/promises';
import { openEtcdStore } from '../../../server/store/etcd/etcd.ts';
import { errorText } from '../../../server/lib/shared/reason.ts';
import { type Rev, type Store, StoreError } from '../../../server/store/store.ts';
import { openRelay, type Relay } from '../../support/store/cuttable.ts';
import { startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { bytes, put, text } from '../../support/store/watching.ts';
import { until } from '../../support/until.ts';

export interface EtcdWorld {
  readonly etcd: TestEtcd;
  /** One relay in front of each member. */
  readonly relays: readonly Relay[];
  readonly store: Store;
  /** Writers with separate fences. */
  readonly writers: readonly Store[];
  close(): Promise<void>;
}

export async function openEtcdWorld(): Promise<EtcdWorld> {
  const etcd = await startEtcd({ members: 3 });
  const relays: Relay[] = [];
  const writers: Store[] = [];
  try {
    for (const endpoint of etcd.endpoints) relays.push(await openRelay(endpoint));
    const endpoints = relays.map(({ address }) => address);
    const store = await openEtcdStore({ endpoints, name: 'faults', attemptMs: 700 });
    for (let n = 0; n < writerCount; n += 1)
      writers.push(await openEtcdStore({ endpoints, name: 'faults', attemptMs: 700, writer: `writer-${n}` }));
    const close = async (): Promise<void> => {
      await Promise.all([store, ...writers].map((each) => each.close()));
      for (const relay of relays) relay.close();
      await etcd.stop();
    };
    return { etcd, relays, store, writers, close };
  } catch (error) {
    for (const relay of relays) relay.close();
    await etcd.stop();
    throw error;
  }
}

const writerCount = 4;
/** Writing faster would show no more. */
const betweenWritesMs = 5;
const parts = ['a', 'b', 'c'] as const;

export interface Verdict {
  readonly acknowledged: number;
  /** One line each: lost, torn, or applied although it was refused. */
  readonly wrong: readonly string[];
  /** Count of writes with an unknown outcome. */
  readonly unknown: number;
}

/** Writes before, during and after the fault, then compares the store with the answers and with what a watcher has seen. */
export async function underFault(world: EtcdWorld, round: string, fault: () => Promise<void>): Promise<Verdict> {
  const { store } = world;
  const acked = new Map<string, Rev>();
  const refused = new Set<string>();
  const wrong: string[] = [];
  let unknown = 0;
  const over = new AbortController();
  const watcher = startWatcher(store, (await store.range('')).rev);
  const writeOn = async (own: Store, writer: number): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n++) {
      const log = `/log/${round}/${writer}/${n}`;
      const value = JSON.stringify({ n, round, filler: 'x'.repeat(500) });
      try {
        const { rev } = await own.txn([], [...parts.map((part) => put(`/w/${writer}/${part}`, value)), put(log)]);
        acked.set(log, rev);
      } catch (error) {
        if (!(error instanceof StoreError)) wrong.push(`${log}: ${errorText(error)}`);
        else if (error.code === 'Unknown') unknown += 1;
        else if (error.code === 'Unavailable') refused.add(log);
        else wrong.push(`${log}: ${error.code} ${errorText(error)}`);
      }
      await sleep(betweenWritesMs);
    }
  };
  const running = world.writers.map(writeOn);
  const goesOn = async (): Promise<void> => {
    const { size } = acked;
    await until(() => acked.size > size + 20);
  };
  await goesOn();
  await fault();
  await goesOn();
  over.abort();
  await Promise.all(running);
  const last = await store.txn([], [{ put: '/end', value: bytes(round) }]);
  await until(() => watcher.rev() >= last.rev);
  await watcher.stop();
  const { records } = await store.range('');
  const found = new Map(records.map(({ key, modRev, value }) => [key, { modRev, text: text(value) }]));
  for (const [key, rev] of acked) if (found.get(key)?.modRev !== rev) wrong.push(`${key} was acknowledged and is lost`);
  for (const key of refused) if (found.has(key)) wrong.push(`${key} was refused and is there`);
  for (let writer = 0; writer < writerCount; writer++) {
    const values = new Set(parts.map((part) => found.get(`/w/${writer}/${part}`)?.text));
    if (values.size > 1) wrong.push(`the last transaction of writer ${writer} is torn`);
  }
  wrong.push(...watcher.wrong);
  for (const [key, { modRev }] of found)
    if (watcher.view.get(key) !== modRev) wrong.push(`the watcher has not seen ${key} of revision ${modRev}`);
  for (const key of watcher.view.keys()) if (!found.has(key)) wrong.push(`the watcher has not seen the end of ${key}`);
  return { acknowledged: acked.size, wrong, unknown };
}

interface Watcher {
  /** Revision of each key. */
  readonly view: ReadonlyMap<string, Rev>;
  readonly wrong: readonly string[];
  readonly rev: () => Rev;
  readonly stop: () => Promise<void>;
}

/** Maintains a view like a reader: reads everything, follows, and re-reads after a compaction. */
function startWatcher(store: Store, from: Rev): Watcher {
  const view = new Map<string, Rev>();
  const wrong: string[] = [];
  const abort = new AbortController();
  let seen = from;
  const readAll = async (): Promise<void> => {
    const { rev, records } = await store.range('');
    view.clear();
    for (const { key, modRev } of records) view.set(key, modRev);
    seen = rev;
  };
  const follow = async (): Promise<void> => {
    for await (const { rev, events } of store.watch('', seen + 1, abort.signal)) {
      if (rev <= seen) wrong.push(`the watcher saw revision ${rev} after ${seen}`);
      seen = rev;
      for (const event of events) {
        if (event.type === 'del') view.delete(event.key);
        else view.set(event.record.key, event.record.modRev);
      }
    }
  };
  const run = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      try {
        await readAll();
        await follow();
      } catch (error) {
        const isKnown = error instanceof StoreError && (error.code === 'Compacted' || error.code === 'Unavailable');
        if (!isKnown) wrong.push(`the watch ended: ${errorText(error)}`);
      }
    }
  };
  const running = run();
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  return { view, wrong, rev: () => seen, stop };
}
