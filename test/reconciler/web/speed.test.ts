// The speed of the page with 10,000 objects while events arrive: loosely here, for busy machines; `npm run bench -- --only page` measures.
import { gzipSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { measureFrames, measureInteractions, measurePaint, useList } from '../../support/page/measure.ts';
import { startStorm } from '../../support/page/storm.ts';
import { PageHarness } from '../../support/page/visit.ts';
import { largeWorld } from '../../support/page/worlds.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

describe.skipIf(chromiumPath === undefined)('with 10,000 objects', () => {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());

  test('the page paints soon, and frames stay short while 500 events a second arrive', async () => {
    const visit = await harness.visit(largeWorld(), { place: '#/sets/web' });
    const end = startStorm(visit.server, 500);
    try {
      await visit.page.getByText('10,000 objects', { exact: true }).waitFor();
      expect(await visit.page.locator('.virtual-row').count()).toBeLessThan(60);
      expect(await measurePaint(visit.page)).toBeLessThan(5000);
      const acts = await measureInteractions(visit.page, () => useList(visit.page));
      expect(acts.count).toBeGreaterThan(30);
      const list = await measureFrames(visit.page, 1500);
      await visit.page.goto(`${visit.server.url}#/sets/web/graph?group=object`);
      await visit.page.locator('.graph[aria-busy=false]').waitFor();
      const graph = await measureFrames(visit.page, 1500);
      console.log(
        `work in a frame, median and 95th percentile: list ${list.text}, graph ${graph.text}; until an interaction is painted: ${acts.text}`,
      );
      expect(acts.median).toBeLessThan(200);
      expect(list.median).toBeLessThan(50);
      expect(graph.median).toBeLessThan(100);
      expect(visit.complaints).toEqual([]);
    } finally {
      end();
      await visit.close();
    }
  });

  test('the files that a browser loads are below 300 KB, and the terminal is not part of the start', () => {
    const assets = readdirSync(join(harness.folder, 'assets'));
    const size = (name: string): number => gzipSync(readFileSync(join(harness.folder, 'assets', name))).length;
    expect(assets.reduce((sum, name) => sum + size(name), 0)).toBeLessThan(300_000);
    const start = assets.filter((name) => !name.startsWith('terminal'));
    expect(start.length).toBeLessThan(assets.length);
    expect(start.reduce((sum, name) => sum + size(name), 0)).toBeLessThan(60_000);
    expect(readFileSync(join(harness.folder, 'index.html'), 'utf8')).not.toMatch(/https?:|<style|<script>/);
  });
});
