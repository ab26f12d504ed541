// A visit to the page in Chromium: opens it, collects complaints of the browser, and runs axe.
import { readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { buildPage, launchChromium } from './browser.ts';
import { PageServer, type PageServerOptions } from './server.ts';
import type { PageWorld } from './worlds.ts';

export interface OpenPage {
  readonly page: Page;
  /** Errors, exceptions and what the content security policy refused. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface Visit extends OpenPage {
  readonly server: PageServer;
}

export interface VisitOptions {
  readonly place?: string;
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  readonly anonymous?: PageServerOptions['anonymous'] | 'nobody';
}

/** One browser and one build for the tests of a file. */
export class PageHarness {
  readonly browser: Browser;
  readonly folder: string;

  private constructor(browser: Browser, folder: string) {
    this.browser = browser;
    this.folder = folder;
  }

  static async start(): Promise<PageHarness> {
    const folder = await buildPage();
    return new PageHarness(await launchChromium(), folder);
  }

  async end(): Promise<void> {
    await this.browser.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async serve(world: PageWorld, anonymous: VisitOptions['anonymous'] = 'operate'): Promise<PageServer> {
    const server = new PageServer({ world, folder: this.folder, ...(anonymous !== 'nobody' && { anonymous }) });
    await server.start();
    return server;
  }

  async open(server: { readonly url: string }, options: VisitOptions = {}): Promise<OpenPage> {
    const { place = '', width = 1200, height = 800, theme = 'light' } = options;
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // Chromium logs refused and interrupted requests as errors, but only the page's reaction to them matters here.
      if (message.type() === 'error' && !/Failed to load resource|ERR_|WebSocket/.test(message.text()))
        complaints.push(message.text());
    });
    await goTo(page, server.url + place);
    return { page, complaints, close: () => context.close() };
  }

  async visit(world: PageWorld, options: VisitOptions = {}): Promise<Visit> {
    const server = await this.serve(world, options.anonymous);
    const visit = await this.open(server, options);
    const close = async (): Promise<void> => {
      await visit.close();
      await server.stop();
    };
    return { ...visit, server, close };
  }
}

/** Chromium gives up a request when an interface of the host comes or goes, as those of other tests do. */
async function goTo(page: Page, url: string): Promise<void> {
  for (;;)
    try {
      await page.goto(url);
      return;
    } catch (error) {
      if (!String(error).includes('ERR_NETWORK_CHANGED')) throw error;
    }
}

/** Resolves when all animations have ended, except endless spinners and elements that were removed. Those of what has just changed begin with the next frame. */
const settled = (page: Page): Promise<unknown> =>
  page.evaluate(`new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)))
    .then(() => Promise.allSettled(document.getAnimations()
      .filter((each) => each.effect.getComputedTiming().endTime !== Infinity).map((each) => each.finished)))`);

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds against WCAG 2.2 A and AA: a line each. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await settled(page);
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(`${axeSource}; undefined`);
  return page.evaluate(`axe
    .run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 5).map((node) => id + ': ' + node.html.slice(0, 160) + ' ' + node.failureSummary.replaceAll('\\n', ' '))))`);
}

/** Elements that stick out to the right of the window. */
export const sidewaysScroll = (page: Page): Promise<number> =>
  page.evaluate(`Math.max(
    document.documentElement.scrollWidth - innerWidth,
    ...[...document.querySelectorAll('main, .drawer-body, dialog')].map((each) => each.scrollWidth - each.clientWidth))`);
