// `gantry docs --open`: the programs write the site of the installed pages and hand its address to the browser of the desktop.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { buildPrograms, repository, runGantry } from '../../support/cli/programs.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const programs = buildPrograms();
const home = tempFolder('gdo-');
const desktop = join(home, 'bin');
mkdirSync(desktop);
writeFileSync(join(desktop, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" >'${home}/opened'\n`, { mode: 0o755 });

const gantry = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runGantry(programs, words, {
    cwd: home,
    env: {
      PATH: `${desktop}:${process.env['PATH']}`,
      XDG_CACHE_HOME: join(home, 'cache'),
      GANTRY_DOCS: join(repository, 'docs'),
      ...env,
    },
  });

test('the page of a topic opens from the folder of the cache, beside its search', async () => {
  const ran = await gantry(['docs', 'kinds', 'container', '--open']);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  const file = fileURLToPath(ran.stdout.trim());
  expect(file).toMatch(/cache\/gantry\/docs\/[^/]+\/docs\/kinds\/container\.html$/);
  expect(readFileSync(file, 'utf8')).toContain('<h1 id="container">');
  expect(existsSync(file.replace('docs/kinds/container.html', 'search-index.js'))).toBe(true);
  await until(() => existsSync(join(home, 'opened')));
  expect(readFileSync(join(home, 'opened'), 'utf8')).toBe(ran.stdout.trim());
});

test('no topic opens the first page, and a folder that cannot be written is named', async () => {
  const ran = await gantry(['docs', '--open']);
  expect(ran.stdout.trim()).toMatch(/\/docs\/index\.html$/);
  expect(existsSync(fileURLToPath(ran.stdout.trim()))).toBe(true);
  const lost = await gantry(['docs', '--open'], { XDG_CACHE_HOME: '/dev/null' });
  expect([lost.code, lost.stdout, lost.stderr]).toEqual([
    1,
    '',
    expect.stringMatching(/^Error: the pages cannot be written to \/dev\/null\/gantry\/docs: ENOTDIR[^\n]*\n$/),
  ]);
});

test('a desktop without a browser is told, with the address to open by hand', async () => {
  const ran = await gantry(['docs', '--open'], { PATH: '/nonexistent' });
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([
    0,
    expect.stringContaining('file:///'),
    expect.stringContaining('xdg-open cannot be run: open the address yourself'),
  ]);
});
