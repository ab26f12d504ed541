// Actions on the page: every button, consoles, logging in, and answers that come late.
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { aSet } from '../../support/controller/fake-controller.ts';
import { button, dialog, usePage } from '../../support/page/use-page.ts';
import type { Visit } from '../../support/page/visit.ts';
import { smallWorld } from '../../support/page/worlds.ts';
import { until } from '../../support/until.ts';

if (chromiumPath === undefined) console.log(`skipped: ${noChromium}`);

const web1 = '#/sets/web?object=node01+container%2Fweb1';

describe.skipIf(chromiumPath === undefined)('the page', () => {
  const visiting = usePage();
  /** Opens a dialog, gives a reason, and confirms. */
  async function confirm(page: Page, opening: string, reason: string, confirming: string): Promise<void> {
    await button(page, opening).click();
    await page.getByLabel('Reason').fill(reason);
    await dialog(page).getByRole('button', { name: confirming }).click();
  }

  test('asks before a sync, does nothing when cancelled, and shows the operation once it has begun', () =>
    visiting({ place: '#/sets/web' }, async ({ page, server }) => {
      await button(page, 'Sync').click();
      await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      expect(await dialog(page).count()).toBe(0);
      expect(await page.evaluate('document.activeElement.textContent')).toContain('Sync');
      expect(server.asked).toEqual([]);
      await confirm(page, 'Sync', 'after the repair', 'Sync now');
      await page.getByText('The sync of web has begun.').waitFor();
      expect(server.asked).toEqual([{ path: '/api/v1/sets/web/sync', body: { reason: 'after the repair' } }]);
      await button(page, 'Dismiss').click();
      await page.getByRole('link', { name: 'Operations' }).click();
      await page.getByRole('progressbar', { name: 'Progress of sync of web' }).first().waitFor();
      await page.getByText('after the repair').waitFor();
    }));

  test('suspends a set with a reason and an end, shows why that is refused, and resumes it', () =>
    visiting({ place: '#/sets/web' }, async ({ page, server }) => {
      await button(page, 'Suspend').click();
      await dialog(page).getByRole('button', { name: 'Suspend' }).click();
      expect(server.asked).toEqual([]);
      await page.getByLabel('Reason').fill('refuse');
      await dialog(page).getByRole('button', { name: 'Suspend' }).click();
      await page.getByText('Another suspension covers it already.').waitFor();
      await page.getByLabel('Reason').fill('move to another rack');
      await page.getByLabel('For').selectOption('4 hours');
      await dialog(page).getByRole('button', { name: 'Suspend' }).click();
      await page.getByText('web is suspended.').waitFor();
      const body = server.asked.at(-1)?.body as { reason: string; until: string };
      expect(body.reason).toBe('move to another rack');
      expect(Math.abs(Date.parse(body.until) - Date.now() - 4 * 3_600_000)).toBeLessThan(60_000);
      await page.getByText('move to another rack').waitFor();
      await button(page, 'Resume web').click();
      await dialog(page).getByRole('button', { name: 'Resume' }).click();
      await page.getByText('1 suspension has ended.').waitFor();
      await page.getByText('move to another rack').waitFor({ state: 'detached' });
      expect(await button(page, 'Suspend').count()).toBe(1);
    }));

  test('resumes all suspensions of a set', () =>
    visiting({ place: '#/sets/monitoring' }, async ({ page, server }) => {
      await button(page, 'Resume all').click();
      await dialog(page).getByRole('button', { name: 'Resume' }).click();
      await page.getByText('1 suspension has ended.').waitFor();
      expect(server.asked).toEqual([{ path: '/api/v1/sets/monitoring/resume', body: {} }]);
    }));

  test('suspends one field and one object from the drawer, and shows documents and their diff', () =>
    visiting({ place: web1 }, async ({ page, server }) => {
      const drawer = page.getByRole('complementary');
      await drawer.getByRole('button', { name: 'Suspend config.limits.memory' }).click();
      await page.getByLabel('Reason').fill('measuring');
      await dialog(page).getByRole('button', { name: 'Suspend' }).click();
      await drawer.getByText('measuring').waitFor();
      expect(server.asked.at(-1)?.body).toMatchObject({
        host: 'node01',
        address: 'container/web1',
        path: 'config.limits.memory',
        reason: 'measuring',
      });
      await drawer.getByRole('button', { name: 'Resume' }).click();
      await dialog(page).getByRole('button', { name: 'Resume' }).click();
      await drawer.getByText('measuring').waitFor({ state: 'detached' });
      await drawer.getByRole('button', { name: 'Suspend', exact: true }).first().click();
      await page.getByLabel('Reason').fill('by hand for now');
      await page.getByLabel('For').selectOption('until it is resumed');
      await dialog(page).getByRole('button', { name: 'Suspend' }).click();
      await until(() => server.asked.length === 3);
      expect(server.asked.at(-1)?.body).toEqual({
        host: 'node01',
        address: 'container/web1',
        reason: 'by hand for now',
      });
      expect(await drawer.getByText('secret, not shown').count()).toBe(1);
      await drawer.getByRole('button', { name: 'Live' }).click();
      await drawer.getByText('limits.memory: 256MiB').waitFor();
      await drawer.getByRole('button', { name: 'Diff' }).click();
      await drawer
        .getByText('+     limits.memory: 512MiB')
        .or(drawer.getByText('limits.memory: 512MiB'))
        .first()
        .waitFor();
      expect(await drawer.locator('.document .line-live').allTextContents()).toEqual([
        '- live:   limits.memory: 256MiB\n',
      ]);
      await drawer.getByRole('button', { name: 'Desired' }).click();
      await drawer.getByRole('link', { name: 'In the graph' }).click();
      await page.getByText('container/web1 on node01, drifted, needs 2, needed by 0').waitFor({ state: 'attached' });
      await drawer.getByRole('button', { name: 'Close the object' }).click();
      expect(await drawer.count()).toBe(0);
    }));

  test('offers a rollback only to kept revisions, once each, and rolls back after a reason was given', () =>
    visiting({ place: '#/sets/web/history' }, async ({ page, server }) => {
      await page.getByText('+1 created').first().waitFor();
      await page.getByText('commit: First version').waitFor();
      expect(await page.getByRole('button', { name: /^Roll back to/ }).allInnerTexts()).toHaveLength(1);
      await confirm(page, 'Roll back to 1b2c3d4e', 'the shop is slow', 'Roll back');
      await page.getByText('The rollback of web has begun.').waitFor();
      expect(server.asked).toEqual([
        {
          path: '/api/v1/sets/web/rollback',
          body: { revision: '1b2c3d4e5f60718293a4b5c6d7e8f90123456789', reason: 'the shop is slow' },
        },
      ]);
    }));

  test('approves the deletion beyond the limit and the plan that were shown, and no others', () =>
    visiting({ place: '#/sets/base' }, async ({ page, server }) => {
      await page.getByText('profile/old, network/old and 58 more').waitFor({ state: 'attached' });
      await confirm(page, 'Approve deletion', 'the shop moved', 'Delete them');
      await page.getByText('The deletion in base is approved.').waitFor();
      expect(server.asked).toEqual([
        {
          path: '/api/v1/sets/base/prune',
          body: { revision: '7d3f0c1a9be2445d8e7701c2b3a4d5e6f7081920', reason: 'the shop moved' },
        },
      ]);
      await confirm(page, 'Approve the plan', 'seen with ann', 'Approve');
      await page.getByText('The plan of base is approved.').waitFor();
      await button(page, 'Approve the plan').waitFor({ state: 'detached' });
      expect(server.asked.at(-1)).toMatchObject({
        path: '/api/v1/sets/base/approve',
        body: { plan: 'b1946ac92492d234', reason: 'seen with ann' },
      });
    }));

  test('opens a console that carries keys and its size, and connects again', () =>
    visiting({ place: '#/console/node01/web1' }, async ({ page, server }) => {
      await page.getByText('welcome to the console').first().waitFor();
      await page.keyboard.type('ls');
      await until(() => server.consoleInput.join('') === 'ls');
      await page.keyboard.press('Control+F6');
      await page.keyboard.press('Shift+Tab');
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Login console');
      await page.setViewportSize({ width: 700, height: 420 });
      await until(() => server.consoleSizes.length > 0);
      expect(JSON.parse(server.consoleSizes.at(-1) ?? '')).toEqual({
        width: expect.any(Number),
        height: expect.any(Number),
      });
      const box = await page.locator('.card.terminal').boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 999)).toBeLessThanOrEqual(420);
      await server.stop();
      await page.getByText('The connection was closed.').waitFor();
      await server.start();
      await button(page, 'Connect again').click();
      await page.getByText('online', { exact: true }).waitFor();
    }));

  test('a console opens a shell or the login console, and says how the shell ended or why it failed', () =>
    visiting({ place: '#/console/node01/web1' }, async ({ page, server }) => {
      await page.getByText('online', { exact: true }).waitFor();
      expect(server.consoleCommands.at(-1)).toContain('exec sh -l');
      await page.keyboard.type('exit\n');
      await page.getByRole('heading', { name: 'The shell has ended' }).waitFor();
      await page.getByText('Its exit code is 3.').waitFor();
      expect(await page.getByText('"exit"').count()).toBe(0);
      await page.getByRole('link', { name: 'Login console' }).click();
      await page.getByText('online', { exact: true }).waitFor();
      expect(server.consoleCommands.at(-1)).toBeNull();
      await page.keyboard.type('fail\n');
      await page.getByRole('heading', { name: 'The console failed' }).waitFor();
      await page.getByText('web1 is frozen', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'web1', exact: true }).click();
      await page.getByRole('heading', { name: /^web1/ }).waitFor();
    }));

  test('hides buttons for changes from viewers', () =>
    visiting({ place: web1, anonymous: 'view' }, async ({ page }) => {
      await page.getByText('config.user.password').first().waitFor();
      const names = await page.getByRole('button').allTextContents();
      expect(names.filter((name) => /sync|suspend|resume|roll|console/i.test(name))).toEqual([]);
      await page.goto(page.url().replace(/#.*/, '#/sets/web/preview'));
      await page.getByText('Previews are for those who may operate').waitFor();
      await page.goto(page.url().replace(/#.*/, '#/console/node01/web1'));
      await page.getByText('The console is not open to you').waitFor();
      await page.getByRole('link', { name: 'Log in' }).click();
      await page.getByLabel('Token').waitFor();
    }));

  test('logs in with a token, rejects a wrong one, sends the CSRF token, and logs out', () =>
    visiting({ anonymous: 'nobody', place: '#/sets/web' }, async ({ page, server }) => {
      expect(await page.getByRole('link', { name: 'Log in with your organization' }).getAttribute('href')).toBe(
        './auth/login',
      );
      await page.getByLabel('Token').fill('wrong');
      await button(page, 'Log in').click();
      await page.getByText('The token is not known.').waitFor();
      await page.getByLabel('Token').fill('operate-token');
      await button(page, 'Log in').click();
      await button(page, 'Sync').click();
      await page.getByRole('button', { name: 'Sync now' }).click();
      await page.getByText('The sync of web has begun.').waitFor();
      await page.context().clearCookies();
      await page.getByRole('link', { name: 'Logs' }).click();
      await page.getByLabel('Token').fill('view-token');
      await button(page, 'Log in').click();
      await page.getByText('the host does not answer').first().waitFor();
      await button(page, 'Log out').click();
      await page.getByLabel('Token').waitFor();
      expect(server.readers).toBe(0);
    }));

  test('asks to log in again when a controller that was restarted no longer knows the session', () =>
    visiting({ anonymous: 'nobody', place: '#/sets/web' }, async ({ page, server }) => {
      await page.getByLabel('Token').fill('view-token');
      await button(page, 'Log in').click();
      await page.getByText('Live', { exact: true }).waitFor();
      await server.stop();
      await page.getByText('The connection to the controller was lost.').waitFor();
      await page.context().clearCookies();
      await server.start();
      await page.getByLabel('Token').waitFor();
    }));

  test('names the address of gantry ui where nothing else logs in', () =>
    visiting({}, async ({ page }) => {
      const session = { login: { token: false, oidc: false }, console: false };
      await page.route(/v1\/session$/, (route) => route.fulfill({ json: session }));
      await page.reload();
      await page
        .getByText('The address that gantry ui printed has logged in already, or its session has ended')
        .waitFor();
    }));

  test('an answer that comes after its dialog was closed leaves the next dialog open, and a failure is reported', () =>
    visiting({ place: '#/sets/web' }, async ({ page }) => {
      const held: (() => Promise<void>)[] = [];
      await page.route(/\/(suspend|sync)$/, (route) => void held.push(() => route.continue()));
      const closeEarly = async (verb: string): Promise<void> => {
        await dialog(page).getByRole('button', { name: verb }).click();
        await until(() => held.length === 1);
        await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      };
      await button(page, 'Suspend').click();
      await page.getByLabel('Reason').fill('refuse');
      await closeEarly('Suspend');
      await button(page, 'Sync').click();
      await page.getByLabel('Reason').fill('after the repair');
      await held.pop()?.();
      await page.getByText('Suspend web: Another suspension covers it already.').waitFor();
      await closeEarly('Sync now');
      await button(page, 'Suspend').click();
      await page.getByLabel('Reason').fill('a pause');
      await held.pop()?.();
      await page.getByText('The sync of web has begun.').waitFor();
      expect(await page.getByLabel('Reason').inputValue()).toBe('a pause');
    }));

  test('the page of gantry ui does not promise that a set brings another state back', async () => {
    const world = smallWorld();
    world.overview = { ...world.overview, sets: [{ ...aSet('default'), source: '', mode: 'report' }] };
    const stop = async ({ page }: Visit): Promise<string> => {
      await button(page, 'Stop web1').click();
      return dialog(page).innerText();
    };
    const promise = 'A set that declares another state brings that back.';
    await visiting({ place: '#/hosts/node01' }, async (visit) => expect(await stop(visit)).toContain(promise));
    const alone = async (visit: Visit): Promise<void> => expect(await stop(visit)).not.toContain(promise);
    await visiting({ place: '#/hosts/node01' }, alone, world);
  });

  test('shows no entries of the directory that was left while the next one loads', () =>
    visiting({ place: '#/hosts/node01/web1/files' }, async ({ page }) => {
      await page.getByRole('link', { name: 'Download motd' }).waitFor();
      await page.route(/files\?path=%2Fetc/, () => undefined);
      await page.getByRole('link', { name: 'etc/' }).click();
      await page.getByText('Loading files').waitFor({ state: 'attached' });
      expect(await page.getByRole('link', { name: 'Download motd' }).count()).toBe(0);
    }));

  test('reads the list of files again when one of several uploads fails', () =>
    visiting({ place: '#/hosts/node01/web1/files?path=%2Fsrv' }, async ({ page }) => {
      await page.getByRole('link', { name: 'Download motd' }).waitFor();
      await page.route(/two\.conf/, (route) => route.abort());
      const files = ['one.conf', 'two.conf'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('') }));
      await page.locator('input[type=file]').setInputFiles(files);
      const reading = page.waitForRequest(/files\?path=%2Fsrv/);
      await dialog(page).getByRole('button', { name: 'Upload' }).click();
      await reading;
      await dialog(page).getByRole('alert').waitFor();
    }));

  test('works with the containers of a host: power, snapshots, log, files', () =>
    visiting({ place: '#/hosts/node01' }, async ({ page, server }) => {
      await button(page, 'Stop web1').click();
      await page.getByLabel('Kill its processes at once').check();
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('web1 is stopped.').waitFor();
      await dialog(page).waitFor({ state: 'detached' });
      await page.waitForFunction('document.activeElement.ariaLabel === "Start web1"');
      await page.getByRole('link', { name: 'web1', exact: true }).click();
      await button(page, 'Take a snapshot').click();
      await page.getByLabel('Name (empty: the host gives one)').fill('noon');
      await button(page, 'Take it').click();
      await page.getByText('The snapshot noon of web1 was taken.').waitFor();
      await page.getByRole('link', { name: 'Log', exact: true }).click();
      await page.getByText('[ OK ] Started nginx').waitFor();
      await page.getByRole('link', { name: 'Files' }).click();
      await page.getByRole('link', { name: 'etc/' }).click();
      // A file that is chosen before the page shows the directory would go to the one that is left, which has a motd, too.
      await page.locator('a[aria-label="Download motd"][href*="etc%2Fmotd"]').waitFor();
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'a b.conf', mimeType: 'text/plain', buffer: Buffer.from('hello') });
      await dialog(page).getByRole('button', { name: 'Upload' }).click();
      await page.getByText('a b.conf was uploaded.').waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download motd' }).click();
      expect((await download).suggestedFilename()).toBe('motd');
      const on = '/api/v1/hosts/node01/containers/web1';
      expect(server.asked).toEqual([
        { path: `${on}/power`, body: { action: 'stop', force: true } },
        { path: `${on}/snapshot`, body: { action: 'take', name: 'noon' } },
        { path: `${on}/file`, body: 'hello', query: '?path=%2Fetc%2Fa+b.conf' },
      ]);
    }));
});
