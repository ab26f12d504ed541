// Chromium for tests of the page: the one of the system, driven through playwright-core, without a window if there is one (a third of the
// processor time); and the page, built once for a run.
import { cpSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { build } from 'vite';
import { copyBuilt, keepBuilt } from '../built-once.ts';
import { repositoryRoot } from '../build-daemon.ts';

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser'];
const candidates = [process.env['GANTRY_TEST_CHROMIUM'], ...names.map((name) => `/usr/bin/${name}`)];

/** Undefined: this machine has none. */
export const chromiumPath = candidates.find((path) => path !== undefined && existsSync(path));
export const noChromium = 'no Chromium: apt-get install chromium-headless-shell, or set GANTRY_TEST_CHROMIUM';

export function launchChromium(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error(noChromium);
  const args = ['--disable-gpu', '--disable-dev-shm-usage', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])];
  return chromium.launch({ executablePath: chromiumPath, args });
}

/** The folder of the built page; the caller removes it. */
export async function buildPage(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-page-'));
  // Compiled code stands in dist, beside the page that the build made.
  const beside = join(repositoryRoot, 'web');
  if (existsSync(join(beside, 'index.html'))) {
    cpSync(beside, folder, { recursive: true });
    return folder;
  }
  if (copyBuilt('page', folder)) return folder;
  await build({
    configFile: join(repositoryRoot, 'reconciler/web/vite.config.ts'),
    logLevel: 'error',
    build: { outDir: folder, emptyOutDir: true },
  });
  keepBuilt('page', folder);
  return folder;
}
