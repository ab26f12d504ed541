// The page on the real HTTP layer of the controller: its files, headers, cookies, CSRF tokens, events and roles fit together.
import { Hub } from '../../../reconciler/controller/hub.ts';
import { listen } from '../../../reconciler/controller/http/listener.ts';
import { HostViewer } from '../../../reconciler/controller/viewer/host-viewer.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { anObject } from '../../support/controller/fake-controller.ts';
import { startHttp, tokens } from '../../support/controller/http-harness.ts';
import { openMemoryDaemon } from '../../support/daemons/in-memory.ts';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { PageHarness } from '../../support/page/visit.ts';
import { until } from '../../support/until.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

describe.skipIf(chromiumPath === undefined)('the page on the API of the controller', () => {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());

  test('logs in, shows objects and their news, syncs, and logs out', async () => {
    const http = await startHttp({ pageDirectory: harness.folder });
    const { page, complaints, close } = await harness.open({ url: `${http.listener.url}/` });
    onTestFinished(async () => {
      await close();
      await http.close();
    });
    await page.getByLabel('Token').fill(tokens.operate);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: '1 object is not as declared' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'web', exact: true }).click();
    await page.getByText('2 objects', { exact: true }).waitFor();
    http.controller.emit({
      type: 'object',
      set: 'web',
      object: anObject('web2', { status: 'failed', message: 'no address is free' }),
    });
    await page.getByText('no address is free').waitFor();
    await page.getByRole('option', { name: 'web1' }).click();
    await page.getByText('Live is as desired').waitFor();
    await page.getByRole('button', { name: 'Close the object' }).click();
    await page.getByRole('button', { name: 'Sync' }).click();
    await page.getByLabel('Reason').fill('by the page');
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByText('The sync of web has begun.').waitFor();
    expect(http.controller.asked).toEqual([
      { what: 'sync', set: 'web', request: { reason: 'by the page' }, by: 'operateer' },
    ]);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByLabel('Reason').fill('a pause');
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await until(() => http.controller.asked.length === 2);
    await page.reload();
    await page.getByText('2 objects', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Token').waitFor();
    expect(complaints).toEqual([]);
  });

  test('shows one host of gantry ui: its objects appear and cannot be changed', async () => {
    const daemon = await openMemoryDaemon();
    const end = new AbortController();
    const quiet = (): void => {};
    const viewer = new HostViewer({
      host: { name: 'alone', address: daemon.host, labels: {}, groups: [], vars: {} },
      connect: async () => daemon.client,
      set: 'default',
      hub: new Hub(),
      nowMs: Date.now,
    });
    const listener = await listen({
      controller: viewer,
      settings: { listen: '127.0.0.1:0', console: false },
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      pageDirectory: harness.folder,
    });
    await daemon.client.create('profile', { name: 'shown', config: {} });
    const running = viewer.run(end.signal);
    const { page, complaints, close } = await harness.open({ url: listener.ticketUrl({ name: 'ann', role: 'view' }) });
    onTestFinished(async () => {
      await close();
      await listener.close();
      end.abort();
      await running;
      await daemon.close();
    });
    await page.getByRole('heading', { name: 'Nothing is declared for this host' }).waitFor();
    await page.getByRole('link', { name: 'default', exact: true }).click();
    await page.getByRole('option', { name: 'shown' }).click();
    await page.getByText('No manifest declares it').waitFor();
    await page.getByRole('button', { name: 'Close the object' }).click();
    await daemon.client.create('profile', { name: 'later', config: {} });
    await page.getByRole('option', { name: 'later' }).waitFor();
    expect(await page.getByRole('button', { name: 'Sync' }).count()).toBe(0);
    expect(await page.getByRole('navigation', { name: 'Parts of the set' }).getByRole('link').allInnerTexts()).toEqual([
      'Objects',
      'Graph',
      'Drift',
    ]);
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.getByRole('heading', { name: 'Hosts' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Sources' }).count()).toBe(0);
    expect(await page.getByRole('heading', { name: 'Containers' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
