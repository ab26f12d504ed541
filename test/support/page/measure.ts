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
  const sorted = works.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  const [median, p95] = [at(0.5), at(0.95)];
  return {
    count: works.length,
    median,
    p95,
    text: `${median.toFixed(1)} and ${p95.toFixed(1)} ms (${works.length} frames)`,
  };
}
