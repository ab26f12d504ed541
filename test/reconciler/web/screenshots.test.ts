// The screenshots of docs/page show the page as it is, loosely: `npm run page:screenshots` takes them again.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../../support/build-daemon.ts';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { screenshots, screenshotWorld, takeScreenshot } from '../../support/page/screenshots.ts';
import { PageHarness } from '../../support/page/visit.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

const folder = join(repositoryRoot, 'docs/page');
/** Mean difference of blurred pixels, of 255: fonts and versions of Chromium give some, another view gives more. */
const maxDifference = 16;

/** Both pictures as 24 by 16 blocks, compared in the browser, which can read PNG. */
const difference = (before: Buffer, now: Buffer): string => `(async () => {
  const blocks = async (data) => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const canvas = new OffscreenCanvas(24, 16);
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, 24, 16);
    return { size: [image.width, image.height], pixels: context.getImageData(0, 0, 24, 16).data };
  };
  const [before, now] = [await blocks('${before.toString('base64')}'), await blocks('${now.toString('base64')}')];
  const sum = before.pixels.reduce((all, value, at) => all + Math.abs(value - now.pixels[at]), 0);
  return { sizes: [before.size, now.size], mean: sum / before.pixels.length };
})()`;

describe.skipIf(chromiumPath === undefined)('screenshots', () => {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());

  test.each(screenshots)('$name in docs/page shows the page', async (each) => {
    const server = await harness.serve(screenshotWorld());
    const { page, close } = await harness.open(server);
    try {
      const now = await takeScreenshot(harness.browser, server, each);
      const file = join(folder, `${each.name}.png`);
      if (process.env['UPDATE'] === '1') {
        mkdirSync(folder, { recursive: true });
        writeFileSync(file, now);
      }
      expect(existsSync(file)).toBe(true);
      const found = (await page.evaluate(difference(readFileSync(file), now))) as { sizes: number[][]; mean: number };
      expect(found.sizes[0]).toEqual(found.sizes[1]);
      expect(found.mean).toBeLessThan(maxDifference);
      expect(now.length).toBeLessThan(150_000);
    } finally {
      await close();
      await server.stop();
    }
  });
});
