// What a member publishes of itself, and that it ends soon when its daemon stops while its store is away.
import { expect, test } from 'vitest';
import { type StatusCode, statusCodes } from '../../../server/api/status.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Presence } from '../../../server/membership/presence.ts';
import { statusKey } from '../../../server/membership/signals.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { Store } from '../../../server/store/store.ts';

/** Its leases end with their time to live only, which does not come. */
function silentStore(): Store {
  const store = openMemoryStore();
  const never = new Promise<never>(() => {});
  return new Proxy(store, {
    get: (target, key) =>
      key === 'lease'
        ? async (ttl: number) => ({ ...(await target.lease(ttl)), lost: never, revoke: () => never })
        : (Reflect.get(target, key) as () => unknown).bind(target),
  });
}

const presenceOf = (store: Store, statusOf: (name: string) => StatusCode = () => statusCodes.stopped): Presence =>
  new Presence({
    store,
    member: 1,
    ttlSeconds: () => 20,
    present: () => ({ load: {} }) as never,
    containers: () => ['a', 'b'],
    statusOf,
    log: silentLog,
    spreadMs: () => 0,
    isFenced: () => false,
    beforePublishing: async () => {},
  });

test('a member stops within seconds while its store does not answer', async () => {
  const presence = presenceOf(silentStore());
  await presence.start();
  const begun = performance.now();
  await presence.stop();
  expect(performance.now() - begun).toBeLessThan(60_000);
});

test('the others see a status whenever it changes, also at the end of publishing another one', async () => {
  for (let turns = 0; turns < 10; turns += 1) {
    const store = openMemoryStore();
    const running = new Set<string>();
    const presence = presenceOf(store, (name) => (running.has(name) ? statusCodes.running : statusCodes.stopped));
    await presence.start();
    const run = (name: string): Promise<void> => {
      running.add(name);
      presence.mark(name);
      return presence.flush();
    };
    let isSeen = Promise.resolve();
    const txn = store.txn.bind(store);
    store.txn = async (...of) => {
      store.txn = txn;
      const done = await txn(...of);
      isSeen = (async () => {
        for (let count = 0; count < turns; count += 1) await Promise.resolve();
        await run('b');
      })();
      return done;
    };
    await run('a');
    await isSeen;
    expect([turns, await store.get(statusKey(1, 'b'))]).toEqual([turns, expect.anything()]);
    await presence.stop();
  }
});
