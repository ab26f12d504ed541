// Lists and the graph while objects come and go, and when there are many: what the keyboard has chosen stays chosen.
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ObjectSummary } from '../../../reconciler/controller/contract/index.ts';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { axeFindings, PageHarness, type Visit } from '../../support/page/visit.ts';
import { smallWorld } from '../../support/page/worlds.ts';
import { until } from '../../support/until.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

describe.skipIf(chromiumPath === undefined)('while objects come and go', () => {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());

  async function visit(place: string, world = smallWorld()): Promise<Visit> {
    const made = await harness.visit(world, { place });
    onTestFinished(() => made.close());
    await made.page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
    return made;
  }
  /** An object that comes before all others. */
  const first = (host: string): ObjectSummary => ({
    host,
    address: 'aaa/first',
    kind: 'aaa',
    name: 'first',
    status: 'synced',
    dependsOn: [],
  });
  const said = (page: Page): Promise<string | null> => page.locator('.graph-says').textContent();
  const nodes = async (page: Page): Promise<number> =>
    Number(/of (\d+) objects/.exec((await page.getByRole('application').getAttribute('aria-label')) ?? '')?.[1]);

  test('a dialog whose view lost its buttons does not give the focus to the link that covers the bar', async () => {
    const { page } = await visit('#/sets/web');
    await page.getByRole('button', { name: 'Suspend' }).first().click();
    await page.getByRole('dialog').waitFor();
    await page.evaluate(
      'for (const one of document.querySelectorAll("main button, main a")) if (!one.closest("dialog")) one.remove()',
    );
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until(async () => (await page.evaluate('document.activeElement.tagName')) !== 'BODY');
    expect(await page.evaluate('document.activeElement.className')).not.toBe('skip');
  });

  test('the node that the keyboard has chosen in the graph stays chosen', async () => {
    const { page, server, complaints } = await visit('#/sets/web/graph?host=node01&group=object');
    await page.locator('.graph[aria-busy=false]').waitFor();
    await page.getByRole('application').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await until(async () => (await said(page)) !== '');
    const before = [await said(page), await nodes(page)] as const;
    server.emit({ type: 'object', set: 'web', object: first('node01') });
    await until(async () => (await nodes(page)) === before[1] + 1);
    await page.locator('.graph[aria-busy=false]').waitFor();
    expect([await said(page), complaints]).toEqual([before[0], []]);
    await page.keyboard.press('Enter');
    const opened = new URLSearchParams(page.url().split('?')[1]).get('object')?.split(' ')[1];
    expect(before[0]?.split(' ')[0]).toBe(opened);
  });

  test('nodes of a filter by status are found again once a second at most, however many events arrive', async () => {
    const { page, server } = await visit('#/sets/web/graph?status=synced&group=object');
    await page.locator('.graph[aria-busy=false]').waitFor();
    await page.evaluate(`{
      window.layouts = 0;
      const { postMessage } = Worker.prototype;
      Worker.prototype.postMessage = function (...given) {
        window.layouts += 1;
        postMessage.apply(this, given);
      };
    }`);
    const before = await nodes(page);
    const flipped = (server.world.objects.get('web') ?? []).filter(
      ({ host, status }) => host === 'node02' && status === 'synced',
    );
    const beganMs = Date.now();
    for (let round = 0; round < 5; round += 1)
      for (const object of flipped) {
        server.emit({
          type: 'object',
          set: 'web',
          object: { ...object, status: round % 2 === 0 ? 'drifted' : 'synced' },
        });
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      }
    await until(async () => (await nodes(page)) === before - flipped.length);
    expect(await page.evaluate('window.layouts')).toBeLessThanOrEqual(2 + (Date.now() - beganMs) / 1000);
  });

  test('the row that the keyboard has chosen in the list stays chosen', async () => {
    const { page, server, complaints } = await visit('#/sets/web?host=node01');
    const active = page.locator('.virtual-row.active');
    await page.locator('.virtual').focus();
    for (let at = 0; at < 3; at += 1) await page.keyboard.press('ArrowDown');
    const before = await active.textContent();
    const count = await page.locator('.virtual-row').count();
    server.emit({ type: 'object', set: 'web', object: first('node01') });
    await until(async () => (await page.locator('.virtual-row').count()) === count + 1);
    expect([await active.textContent(), complaints]).toEqual([before, []]);
  });

  test('the rows that are visible keep their place when one comes before them', async () => {
    const { page, server, complaints } = await visit('#/sets/web?host=node01');
    await page.setViewportSize({ width: 1200, height: 420 });
    const scrollTo = async (top: number): Promise<void> => {
      await page.evaluate(`document.querySelector('.virtual').scrollTop = ${top}`);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    };
    const topRow = () =>
      page.evaluate(`(() => {
        const { top } = document.querySelector('.virtual').getBoundingClientRect();
        const visible = [...document.querySelectorAll('.virtual-row')]
          .map((row) => ({ text: row.textContent, box: row.getBoundingClientRect() }))
          .filter(({ box }) => box.bottom > top + 1)
          .sort((one, other) => one.box.top - other.box.top)[0];
        return visible.text + ' ' + Math.round(visible.box.top - top);
      })()`);
    await scrollTo(50);
    const count = async () => Number(await page.locator('.virtual-row').first().getAttribute('aria-setsize'));
    const [before, rows] = [await topRow(), await count()];
    expect(before).toMatch(/ -\d+$/);
    server.emit({ type: 'object', set: 'web', object: first('node01') });
    await until(async () => (await count()) === rows + 1);
    await until(async () => (await topRow()) === before);
    await scrollTo(0);
    await until(async () => String(await topRow()).includes('first'));
    expect(complaints).toEqual([]);
  });

  test('a host with many containers shows the first hundred, and a search finds the others', async () => {
    const world = smallWorld();
    const [running] = world.containers;
    if (running === undefined) throw new Error('the world has no container');
    for (let at = 1; at <= 150; at += 1) world.containers.push({ ...running, name: `many${at}` });
    const { page, complaints } = await visit('#/hosts/node01', world);
    await page.getByText(/^The first 100 of \d+ containers: search for the others$/).waitFor();
    const names = page.locator('[aria-labelledby="containers-title"] td a.name');
    expect(await names.count()).toBe(100);
    await page.keyboard.press('/');
    await page.keyboard.type('many150');
    await until(async () => (await names.allTextContents()).join() === 'many150');
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.type(' none');
    await page.getByText(/^0 of \d+ containers$/).waitFor();
    expect(complaints).toEqual([]);
  });
});
