// The presence of a member whose store is away ends soon when its daemon stops.
import { expect, test } from 'vitest';
import { statusCodes } from '../../../server/api/status.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Presence } from '../../../server/membership/presence.ts';
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

test('a member stops within seconds while its store does not answer', async () => {
  const presence = new Presence({
    store: silentStore(),
    member: 1,
    ttlSeconds: () => 20,
    present: () => ({}) as never,
    containers: () => [],
    statusOf: () => statusCodes.stopped,
    log: silentLog,
    spreadMs: () => 0,
    isFenced: () => false,
    beforePublishing: async () => {},
  });
  await presence.start();
  const begun = performance.now();
  await presence.stop();
  expect(performance.now() - begun).toBeLessThan(8000);
}, 10_000);
