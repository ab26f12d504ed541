// The short form of `npm run faults -- power-cut`: a few power cuts while clients write.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultFailures } from '../../faults/report.ts';
import { powerCutSuite } from '../../faults/power-cut/suite.ts';
import { bundleDaemon, type Bundle } from '../../support/daemons/child-process.ts';
import { seededRandom } from '../../support/random.ts';

const missing = await powerCutSuite.missing();
if (missing !== undefined) console.log(`skipped: power cuts: ${missing}`);

let bundle: Bundle;
beforeAll(() => {
  bundle = bundleDaemon();
});
afterAll(() => bundle.remove());

test.skipIf(missing !== undefined)(
  'everything that a daemon has acknowledged survives a power cut',
  async ({ signal }) => {
    const random = seededRandom();
    const figures = await powerCutSuite.run({ rounds: 6, random, gantryd: bundle.entry, say: console.log, signal });
    const failures = faultFailures(figures.map((each) => ({ suite: 'power-cut', ...each })));
    expect(failures, `GANTRY_SEED=${random.seed}`).toEqual([]);
    for (const { what, acknowledged } of figures) expect(acknowledged, `acknowledged ${what}`).toBeGreaterThan(0);
  },
  120_000,
);
