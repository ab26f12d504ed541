// Every view of the page in both themes, wide and on a phone: it shows its data, axe finds nothing, nothing sticks out.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { isLongRun } from '../../support/left-out.ts';
import { drawnOpenings, knownPlaces, open, openings } from '../../support/page/openings.ts';
import { axeFindings, PageHarness, sidewaysScroll } from '../../support/page/visit.ts';
import { hostileWorld, smallWorld, withRefusedConfig } from '../../support/page/worlds.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

const places = [
  { place: '', shows: '1 set has drifted' },
  { place: '#/sets/web', shows: 'config.limits.memory was changed by root' },
  { place: '#/sets/web?object=node01+container%2Fweb1', shows: 'config.user.password' },
  { place: '#/sets/web/graph', shows: 'Left square: desired, right square: live.' },
  { place: '#/sets/web/drift', shows: 'container/web2' },
  { place: '#/sets/web/history', shows: 'drift of container/web2' },
  { place: '#/sets/web/preview', shows: 'See what a branch would change' },
  { place: '#/sets/monitoring', shows: 'migration of the dashboard' },
  { place: '#/fleet', shows: '8 processors' },
  { place: '#/fleet?by=zone', shows: 'zone=south' },
  { place: '#/timeline', shows: 'commit: Give the shop more memory' },
  { place: '#/hosts/node02', shows: 'has less than 5 % of its space left' },
  { place: '#/operations', shows: 'slow, but at work' },
  { place: '#/drift', shows: 'changed by the event instance-updated' },
  { place: '#/logs', shows: 'the host does not answer' },
  { place: '#/console/node01/web1', shows: 'web1' },
  { place: '#/login', shows: 'Log in with your organization' },
  { place: '#/hosts/node03', shows: 'connect ECONNREFUSED 10.0.0.3:8443' },
  { place: '#/hosts/node01', shows: '180 MiB' },
  { place: '#/hosts/node01/web1', shows: 'before-upgrade' },
  { place: '#/hosts/node01/web1/log', shows: 'web1 login:' },
  { place: '#/hosts/node01/web1/files?path=%2Fsrv', shows: 'motd' },
  { place: '#/hosts/node01/none', shows: 'There is no container none on node01' },
  { place: '#/hosts/no-such', shows: 'There is no host no-such' },
  { place: '#/nowhere', shows: 'There is nothing at this address' },
  { place: '#/sets/no-such', shows: 'There is no set no-such' },
] as const;

const looks = [
  { look: 'light and wide', theme: 'light', width: 1200 },
  { look: 'dark on a phone', theme: 'dark', width: 360 },
] as const;

test('every view, dialog, drawer and folding part of the source is tested', () => {
  const { rooms, parts } = knownPlaces();
  const missing = [
    ...rooms.filter((room) => !places.some(({ place }) => place.startsWith(`#/${room}`))),
    ...parts.filter((part) => !places.some(({ place }) => place.startsWith(`#/sets/web/${part}`))),
  ];
  expect([rooms.length > 5, parts.length > 3, missing]).toEqual([true, true, []]);
  expect(drawnOpenings().toSorted()).toEqual(Object.keys(openings).toSorted());
});

describe.skipIf(chromiumPath === undefined)('views', () => {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());

  test('the files that a browser loads are below 300 KB, and the terminal is not part of the start', () => {
    const assets = readdirSync(join(harness.folder, 'assets'));
    const sizeOf = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + gzipSync(readFileSync(join(harness.folder, 'assets', name))).length, 0);
    expect(sizeOf(assets)).toBeLessThan(300_000);
    const start = assets.filter((name) => !name.startsWith('terminal'));
    expect(start.length).toBeLessThan(assets.length);
    expect(sizeOf(start)).toBeLessThan(60_000);
    expect(readFileSync(join(harness.folder, 'index.html'), 'utf8')).not.toMatch(/https?:|<style|<script>/);
  });

  test.each(looks)('are legible and accessible, $look', async ({ theme, width }) => {
    const server = await harness.serve(smallWorld());
    const { page, complaints, close } = await harness.open(server, { theme, width });
    onTestFinished(async () => {
      await close();
      await server.stop();
    });
    for (const { place, shows } of places) {
      await page.goto(server.url + place);
      // On a phone some texts have no room, so the view is identified by its place in the document.
      await page
        .getByText(shows)
        .first()
        .waitFor({ state: width < 500 ? 'attached' : 'visible' });
      expect({ place, findings: await axeFindings(page) }).toEqual({ place, findings: [] });
      expect({ place, sideways: await sidewaysScroll(page) }).toEqual({ place, sideways: 0 });
      expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(theme);
    }
    expect(complaints).toEqual([]);
  });

  // Each in one look, every second in the other; a long run has all in both.
  test.each(looks)('open dialogs, drawers and folding parts without axe findings, $look', async (look) => {
    const server = await harness.serve(smallWorld());
    const { page, complaints, close } = await harness.open(server, look);
    onTestFinished(async () => {
      await close();
      await server.stop();
    });
    const seen = Object.entries(openings).filter((_, index) => isLongRun || looks[index % 2] === look);
    for (const [name, opening] of seen) {
      await page.goto(server.url + opening.place);
      await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' });
      await open(page, opening);
      const found = { name, findings: await axeFindings(page), sideways: await sidewaysScroll(page), complaints };
      expect(found).toEqual({ name, findings: [], sideways: 0, complaints: [] });
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  });

  test('show why a new configuration of the controller is not in use, on a phone', async () => {
    const server = await harness.serve(withRefusedConfig(smallWorld()));
    const { page, complaints, close } = await harness.open(server, { theme: 'dark', width: 360 });
    onTestFinished(async () => {
      await close();
      await server.stop();
    });
    await page.goto(server.url);
    await page.getByText('there is no source shopp').waitFor();
    await page.getByText('1 set has drifted').first().waitFor({ state: 'attached' });
    expect([await axeFindings(page), await sidewaysScroll(page), complaints]).toEqual([[], 0, []]);
  });

  test('show markup in names and messages as text, and never run it', async () => {
    const world = hostileWorld();
    const server = await harness.serve(world);
    const { page, complaints, close } = await harness.open(server);
    const key = `${world.objects.get('web')?.[0]?.host} ${world.objects.get('web')?.[0]?.address}`;
    const hostilePlaces = [
      ...places.map(({ place }) => place),
      `#/sets/web?${new URLSearchParams({ object: key }).toString()}`,
      `#/sets/web?${new URLSearchParams({ search: '<img src=x onerror=hacked=1>' }).toString()}`,
      `#/console/${encodeURIComponent('<script>')}/${encodeURIComponent('javascript:hacked()')}`,
    ];
    try {
      for (const place of hostilePlaces) {
        await page.goto(server.url + place);
        await page.locator('main').waitFor();
        if (place.includes(new URLSearchParams({ object: key }).toString()))
          await page.locator('.drawer .differences').waitFor();
        await page.evaluate('new Promise((done) => setTimeout(done, 60))');
        const found = await page.evaluate(
          `({ ran: window.hacked, images: document.images.length, scripts: document.body.querySelectorAll('script').length,
              links: [...document.querySelectorAll('a')].filter((a) => /^(javascript|data):/i.test(a.href)).length })`,
        );
        expect({ place, ...(found as object) }).toEqual({ place, images: 0, scripts: 0, links: 0 });
      }
      await page.goto(`${server.url}#/sets/web/preview`);
      await page.getByLabel('Branch, tag or revision').fill('<img src=x onerror=hacked=1>');
      await page.keyboard.press('Enter');
      await page.getByText('limits.memory needs a restart').first().waitFor();
      expect(await page.evaluate('[window.hacked, document.images.length]')).toEqual([undefined, 0]);
      await page.goto(server.url);
      await page.getByText(`Signed by SHA256:2f7c ada@example.org<img src=x onerror=`).first().waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await close();
      await server.stop();
    }
  });
});
