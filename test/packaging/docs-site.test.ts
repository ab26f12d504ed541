// The documentation as a site: whole, linked, safe, readable in Chromium from files without network.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderMarkdown } from '../../docs/generate/site/markdown.ts';
import { addressOf, makeSite } from '../../docs/generate/site/site.ts';
import { readSource, writeSite } from '../../packaging/build/docs-site.ts';
import { version } from '../../server/api/version.ts';
import { chromiumPath, launchChromium, noChromium } from '../support/page/browser.ts';
import { axeFindings } from '../support/page/visit.ts';
import { isLongRun } from '../support/left-out.ts';
import { tempFolder } from '../support/temp-folder.ts';

const source = readSource('.');
const { texts, copies } = makeSite(source);
const pages = [...texts].filter(([path]) => path.endsWith('.html'));
/** The site of this release beside that of an earlier one, written twice. */
const folder = tempFolder('gdocs-');
beforeAll(() => {
  mkdirSync(join(folder, '0.0.9'));
  writeFileSync(join(folder, '0.0.9/index.html'), 'old');
  for (let times = 0; times < 2; times += 1) writeSite('.', folder);
}, 60_000);
const htmlOf = (markdown: string): string => renderMarkdown(markdown, (target) => target).html;

describe('the site', () => {
  test('has a page for each kind of manifests, each verb table and each page of the provider', () => {
    for (const path of source.pages.keys()) expect(texts.has(addressOf(path)), path).toBe(true);
    expect(texts.get('docs/kinds/container.html')).toContain('<h2 id="fields">Fields</h2>');
  });

  test('has no link that leads nowhere, to an anchor that is missing, or to a folder', () => {
    const broken = pages.flatMap(([path, html]) =>
      [...html.matchAll(/(?:href|src)="([^"]*)"/g)].flatMap(([, target = '']) => {
        if (/^https?:/.test(target)) return [];
        const [to = '', anchor] = target.split('#');
        const file = to === '' ? path : posix.normalize(posix.join(posix.dirname(path), to));
        const text = texts.get(file);
        if (text === undefined) return copies.includes(file) ? [] : [`${path}: ${target}`];
        return anchor === undefined || text.includes(`id="${anchor}"`) ? [] : [`${path}: ${target}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  test('leaves no markup of Markdown in the text of its pages', () => {
    const left = pages.flatMap(([path, html]) => {
      const prose = html.replaceAll(/<pre[^]*?<\/pre>|<code>[^]*?<\/code>|<[^>]*>/g, '');
      return [...prose.matchAll(/.*(?:\]\(|```|\*\*|^\||^#+ |&lt;\/?(?:a|br|details|img)\b).*/gm)].map(
        ([line]) => `${path}: ${line}`,
      );
    });
    expect(left).toEqual([]);
  });

  test('keeps every word of its sources', () => {
    const lost = [...source.pages].flatMap(([path, text]) => {
      const html = texts.get(addressOf(path)) ?? '';
      const has = new Set(
        wordsOf(
          html
            .replaceAll(/<img[^>]* alt="([^"]*)">/g, '$1')
            .replaceAll(/<[^>]*>/g, ' ')
            .replaceAll(/&(?:lt|gt|amp|quot);/g, ' '),
        ),
      );
      const prose = text
        .replace(/^---\n[^]*?\n---\n/, '')
        .replaceAll(/<!--[^]*?-->|```[a-z]+|\]\([^)]*\)|<a id="[^"]*">/g, ' ');
      return wordsOf(prose.replaceAll(/&(?:lt|gt|amp|quot);/g, ' '))
        .filter((word) => !has.has(word))
        .map((word) => `${path}: ${word}`);
    });
    expect(lost).toEqual([]);
  });

  test('lists the releases that its folder has, and keeps the pages of earlier ones', () => {
    expect(readIndex(folder)).toEqual([`${version}/index.html`, '0.0.9/index.html']);
  });
});

const wordsOf = (text: string): readonly string[] => text.match(/[a-zA-Z]{3,}/g) ?? [];
const readIndex = (folder: string): readonly string[] =>
  [...readFileSync(join(folder, 'index.html'), 'utf8').matchAll(/<li><a href="([^"]+)"/g)].map(
    ([, target = '']) => target,
  );

describe('Markdown', () => {
  test('text that looks like HTML, and addresses that run scripts, become text', () => {
    const hostile =
      'a <script>alert(1)</script> [x](javascript:alert) `<b>` ![i](javascript:x)\n\n| <img src=x onerror=y> |\n| --- |\n| "&" |\n';
    const path = 'docs/README.md';
    const page = makeSite({
      pages: new Map([[path, `# <i>T</i>\n\n${hostile}`]]),
      files: new Set(),
      version: '1.0.0"<',
    });
    const html = page.texts.get('docs/index.html') ?? '';
    expect(html).not.toMatch(/<script>|<i>|<b>|javascript:|<img src=x|0"</);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; x <code>&lt;b&gt;</code>');
    expect(page.texts.get('search-index.js')).not.toContain('<');
    expect(htmlOf('a <script>1 < 2 <img src=x</script> <pre>< b</pre>')).not.toMatch(/<(?!\/?p>)/);
    expect(htmlOf('<div onclick="x"><!-- c -->\n<a id="here"></a>y</div>')).toBe(
      '&lt;div onclick=&quot;x&quot;&gt;<a id="here"></a>y&lt;/div&gt;',
    );
  });

  test('lists hold lists and code, paragraphs go over lines, tables hold code with bars', () => {
    expect(htmlOf('- a\n  b\n  - c\n- f\n\n2. g\n3. h')).toMatch(
      /^<ul>\n<li>a\nb<ul>\n<li>c<\/li>\n<\/ul>\n<\/li>\n<li>f<\/li>\n<\/ul>\n<ol start="2">\n<li>g<\/li>\n<li>h<\/li>\n<\/ol>$/,
    );
    expect(htmlOf('- a\n\n  ```sh\n  d\n    e\n  ```')).toContain(
      '<pre tabindex="0" role="group" aria-label="Code, sh"><code>d\n  e</code></pre>',
    );
    expect(htmlOf('| a |\n| - |\n| `x\\|y` |')).toContain('<td><code>x|y</code></td>');
    expect(htmlOf('**a** *b* 2 * 3 * 4 a_b_c')).toBe('<p><strong>a</strong> <em>b</em> 2 * 3 * 4 a_b_c</p>');
  });

  test('two headings of one text have anchors of their own', () => {
    expect(htmlOf('# A b\n# A b')).toBe('<h1 id="a-b">A b</h1>\n<h1 id="a-b-1">A b</h1>');
  });
});

if (chromiumPath === undefined) console.log(`skipped: the site in a browser: ${noChromium}`);
describe.skipIf(chromiumPath === undefined)('in Chromium, opened as files without network,', () => {
  const address = (path: string): string => pathToFileURL(join(folder, version, path)).href;
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser?.close());

  const kinds = ['docs/kinds/container.html', 'docs/index.html'];
  const all = [...kinds, 'docs/cli/verbs.html', 'docs/page.html', 'provider/docs/index.html'];
  const looks = [
    { colorScheme: 'light', width: 1280, paths: isLongRun ? all : kinds },
    { colorScheme: 'dark', width: 390, paths: all },
    ...(isLongRun
      ? ([
          { colorScheme: 'light', width: 390, paths: all },
          { colorScheme: 'dark', width: 1280, paths: all },
        ] as const)
      : []),
  ] as const;
  test.each(looks)(
    'axe finds nothing on pages in $colorScheme colours, $width pixels wide, and nothing sticks out',
    async ({ colorScheme, width, paths }) => {
      const context = await browser.newContext({ offline: true, colorScheme, viewport: { width, height: 800 } });
      const page = await context.newPage();
      for (const path of paths) {
        await page.goto(address(path));
        expect([path, await axeFindings(page)]).toEqual([path, []]);
        const sideways = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect([path, sideways]).toEqual([path, 0]);
      }
      await context.close();
    },
  );

  test('a search finds a config key, says when nothing is found, and leads to the section', async () => {
    const page = await (await browser.newContext({ offline: true })).newPage();
    await page.goto(address('docs/kinds/container.html'));
    await page.getByLabel('Search').fill('limits.memory.swap');
    const [first] = await page.locator('#results a').all();
    expect(await page.locator('#results p').textContent()).toMatch(/found|places/);
    await first?.click();
    expect(page.url()).toMatch(/^file:.*\.html(#.+)?$/);
    expect(await page.locator('main').textContent()).toContain('limits.memory.swap');
    await page.getByLabel('Search').fill('<b>zzzz');
    expect(await page.locator('#results').textContent()).toBe('Nothing found');
    expect(await axeFindings(page)).toEqual([]);
  });

  test('pages are whole without scripts, and offer no search', async () => {
    const page = await (await browser.newContext({ offline: true, javaScriptEnabled: false })).newPage();
    await page.goto(address('index.html'));
    await page.waitForURL(/docs\/index\.html$/);
    expect(await page.locator('form[role=search]').isVisible()).toBe(false);
    await page.locator('main a', { hasText: 'concepts' }).click();
    expect(await page.locator('main h1').textContent()).toBe('Concepts');
  });
});
