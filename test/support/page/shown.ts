// All that the page of a controller shows and receives in Chromium: the document with its attributes and fields, what it draws and logs, storage,
// cookies, and the requests and responses of every view of a set.
import type { Browser, Page, Request, Response } from 'playwright-core';
import { until } from '../until.ts';

/** By the place where it was found. */
export type Shown = ReadonlyMap<string, string>;

export interface ShownOf {
  readonly url: string;
  readonly token: string;
  readonly set: string;
  readonly host: string;
  readonly container: string;
  /** Addresses of objects of the set. */
  readonly objects: readonly string[];
  readonly branch: string;
}

interface View {
  readonly place: string;
  readonly act?: (page: Page) => Promise<void>;
}

/** Every view of the page that shows something of the set. */
export function viewsOf({ set, host, container, objects, branch }: Omit<ShownOf, 'url' | 'token'>): readonly View[] {
  const part = (name: string): View => ({ place: `#/sets/${set}/${name}` });
  const at = `#/hosts/${host}/${container}`;
  const drawers = objects.flatMap((address) =>
    ['Diff', 'Live', 'Desired'].map((title) => ({
      place: `#/sets/${set}?${new URLSearchParams({ object: `${host} ${address}` }).toString()}`,
      act: async (page: Page): Promise<void> => {
        await page.locator('.drawer').getByRole('button', { name: title, exact: true }).click();
        await page.locator('.drawer pre.document').waitFor();
      },
    })),
  );
  return [
    { place: '' },
    { place: `#/sets/${set}` },
    ...drawers,
    ...['graph', 'drift', 'history'].map(part),
    { ...part('preview'), act: (page) => preview(page, branch) },
    ...['fleet', 'timeline', 'operations', 'drift', 'logs', 'login'].map((room) => ({ place: `#/${room}` })),
    { place: '#/drift', act: (page) => search(page, set) },
    { place: `#/hosts/${host}` },
    { place: at },
    { place: `${at}/log` },
    { place: `${at}/files?path=%2F` },
    { place: `#/console/${host}/${container}` },
  ];
}

async function preview(page: Page, branch: string): Promise<void> {
  await page.getByLabel('Branch, tag or revision').fill(branch);
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
}

async function search(page: Page, words: string): Promise<void> {
  await page.getByRole('button', { name: 'Search everything' }).first().click();
  await page.getByLabel('Words to search for').fill(words);
  await page.getByRole('dialog').getByRole('option').first().waitFor();
}

/** Logs in and visits each view. The request of the login is left out: it has the token. */
export async function shownOn(browser: Browser, of: ShownOf): Promise<Shown> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, reducedMotion: 'reduce' });
  try {
    await context.addInitScript(keepDrawn);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const watch = new Watch(page);
    await page.goto(`${of.url}/`);
    await page.getByLabel('Token').fill(of.token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('Live', { exact: true }).first().waitFor();
    watch.begin();
    const shown = new Map<string, string>();
    for (const [at, { place, act }] of viewsOf(of).entries()) {
      await page.goto(`${of.url}/${place}`);
      await watch.settled();
      await act?.(page);
      await watch.settled();
      for (const [what, text] of await textsOf(page)) shown.set(`${what} of ${place} (${at})`, text);
    }
    shown.set('cookies and storage', JSON.stringify(await context.storageState({ indexedDB: true })));
    for (const [what, text] of await watch.texts()) shown.set(what, text);
    return shown;
  } finally {
    await context.close();
  }
}

/** Keeps the texts that the page draws: those on a canvas are in no document. */
const keepDrawn = `window.drawnTexts = new Set();
for (const kind of [CanvasRenderingContext2D, window.OffscreenCanvasRenderingContext2D])
  for (const name of ['fillText', 'strokeText']) {
    const draw = kind.prototype[name];
    kind.prototype[name] = function (text, ...more) { window.drawnTexts.add(String(text)); return draw.call(this, text, ...more); };
  }`;

/** Texts of the current document; folded parts too. */
export async function textsOf(page: Page): Promise<readonly (readonly [what: string, text: string])[]> {
  await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
  const found: Record<string, string> = await page.evaluate(`({
    'document and attributes': document.documentElement.outerHTML,
    'visible text': document.body.innerText,
    fields: [...document.querySelectorAll('input, textarea, select, option')].map((each) => each.value).join('\\n'),
    drawing: [...(window.drawnTexts ?? [])].join('\\n'),
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    address: JSON.stringify([location.href, document.title, history.state]),
  })`);
  return Object.entries(found);
}

/** Collects requests, responses and the log of the page. */
class Watch {
  readonly #open = new Set<Request>();
  readonly #texts: Promise<readonly [string, string]>[] = [];
  #isOn = false;
  #changedMs = 0;

  constructor(page: Page) {
    page.on('request', (request) => this.#begun(request));
    page.on('requestfinished', (request) => this.#ended(request));
    page.on('requestfailed', (request) => this.#ended(request));
    page.on('response', (response) => this.#answered(response));
    page.on('console', (message) => this.#keep(`log of the page ${this.#texts.length}`, message.text()));
    page.on('websocket', (socket) => {
      const keep = ({ payload }: { readonly payload: string | Buffer }): void =>
        this.#keep(`frame ${this.#texts.length}`, payload.toString());
      socket.on('framesent', keep);
      socket.on('framereceived', keep);
    });
  }

  /** Called after the login. */
  begin(): void {
    this.#isOn = true;
  }

  /** Resolves when no request is open any more, except that for events. */
  async settled(): Promise<void> {
    this.#changedMs = performance.now();
    await until(() => this.#open.size === 0 && performance.now() - this.#changedMs > 250, 60_000);
  }

  async texts(): Promise<readonly (readonly [string, string])[]> {
    return Promise.all(this.#texts);
  }

  #begun(request: Request): void {
    this.#changedMs = performance.now();
    if (request.url().includes('/events')) return;
    this.#open.add(request);
    if (this.#isOn)
      this.#keep(`request ${this.#texts.length} ${request.url()}`, `${request.url()} ${request.postData() ?? ''}`);
  }

  #ended(request: Request): void {
    this.#changedMs = performance.now();
    this.#open.delete(request);
  }

  #answered(response: Response): void {
    if (response.url().includes('/events')) return;
    const headers = JSON.stringify(response.headers());
    const body = response.text().then(
      (text) => `${headers} ${text}`,
      () => headers,
    );
    const what = `response ${this.#texts.length} ${response.url()}`;
    this.#texts.push(body.then((text) => [what, text] as const));
  }

  #keep(what: string, text: string): void {
    this.#texts.push(Promise.resolve([what, text] as const));
  }
}
