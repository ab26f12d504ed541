// Reading on the page: filters, events, the graph, the keyboard, and a controller that goes away.
import { describe, expect, test } from 'vitest';
import { replaceSet } from '../../support/page/answers.ts';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { button, dialog, usePage } from '../../support/page/use-page.ts';
import { axeFindings, sidewaysScroll } from '../../support/page/visit.ts';
import { largeWorld, smallWorld } from '../../support/page/worlds.ts';
import { until } from '../../support/until.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

describe.skipIf(chromiumPath === undefined)('the page', () => {
  const visiting = usePage();

  test('previews a branch, and says why a branch has no preview', () =>
    visiting({ place: '#/sets/web/preview' }, async ({ page }) => {
      await page.getByLabel('Branch, tag or revision').fill('no-such-branch');
      await button(page, 'Preview').click();
      await page.getByText('The source has no branch, tag or revision no-such-branch.').waitFor();
      await page.getByLabel('Branch, tag or revision').fill('more-memory');
      await button(page, 'Preview').click();
      await page.getByText('limits.memory needs a restart').waitFor();
      await page.getByText('Refused: it is protected').waitFor();
      await page.getByText('web.yaml:8:5').waitFor();
      await page.locator('.host-plan summary', { hasText: 'node02' }).click();
      await page.getByText('offline', { exact: true }).waitFor();
    }));

  test('finds objects by words, status, kind and host, and clears the filter', () =>
    visiting({ place: '#/sets/web' }, async ({ page }) => {
      await page.getByText('36 objects', { exact: true }).waitFor();
      await page.getByRole('searchbox').fill('web1 node02');
      await page.getByText('1 of 36 objects').waitFor();
      await page.getByRole('searchbox').fill('');
      await page.getByLabel('Status', { exact: true }).selectOption('failed');
      await page.getByText('1 of 36 objects').waitFor();
      expect(page.url()).toContain('status=failed');
      await page.getByLabel('Kind').selectOption('network');
      await page.getByText('No object matches').waitFor();
      await button(page, 'Clear the filter').click();
      await page.getByLabel('Host').selectOption('node03');
      await page.getByText('12 of 36 objects').waitFor();
    }));

  test('shows events as they arrive, reports a lost connection, and reloads everything', () =>
    visiting({ place: '#/sets/web' }, async ({ page, server }) => {
      const object = server.world.objects.get('web')?.[1];
      const set = server.world.overview.sets[0];
      if (!object || !set) throw new Error('The world has no set.');
      await page.getByText('Live', { exact: true }).waitFor();
      server.emit({ type: 'object', set: 'web', object: { ...object, status: 'failed', message: 'the disk is full' } });
      await page.getByText('the disk is full').waitFor();
      server.emit({ type: 'object', set: 'web', object, isGone: true });
      await page.getByText('35 objects', { exact: true }).waitFor();
      server.emit(replaceSet(server.world, { ...set, message: 'on the way' }));
      await page.getByText('on the way').waitFor();
      await server.stop();
      await page.getByText('The connection to the controller was lost.').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      server.world.objects.get('web')?.push({ ...object, name: 'fresh', address: 'container/fresh', host: 'node01' });
      replaceSet(server.world, { ...set, message: 'changed meanwhile' });
      await server.start();
      await page.getByText('changed meanwhile').waitFor();
      await page.getByText('37 objects', { exact: true }).waitFor();
      server.emit({ type: 'log', line: { at: new Date().toISOString(), level: 'error', message: 'a new line' } });
      await page.getByRole('link', { name: 'Logs' }).click();
      await page.getByText('a new line').waitFor();
    }));

  test('a filter whose data cannot be read shows why, and no longer the data of the filter before', () =>
    visiting({ place: '#/timeline' }, async ({ page, server }) => {
      await page.getByText('commit: Give the shop more memory').waitFor();
      server.isBroken = true;
      await page.getByLabel('Set').selectOption('monitoring');
      await page.getByText('The controller is starting.').first().waitFor();
      expect(await page.getByText('commit: Give the shop more memory').count()).toBe(0);
      server.isBroken = false;
      await button(page, 'Try again').click();
      await page.getByText('The controller is starting.').first().waitFor({ state: 'detached' });
    }));

  test('shows the failure of a host although it contains the reason of a suspension', async () => {
    const world = smallWorld();
    const suspended = {
      id: 's1',
      set: 'web',
      address: 'profile/x',
      reason: 'out',
      by: 'ann',
      since: '2030-01-31T12:00:00Z',
    };
    const sets = world.overview.sets.map((set) => {
      if (set.name !== 'web') return set;
      const hosts = set.hosts.map((one) => (one.error === undefined ? one : { ...one, status: 'failed' as const }));
      return { ...set, hosts, suspensions: [suspended] };
    });
    world.overview = { ...world.overview, sets };
    await visiting(
      { place: '#/sets/web' },
      async ({ page }) => {
        await page.getByText('1 host failed: node02').click();
        await page.getByText('The host refused a step: out of memory').first().waitFor();
      },
      world,
    );
  });

  test('offers a retry after a failed read', () =>
    visiting({ place: '#/operations' }, async ({ page, server }) => {
      await page.getByText('slow, but at work').first().waitFor();
      server.isBroken = true;
      for (const place of ['#/sets/web', '#/sets/web/drift', '#/sets/web/history', '#/logs']) {
        await page.goto(server.url + place);
        await page.getByText('The controller is starting.').first().waitFor();
        server.isBroken = false;
        await button(page, 'Try again').click();
        await page.getByText('The controller is starting.').first().waitFor({ state: 'detached' });
        server.isBroken = true;
      }
    }));

  test('finds objects of all sets from any view, and opens the chosen one with the keyboard', () =>
    visiting({ place: '#/operations' }, async ({ page }) => {
      await page.keyboard.press('s');
      await page.getByLabel('Words to search for').fill('node02 web7');
      await page.getByRole('option', { name: 'container/web7' }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'container/web7' }).waitFor();
      expect(new URL(page.url()).hash).toBe('#/sets/web?object=node02+container%2Fweb7');
    }));

  test('groups hosts by a label, shows how full they are, and finds them by words', () =>
    visiting({ place: '#/fleet' }, async ({ page }) => {
      await page.getByLabel('Groups').selectOption('zone');
      await page.getByRole('heading', { name: 'zone=north' }).waitFor();
      await page.getByText('8 processors, 38 % of 16.0 GiB used').first().waitFor();
      await page.getByRole('searchbox').fill('south');
      await page.getByRole('heading', { name: 'zone=north' }).waitFor({ state: 'detached' });
      expect(await page.getByRole('link', { name: 'node02' }).count()).toBe(1);
    }));

  test('shows runs and drift of all sets in one timeline, and adds what happens', () =>
    visiting({ place: '#/timeline' }, async ({ page, server }) => {
      await page.getByText('commit: Give the shop more memory').waitFor();
      await page.getByText('changed by the event instance-updated').first().waitFor();
      const [drift] = server.world.drift.get('web') ?? [];
      if (drift === undefined) throw new Error('the world has no drift');
      const late = { ...drift, id: 'late', at: new Date().toISOString(), address: 'container/late' };
      server.world.drift.get('web')?.unshift(late);
      server.emit({ type: 'drift', set: 'web', drift: late });
      await page.getByRole('link', { name: 'container/late' }).waitFor();
      await page.getByLabel('What').selectOption('runs');
      await page.getByRole('link', { name: 'container/late' }).waitFor({ state: 'detached' });
    }));

  test('works with the keyboard alone', () =>
    visiting({}, async ({ page }) => {
      const focused = (): Promise<string> =>
        page.evaluate(
          'document.activeElement.id || document.activeElement.className || document.activeElement.tagName',
        );
      await page.getByText('1 set has drifted').waitFor();
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('skip');
      await page.keyboard.press('Enter');
      expect(await focused()).toBe('main');
      // The two approvals for base come first, then the problem of web.
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByText('36 objects', { exact: true }).waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('web3');
      await page.getByText('3 of 36 objects').waitFor();
      for (let tabs = 0; tabs < 4; tabs++) await page.keyboard.press('Tab');
      expect(await focused()).toBe('virtual');
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'container/web3' }).waitFor();
      await until(async () => (await focused()) === 'object-title');
      await page.keyboard.press('Escape');
      await until(async () => (await focused()) === 'virtual');
      for (const [key, title] of [
        ['o', '1 set has drifted'],
        ['p', 'Operations'],
        ['d', 'Drift'],
        ['l', 'Logs'],
      ] as const) {
        await page.keyboard.press('g');
        await page.keyboard.press(key);
        await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      }
      await page.keyboard.press('?');
      await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor({ state: 'detached' });
      const theme = (): Promise<string> => page.evaluate('document.documentElement.dataset.theme');
      await page.keyboard.press('t');
      await page.keyboard.press('t');
      await until(async () => (await theme()) === 'dark');
      await page.reload();
      await until(async () => (await theme()) === 'dark');
      await button(page, 'Theme: dark').click();
      await until(async () => (await theme()) === 'light');
      await button(page, 'Keyboard shortcuts').click();
      await button(page, 'Close').click();
      expect(await dialog(page).count()).toBe(0);
    }));

  test('moves through the graph with keys, buttons and the mouse', () =>
    visiting({ place: '#/sets/web/graph?host=node01' }, async ({ page }) => {
      const graph = page.getByRole('application');
      const said = async (text: string): Promise<void> => page.getByText(text).first().waitFor({ state: 'attached' });
      await page.locator('.graph[aria-busy=false]').waitFor();
      await graph.focus();
      await page.keyboard.press('ArrowDown');
      await said('container/web1 on node01, drifted, needs 2, needed by 0');
      await page.keyboard.press('ArrowLeft');
      await said('profile/web on node01, synced, needs 2, needed by 8');
      await page.keyboard.press('ArrowLeft');
      await said('network/lan on node01, synced, needs 0, needed by 1');
      await page.keyboard.press('ArrowRight');
      await said('profile/web on node01, synced');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'profile/web' }).waitFor();
      await page.keyboard.press('Escape');
      const picture = (): Promise<string> =>
        page.evaluate(`[...document.querySelectorAll('canvas')].at(-1).toDataURL()`);
      let before = await picture();
      for (const name of ['Closer', 'Farther', 'Show everything']) {
        await button(page, name).click();
        await until(async () => (await picture()) !== before);
        before = await picture();
      }
      await graph.hover({ position: { x: 300, y: 200 } });
      await page.mouse.wheel(0, -300);
      await until(async () => (await picture()) !== before);
      before = await picture();
      await page.mouse.down();
      await page.mouse.move(500, 600, { steps: 3 });
      await page.mouse.up();
      await until(async () => (await picture()) !== before);
      await page.getByLabel('Host').selectOption('all hosts');
      await page.getByRole('application', { name: 'Graph of 12 names.' }).waitFor();
      await page.getByLabel('Nodes').selectOption('always kinds');
      await page.getByRole('application', { name: 'Graph of 5 kinds.' }).waitFor();
      await page.getByLabel('Nodes').selectOption('always objects');
      await page.getByRole('application', { name: 'Graph of 36 objects.' }).waitFor();
      // Searches for an object from the middle of the picture outwards, since a tap opens the object under it.
      await button(page, 'Show everything').click();
      const box = await graph.boundingBox();
      for (let at = 0; at < 60 && (await page.getByRole('complementary').count()) === 0; at++)
        await graph.click({
          position: {
            x: (box?.width ?? 0) / 2 + (at % 10) * 20,
            y: (box?.height ?? 0) / 2 - 40 + Math.floor(at / 10) * 14,
          },
        });
      await page.getByRole('complementary').waitFor();
    }));

  test('opens the objects of a group of ten thousand by kind', () =>
    visiting(
      { place: '#/sets/web/graph' },
      async ({ page }) => {
        const graph = page.getByRole('application');
        await page.getByRole('application', { name: 'Graph of 5 kinds.' }).waitFor();
        await page.locator('.graph[aria-busy=false]').waitFor();
        await graph.focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.getByRole('application', { name: 'Graph of 100 hosts.' }).waitFor();
        expect(new URL(page.url()).hash).toMatch(/[?&]kind=container/);
      },
      largeWorld(),
    ));

  test('links from a host to its sets, and from there to their objects', () =>
    visiting({}, async ({ page }) => {
      await page.getByRole('link', { name: 'node02', exact: true }).last().click();
      await page.getByRole('heading', { name: 'node02', level: 1 }).waitFor();
      await page.getByText('The host refused a step: out of memory').waitFor();
      await page.getByRole('link', { name: 'web', exact: true }).click();
      await page.getByText('12 of 36 objects').waitFor();
    }));

  test('shows whole names of objects on a phone', () =>
    visiting({ place: '#/sets/web', width: 360 }, async ({ page }) => {
      await page.getByText('36 objects', { exact: true }).waitFor();
      const cut = `[...document.querySelectorAll('.object-name')].filter((name) => name.scrollWidth > name.clientWidth)
        .map((name) => name.textContent)`;
      expect(await page.evaluate(cut)).toEqual([]);
      const pieces = `[...document.querySelectorAll('.virtual-row > .mark')].filter((mark) => {
        const word = document.createRange();
        word.selectNodeContents(mark.lastChild);
        return word.getBoundingClientRect().left < mark.getBoundingClientRect().right;
      }).length`;
      expect(await page.evaluate(pieces)).toBe(0);
    }));

  test('shows few hosts at first and all of them when asked, on a phone too', () =>
    visiting(
      { width: 360 },
      async ({ page }) => {
        await button(page, 'Show all 100').click();
        await page.getByText('node99').waitFor();
        expect(await sidewaysScroll(page)).toBe(0);
        await button(page, 'Show fewer').click();
        await page.getByText('node99').waitFor({ state: 'detached' });
      },
      largeWorld(),
    ));
});
