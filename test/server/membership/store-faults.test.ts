// The short form of `npm run faults -- cluster` on the store alone: several writers of one etcd, one round of each fault.
import { expect, test } from 'vitest';
import { storeFaultNames } from '../../faults/cluster/store-faults.ts';
import { runStoreFaults } from '../../faults/cluster/suite.ts';
import { faultFailures } from '../../faults/report.ts';
import { seededRandom } from '../../support/random.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

const missing = etcdMissing();

test.skipIf(missing !== undefined)(
  'several writers of one etcd lose nothing and read nothing stale while members die and ways are cut',
  async ({ signal }) => {
    const random = seededRandom();
    const rounds = storeFaultNames.length;
    const figures = await runStoreFaults({ rounds, random, gantryd: '', say: console.log, signal });
    const failures = faultFailures(figures.map((each) => ({ suite: 'cluster', ...each })));
    expect(failures, `GANTRY_SEED=${random.seed}`).toEqual([]);
    expect(figures.map(({ acknowledged }) => acknowledged >= 50)).toEqual(figures.map(() => true));
  },
  180_000,
);
