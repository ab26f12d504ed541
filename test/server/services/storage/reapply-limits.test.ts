// The limits that the daemon sets again at its start: those that differ, each on its own.
import { expect, test } from 'vitest';
import type { VolumeRef } from '../../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { reapplyLimits } from '../../../../server/services/storage/reapply-limits.ts';

test('a volume whose size cannot be set again is named, and the others get theirs', async () => {
  const [set, warnings]: [string[], string[]] = [[], []];
  const volumes = ['full', 'right', 'wrong'].map((name) => ({
    name: `p/${name}`,
    document: { lifecycle: 'ready', config: { size: '10MiB' } },
  }));
  const driver = {
    limitsIn: async () => (volume: VolumeRef) => (volume.name === 'right' ? 10 * 1_048_576 : undefined),
    limitVolume: async (_pool: unknown, { name }: VolumeRef, bytes: number) => {
      if (name === 'full') throw new Error('its files need more');
      set.push(`${name} ${bytes}`);
    },
  };
  await reapplyLimits({
    records: {
      pools: { list: () => [{ name: 'p' }] },
      containers: { list: () => [] },
      volumes: { list: () => volumes },
    },
    pools: { use: () => ({ driver, pool: { name: 'p', driver: 'lvm', config: {} } }), canLimit: () => true },
    log: { ...silentLog, warn: (text: string) => void warnings.push(text) },
  } as unknown as Parameters<typeof reapplyLimits>[0]);
  expect(set).toEqual(['wrong 10485760']);
  expect(warnings).toEqual([
    'The limit of the custom volume full of the storage pool p cannot be set again: its files need more',
  ]);
});
