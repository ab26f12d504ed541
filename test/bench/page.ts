// The page with 10,000 objects in Chromium: its first paint, how soon it answers, and the work of a frame while events arrive. Uses a made-up controller.
import { chromiumPath, noChromium } from '../support/page/browser.ts';
import { measureFrames, measureInteractions, measurePaint, useList } from '../support/page/measure.ts';
import { startStorm } from '../support/page/storm.ts';
import { PageHarness } from '../support/page/visit.ts';
import { largeWorld } from '../support/page/worlds.ts';
import type { BenchContext, Group } from './group.ts';
import type { Row } from './report.ts';

const rounds = 5;
const eventsPerSecond = 500;

export const pageGroup: Group = async ({ say, signal }: BenchContext): Promise<readonly Row[]> => {
  if (chromiumPath === undefined) {
    say(`skipped: page: ${noChromium}`);
    return [];
  }
  const samples = { paint: [] as number[], act: [] as number[], list: [] as number[], graph: [] as number[] };
  const harness = await PageHarness.start();
  try {
    for (let round = 0; round < rounds; round++) {
      signal.throwIfAborted();
      const visit = await harness.visit(largeWorld(), { place: '#/sets/web' });
      const end = startStorm(visit.server, eventsPerSecond);
      try {
        await visit.page.getByText('10,000 objects', { exact: true }).waitFor();
        samples.paint.push(await measurePaint(visit.page));
        samples.act.push((await measureInteractions(visit.page, () => useList(visit.page))).p95);
        await visit.page.keyboard.press('Escape');
        samples.list.push((await measureFrames(visit.page, 3000)).p95);
        await visit.page.goto(`${visit.server.url}#/sets/web/graph?host=*`);
        await visit.page.locator('.graph[aria-busy=false]').waitFor();
        samples.graph.push((await measureFrames(visit.page, 3000)).p95);
      } finally {
        end();
        await visit.close();
      }
    }
  } finally {
    await harness.end();
  }
  return [
    row('first paint', samples.paint, 500),
    row(`from an interaction to its painting, 95th percentile, list, ${eventsPerSecond} events/s`, samples.act, 50),
    row(`work in a frame, 95th percentile, list, ${eventsPerSecond} events/s`, samples.list, 16),
    row(`work in a frame, 95th percentile, graph, ${eventsPerSecond} events/s`, samples.graph, 16),
  ];
};

const row = (what: string, samples: readonly number[], atMost: number): Row => ({
  group: 'page',
  what: `page of 10,000 objects: ${what}`,
  unit: 'ms',
  atMost,
  samples: { page: samples },
});
