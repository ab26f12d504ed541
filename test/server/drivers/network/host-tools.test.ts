// The programs of networks on the host: ends, and what they leave at their signal.
import { getEventListeners } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findTool, runTool } from '../../../../server/drivers/network/host-tools.ts';
import { until } from '../../../support/until.ts';

const missing = await findTool('ip').then(
  () => undefined,
  (error: Error) => error.message,
);
if (missing !== undefined) console.log(`skipped: programs of networks: ${missing}`);

describe.runIf(missing === undefined)('ip', () => {
  test('many runs with one signal add one listener to it, and end with its reason', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const control = new AbortController();
    // It lists events until it is killed.
    const runs = Array.from({ length: 12 }, () => runTool('ip', ['monitor', 'link'], {}, control.signal));
    const ends = Promise.allSettled(runs);
    await until(() => getEventListeners(control.signal, 'abort').length > 0);
    await Promise.all(Array.from({ length: 12 }, () => runTool('ip', ['-V'], {}, control.signal)));
    expect(getEventListeners(control.signal, 'abort')).toHaveLength(1);
    control.abort(new Error('enough'));
    expect((await ends).map((end) => end.status === 'rejected' && (end.reason as Error).message)).toEqual(
      runs.map(() => 'enough'),
    );
    expect(warnings).toEqual([]);
  });
});
