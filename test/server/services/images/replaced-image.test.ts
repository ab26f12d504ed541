// A refresh that a crash cuts off between any two writes: the image is as it was, or the newer one has taken its place.
import { expect, test } from 'vitest';
import { systemClock } from '../../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { Sagas } from '../../../../server/operations/saga.ts';
import { Records } from '../../../../server/records/records.ts';
import type { ImageStoreDeps } from '../../../../server/services/images/image-deps.ts';
import { ImageRefresh, type ImageRefreshDeps } from '../../../../server/services/images/image-refresh.ts';
import { ImageStore } from '../../../../server/services/images/image-store.ts';
import { ImageUsers } from '../../../../server/services/images/image-users.ts';
import { deleteImageSaga } from '../../../../server/services/images/sagas/image-delete.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import type { Store } from '../../../../server/store/store.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { imageRecord } from '../../../support/fakes/records.ts';

const [older, newer] = ['a'.repeat(64), 'b'.repeat(64)];
const document = imageRecord({
  source: { server: 'https://images.example', protocol: 'simplestreams', certificate: '', alias: 'a' },
});
const dir = tempFolder('gantry-replaced-image-');

function partsOf(records: Records) {
  const signal = new AbortController().signal;
  const pools = { forgetImage: () => Promise.resolve() };
  const parts = { records, pools, users: new ImageUsers(), dir } as unknown as ImageStoreDeps;
  const sagas = new Sagas({
    records,
    clock: systemClock(),
    log: silentLog,
    table: { 'image-delete': deleteImageSaga(parts) },
  });
  const events = { lifecycle: () => {} };
  const members: Pick<ImageStoreDeps['members'], 'removeAll'> = {
    removeAll: async (image, removeHere) => {
      if (records.images.has(image)) await removeHere(signal);
    },
  };
  const images = new ImageStore({ ...parts, sagas, locks: new KeyedMutex(), events, members } as never);
  let refreshed: Promise<unknown> = Promise.resolve();
  const operations = {
    start: ({ run }: { run: (handle: object, signal: AbortSignal) => Promise<unknown> }) => {
      refreshed = run({ update: () => {} }, signal);
      return { id: '' };
    },
  };
  const pulls = { find: async () => ({ fingerprint: newer }), fetch: async () => ({}) };
  const refresh = new ImageRefresh({ records, images, pulls, operations, events } as unknown as ImageRefreshDeps);
  const run = async (): Promise<void> => {
    refresh.refresh(daemonCaller, older);
    await refreshed;
  };
  return { sagas, run };
}

/** Refuses all writes after the first ones, as if the daemon were dead. */
function mortal(store: Store, writes: number): Store {
  let left = writes;
  const txn: Store['txn'] = async (...all) => {
    if (left === 0) throw new Error('the daemon is dead');
    left -= 1;
    return store.txn(...all);
  };
  return new Proxy(store, {
    get: (target, key) => (key === 'txn' ? txn : (Reflect.get(target, key) as () => unknown).bind(target)),
  });
}

test('a refresh that is cut off by a crash is finished or undone at the next start', async () => {
  const found = new Set<string>();
  for (let writes = 0; writes < 5; writes += 1) {
    const store = openMemoryStore();
    await (
      await Records.open(store)
    ).commit((changes) => {
      for (const name of [older, newer]) changes.put('images', name, document);
      changes.put('aliases', 'stable', { v: 1, description: '', target: older });
    });
    const dying = partsOf(await Records.open(mortal(store, writes)));
    await dying.run().catch(() => {});
    await dying.sagas.close();
    const records = await Records.open(store);
    const { sagas } = partsOf(records);
    await sagas.recover();
    await sagas.close();
    const target = records.aliases.get('stable')?.document.target;
    const left = records.images.list().map(({ name, document: { lifecycle } }) => `${name.slice(0, 1)} ${lifecycle}`);
    found.add(JSON.stringify([left, target?.slice(0, 1)]));
  }
  expect([...found]).toEqual([JSON.stringify([['a ready', 'b ready'], 'a']), JSON.stringify([['b ready'], 'b'])]);
});
