// The short form of `npm run faults -- power-cut`: a few power cuts while clients write.
import { expect, test } from 'vitest';
import { faultFailures } from '../../faults/report.ts';
import { powerCutSuite, runPowerCuts } from '../../faults/power-cut/suite.ts';
import { bundleDaemon } from '../../support/daemons/child-process.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';

const missing = await powerCutSuite.missing();
if (missing !== undefined) console.log(`skipped: power cuts: ${missing}`);

const bundle = bundleDaemon();

test.skipIf(missing !== undefined)(
  'everything that a daemon has acknowledged survives a power cut',
  async ({ signal }) => {
    const random = seededRandom();
    // One of each group of writers; six of each with GANTRY_LONG=1.
    const [rounds, cutsOfDisk] = isLongRun ? [12, 3] : [2, 1];
    const context = { rounds, random, gantryd: bundle.entry, say: console.log, signal };
    const figures = await runPowerCuts(context, cutsOfDisk);
    const failures = faultFailures(figures.map((each) => ({ suite: 'power-cut', ...each })));
    expect(failures, `GANTRY_SEED=${random.seed}`).toEqual([]);
    for (const { what, acknowledged } of figures) expect(acknowledged, `acknowledged ${what}`).toBeGreaterThan(0);
  },
  isLongRun ? 360_000 : 120_000,
);
