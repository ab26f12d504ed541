// `gantry ui` as a user has it: the built program, a browser, and a real container: start, shell, files, snapshots, what differs, stop.
// `--read-only` gives the browser nothing of that.
import type { ChildProcess } from 'node:child_process';
import { cpSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPrograms, runGantry, type Programs, type Ran } from '../../support/cli/programs.ts';
import {
  createContainer,
  hostRemains,
  makeSeeded,
  realRuntimeMissing,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { chromiumPath, noChromium } from '../../support/page/browser.ts';
import { PageHarness, type OpenPage } from '../../support/page/visit.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const missing = chromiumPath === undefined ? noChromium : await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: the page of a host with a real container: ${missing}`);

describe.skipIf(missing !== undefined)('gantry ui', () => {
  const folder = tempFolder('gpage-');
  let programs: Programs;
  let harness: PageHarness;
  let daemon: TestDaemon;
  beforeAll(async () => {
    programs = buildPrograms();
    harness = await PageHarness.start();
    cpSync(harness.folder, join(programs.root, 'dist', 'web'), { recursive: true });
    daemon = await makeSeeded({ runtime: 'lxc' });
    const built = await buildBusyboxImage(join(folder, 'image'), { busybox: { dhcp: false } });
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    await createContainer(daemon, 'web', { source: { type: 'image', alias: 'bb' } });
  });
  afterAll(async () => {
    await harness?.end();
    const dir = daemon?.dir;
    await daemon?.cleanUp();
    if (dir !== undefined) expect(hostRemains(dir)).toEqual([]);
  });

  async function opened(...args: readonly string[]): Promise<OpenPage & { readonly end: () => Promise<Ran> }> {
    let child: ChildProcess | undefined;
    let said = '';
    const ran = runGantry(programs, ['ui', '--host', `unix://${daemon.socketPath}`, ...args], {
      started: (one) => (child = one),
      heard: (text) => (said = text),
    });
    await until(() => said.includes('works once'), 60_000);
    const [, url = ''] = /Open (\S+)/.exec(said) ?? [];
    const visit = await harness.open({ url });
    await visit.page.getByText('Live', { exact: true }).waitFor();
    return {
      ...visit,
      end: async () => {
        await visit.close();
        child?.kill('SIGINT');
        return ran;
      },
    };
  }

  /** To another place of the page, in the session that the browser has. */
  const go = (page: Page, place: string): Promise<unknown> =>
    page.goto(`${new URL(page.url()).origin}/${place}`, { waitUntil: 'domcontentloaded' });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const hostOf = async (): Promise<string> =>
    (await daemon.call('GET', '/1.0')).metadata.environment.server_name as string;

  test('starts a container, opens a shell in it, carries files both ways, restores a snapshot, shows what differs, stops it', async () => {
    const manifests = join(folder, 'stack.yaml');
    await writeFile(manifests, 'kind: container\nname: web\nconfig: { user.owner: page }\n');
    const { page, complaints, end } = await opened(manifests, '--set', 'page');
    const host = await hostOf();
    await go(page, `#/hosts/${host}`);
    await button(page, 'Start web').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByText('web is started.').waitFor();

    await page.getByRole('link', { name: 'Console of web' }).click();
    await page.getByText('online', { exact: true }).waitFor();
    await page.locator('.xterm-helper-textarea:focus').waitFor({ state: 'attached' });
    await page.keyboard.type('echo answer-$((6*7)) | tee /root/typed; hostname\n');
    const screen = page.locator('.xterm-accessibility, .xterm-rows').first();
    await expect.poll(() => screen.textContent(), { timeout: 60_000 }).toMatch(/answer-42\s*web/);
    await page.keyboard.type('exit 3\n');
    await page.getByRole('heading', { name: 'The shell has ended' }).waitFor();
    await page.getByText('Its exit code is 3.').waitFor();

    await go(page, `#/hosts/${host}/web/files?path=%2Froot`);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download typed' }).click();
    expect(await readFile(await (await download).path(), 'utf8')).toBe('answer-42\n');
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'up.bin', mimeType: 'application/octet-stream', buffer: bytes });
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click();
    await page.getByText('up.bin was uploaded.').waitFor();
    const uploaded = await daemon.call('GET', '/1.0/containers/web/files?path=/root/up.bin');
    expect(uploaded.bytes).toEqual(bytes);

    const onConsole = (line: string): Promise<unknown> =>
      daemon.ok('POST', '/1.0/containers/web/exec', { command: ['sh', '-c', `echo ${line} >/dev/console`] });
    await onConsole('before');
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    const log = page.getByLabel('Log of web', { exact: true });
    await expect.poll(() => log.textContent(), { timeout: 60_000 }).toContain('before');
    await onConsole('as-it-comes');
    await expect.poll(() => log.textContent(), { timeout: 60_000 }).toContain('as-it-comes');

    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await page.getByText(/\d processes/).waitFor();
    for (const figure of ['CPU', 'Memory', 'Received']) await page.getByText(figure, { exact: true }).first().waitFor();
    await button(page, 'Take a snapshot').click();
    await page.getByLabel('Name (empty: the host gives one)').fill('noon');
    await button(page, 'Take it').click();
    await page.getByText('The snapshot noon of web was taken.').waitFor();
    expect((await daemon.call('DELETE', '/1.0/containers/web/files?path=/root/up.bin')).status).toBe(200);
    await button(page, 'Restore noon').click();
    await button(page, 'Restore it').click();
    await page.getByText('The snapshot noon of web was restored.').waitFor();
    expect((await daemon.call('GET', '/1.0/containers/web/files?path=/root/up.bin')).bytes).toEqual(bytes);

    await page.getByRole('link', { name: 'What differs from the manifests' }).click();
    await page.getByText('config.user.owner').first().waitFor();

    await go(page, `#/hosts/${host}/web`);
    await button(page, 'Stop web').click();
    await page.getByLabel('Kill its processes at once').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('web is stopped.').waitFor();
    expect((await daemon.call('GET', '/1.0/containers/web')).metadata.status).toBe('Stopped');
    expect(complaints).toEqual([]);
    expect((await end()).code).toBe(0);
  });

  test('opens nothing of a container with --read-only, and the server refuses what the page does not offer', async () => {
    const { page, complaints, end } = await opened('--read-only');
    const host = await hostOf();
    await go(page, `#/hosts/${host}`);
    await page.getByRole('heading', { name: host }).first().waitFor();
    for (const name of ['Start web', 'Take a snapshot']) expect(await button(page, name).count()).toBe(0);
    await go(page, `#/hosts/${host}/web/files`);
    await page.getByText('Containers are not open to you').waitFor();
    await go(page, `#/console/${host}/web`);
    await page.getByText('The console is not open to you').waitFor();
    const refused = await page.evaluate(async (on) => {
      const { csrfToken } = (await (await fetch('/api/v1/session')).json()) as { csrfToken: string };
      const headers = { 'content-type': 'application/json', 'x-csrf-token': csrfToken };
      const power = await fetch(`${on}/power`, { method: 'POST', headers, body: '{"action":"start"}' });
      const file = await fetch(`${on}/file?path=/etc/hostname`);
      return [power.status, file.status];
    }, `/api/v1/hosts/${host}/containers/web`);
    expect(refused).toEqual([403, 403]);
    expect((await daemon.call('GET', '/1.0/containers/web')).metadata.status).toBe('Stopped');
    expect(complaints).toEqual([]);
    expect((await end()).code).toBe(0);
  });
});
