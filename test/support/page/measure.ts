// Measures the page in the browser: when it first painted, and how long the work of each frame takes.
import type { Page } from 'playwright-core';

/** Milliseconds from the start of the load to the first content. */
export const measurePaint = (page: Page): Promise<number> =>
  page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`);

export interface Frames {
  readonly count: number;
  readonly median: number;
  readonly p95: number;
  readonly text: string;
}

/** The work of frames: from the start of one, through our code, style and layout, to the next task after its painting. */
export async function measureFrames(page: Page, time: number): Promise<Frames> {
  const works = (await page.evaluate(`new Promise((done) => {
    const works = [];
    const end = performance.now() + ${time};
    const channel = new MessageChannel();
    let start = 0;
    channel.port1.onmessage = () => {
      works.push(performance.now() - start);
      if (performance.now() < end) requestAnimationFrame(frame);
      else done(works);
    };
    const frame = (at) => {
      start = Math.min(at, performance.now());
      channel.port2.postMessage(0);
    };
    requestAnimationFrame(frame);
  })`)) as number[];
  return summed(works, 'frames');
}

function summed(times: readonly number[], what: string): Frames {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  const [median, p95] = [at(0.5), at(0.95)];
  return {
    count: times.length,
    median,
    p95,
    text: `${median.toFixed(1)} and ${p95.toFixed(1)} ms (${times.length} ${what})`,
  };
}

/** From each key, click and turn of the wheel until what it changed is painted, while `act` uses the page. */
export async function measureInteractions(page: Page, act: () => Promise<void>): Promise<Frames> {
  await page.evaluate(`{
    const times = (window.interactions = []);
    const stop = (window.interactionsEnd = new AbortController());
    for (const type of ['keydown', 'click', 'wheel', 'change'])
      addEventListener(type, ({ timeStamp }) => {
        requestAnimationFrame(() => {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => times.push(performance.now() - timeStamp);
          channel.port2.postMessage(0);
        });
      }, { capture: true, passive: true, signal: stop.signal });
  }`);
  await act();
  const times = (await page.evaluate(`window.interactionsEnd.abort(), window.interactions`)) as number[];
  return summed(times, 'interactions');
}

/** The pace of a fast person, since a flood of keys would measure its own queue. */
const paceMs = 50;

/** Uses the list of a set like a person: searches, moves, opens objects, scrolls, filters. */
export async function useList(page: Page): Promise<void> {
  const press = async (key: string, times: number): Promise<void> => {
    for (let at = 0; at < times; at++) {
      await page.keyboard.press(key);
      await page.waitForTimeout(paceMs);
    }
  };
  await page.getByRole('searchbox').first().click();
  await page.keyboard.type('web4 node0', { delay: paceMs });
  await press('Backspace', 10);
  await page.locator('.virtual').focus();
  await press('ArrowDown', 10);
  await press('Enter', 1);
  await page.locator('.drawer-body section').first().waitFor();
  await press('Escape', 1);
  await page.locator('.virtual').hover();
  for (let at = 0; at < 10; at++) {
    await page.mouse.wheel(0, 900);
    await page.waitForTimeout(paceMs);
  }
  for (const status of ['failed', 'drifted', '']) await page.getByLabel('Status').selectOption(status);
}
