// Old history is removed from etcd by the writer of the store, and alarms of etcd reach the log once.
import { expect, test } from 'vitest';
import type { Log } from '../../../../server/lib/log.ts';
import { compactTo, Compactor } from '../../../../server/store/etcd/compactor.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { etcdMissing, startEtcd } from '../../../support/store/etcd.ts';
import { put } from '../../../support/store/watching.ts';

const missing = etcdMissing();

test.each([
  [5_000, undefined, undefined],
  [5_000, 4_500, 4_000],
  [5_000, 3_000, 3_000],
  [900, 800, undefined],
])('at revision %i, %s at the run before, history is kept from %s on', (rev, earlier, keepFrom) => {
  expect(compactTo(rev, earlier)).toBe(keepFrom);
});

test.skipIf(missing !== undefined)(
  'a run removes what the run before had already seen, and tells of an alarm once',
  async () => {
    const etcd = await startEtcd({ flags: ['--quota-backend-bytes', String(8 * 1024 * 1024)] });
    const lines: string[] = [];
    const write = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
    const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const store = await openEtcdStore({ endpoints: etcd.endpoints, name: 'compact', totalMs: 60_000 });
    const compactor = new Compactor({ store, log, everyMs: 3_600_000 });
    try {
      // Not all at once: a transaction that waits for too long fails.
      const writeTimes = async (times: number): Promise<void> => {
        for (let done = 0; done < times; done += 50)
          await Promise.all(Array.from({ length: 50 }, () => store.txn([], [put('/a')])));
      };
      await writeTimes(1_500);
      await compactor.run();
      expect((await store.status()).compactRev).toBe(0);
      await writeTimes(100);
      await compactor.run();
      const { rev, compactRev } = await store.status();
      expect(compactRev).toBe(rev - 1_000);
      expect(lines).toEqual([]);

      const value = new Uint8Array(500_000);
      const fill = async (): Promise<never> => {
        for (let n = 0; ; n++) await store.txn([], [{ put: `/fill/${n}`, value }]);
      };
      await expect(fill()).rejects.toMatchObject({ code: 'NoSpace' });
      await compactor.run();
      await compactor.run();
      expect(lines).toEqual([expect.stringMatching(/^error: etcd has raised the alarm NOSPACE \([0-9.]+ MB of/)]);
      etcd.ctl('alarm', 'disarm');
      await compactor.run();
      expect(lines.slice(1)).toEqual(['info: The alarm NOSPACE of etcd has ended']);

      await etcd.kill(0);
      await store.close();
      await compactor.run();
      expect(lines.at(-1)).toMatch(/^warn: Removing old history from etcd failed/);
    } finally {
      await compactor.stop();
      await store.close();
      await etcd.stop();
    }
  },
);
