// The pools of a host at the start of the daemon.
import { expect, test } from 'vitest';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { PoolWatch, type PoolWatchDeps } from '../../../../server/services/storage/pool-watch.ts';

test('a pool that hangs does not delay the others', async () => {
  const mounted: string[] = [];
  let end = (): void => {};
  const hanging = new Promise<void>((resolve) => (end = resolve));
  const mountPool = async (pool: string): Promise<void> => {
    if (pool === 'ceph') await hanging;
    mounted.push(pool);
    if (mounted.length === 2) end();
  };
  const deps = {
    records: { pools: { list: () => ['ceph', 'dir', 'zfs'].map((name) => ({ name })) }, volumes: { list: () => [] } },
    pools: { use: (pool: string) => ({ driver: { mountPool }, pool }) },
    locks: new KeyedMutex(),
    log: silentLog,
  } as unknown as PoolWatchDeps;
  await new PoolWatch(deps).mountAll();
  expect(mounted).toEqual(['dir', 'zfs', 'ceph']);
});
