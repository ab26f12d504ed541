// The screenshots of docs/page: which place of which world, how wide, in which theme. `npm run page:screenshots` writes them.
import type { Browser } from 'playwright-core';
import type { PageServer } from './server.ts';
import { smallWorld, type PageWorld } from './worlds.ts';

export const screenshots = [
  { name: 'overview', place: '', width: 1100, height: 700, theme: 'light' },
  { name: 'graph', place: '#/sets/web/graph?host=node01', width: 1100, height: 700, theme: 'dark' },
  { name: 'graph-phone', place: '#/sets/web/graph?host=node01', width: 390, height: 700, theme: 'light' },
  { name: 'object-phone', place: '#/sets/web?object=node01+container%2Fweb1', width: 360, height: 700, theme: 'light' },
] as const;

/** The same picture each time: a world that starts at this moment, seen a second later. */
const moment = Date.parse('2026-03-02T10:15:00Z');

export async function takeScreenshot(
  browser: Browser,
  server: PageServer,
  { place, width, height, theme }: (typeof screenshots)[number],
): Promise<Buffer> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  try {
    const page = await context.newPage();
    await page.clock.setFixedTime(moment + 1000);
    await page.goto(server.url + place);
    await page.getByText('Live', { exact: true }).first().waitFor();
    await page.locator('main h1').first().waitFor();
    if (place.includes('graph')) await page.locator('.graph[aria-busy=false]').waitFor();
    if (place.includes('graph')) await page.locator('.graph').scrollIntoViewIfNeeded();
    if (place.includes('object=')) await page.locator('.drawer .differences').waitFor();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    return await page.screenshot();
  } finally {
    await context.close();
  }
}

export const screenshotWorld = (): PageWorld => smallWorld(moment);
