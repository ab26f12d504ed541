// The pages of the documentation as a site of files that need no server: HTML, a style, a search that works without network. Pure.
import { posix } from 'node:path';
import { escapeHtml, plainText, renderMarkdown, type Section } from './markdown.ts';
export { version } from '../../../server/api/version.ts';
import { searchScript, styleSheet } from './parts.ts';

export interface Source {
  /** By path from the root of the repository: the texts of the pages. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files that pages may link to, which become part of the site as they are. */
  readonly files: ReadonlySet<string>;
  readonly version: string;
}

export interface Site {
  /** By path in the site. */
  readonly texts: ReadonlyMap<string, string>;
  /** Paths from the root of the repository, kept in the site. */
  readonly copies: readonly string[];
}

/** The page that opens the site. */
export const home = 'docs/README.md';

export function makeSite(source: Source): Site {
  const copies = new Set<string>();
  const texts = new Map([
    ['style.css', styleSheet],
    ['search.js', searchScript],
  ]);
  const found: { readonly url: string; readonly page: string; readonly section: Section }[] = [];
  for (const [path, text] of source.pages) {
    const { html, sections } = renderMarkdown(text, (target) => resolveLink(source, path, target, copies));
    const title = titleOf(text, path);
    texts.set(addressOf(path), pageHtml(source, path, title, html));
    for (const section of sections) found.push({ url: addressOf(path), page: title, section });
  }
  texts.set('search-index.js', indexScript(found));
  texts.set('index.html', redirectHtml(addressOf(home), `Gantry ${source.version}`));
  return { texts, copies: [...copies].toSorted() };
}

export const titleOf = (text: string, path: string): string => plainText(/^# (.+)$/m.exec(text)?.[1] ?? path);

/** `index.html` at the top leads to the home page. */
export const addressOf = (path: string): string =>
  path === 'README.md' ? 'readme.html' : path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html');

/** Links to what the site does not hold lose their address and keep their words. */
function resolveLink(source: Source, from: string, target: string, copies: Set<string>): string | undefined {
  if (/^https?:\/\//.test(target)) return target;
  if (/^[a-z][a-z+.-]*:/i.test(target)) return undefined;
  const [to = '', anchor] = target.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (to === '') return hash;
  const path = posix.normalize(posix.join(posix.dirname(from), to)).replace(/\/$/, '');
  const page = [path, `${path}/README.md`].find((one) => source.pages.has(one));
  if (page !== undefined) return relative(from, addressOf(page)) + hash;
  if (!source.files.has(path)) return undefined;
  copies.add(path);
  return relative(from, path) + hash;
}

const relative = (from: string, to: string): string => posix.relative(posix.dirname(addressOf(from)), to);

function pageHtml(source: Source, path: string, title: string, html: string): string {
  const root = relative(path, '.') || '.';
  return `${head(`${title} · Gantry ${source.version}`, root)}
<body data-root="${root}">
<a class="skip" href="#content">Skip to the text</a>
<header>
<a href="${relative(path, addressOf(home))}">Gantry ${escapeHtml(source.version)}</a>
<form role="search" hidden><label for="search">Search</label> <input id="search" type="search" autocomplete="off"></form>
</header>
<div id="results" role="status"></div>
<div class="columns">
<nav aria-label="Pages"><details><summary>All pages</summary>
${navigation(source, path)}
</details></nav>
<main id="content">
${html}
</main>
</div>
<script src="${root}/search-index.js"></script>
<script src="${root}/search.js"></script>
</body>
</html>
`;
}

const head = (title: string, root: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${root}/style.css">
</head>`;

/** Pages of a folder stand together, under its name. */
function navigation({ pages }: Source, from: string): string {
  const folders = new Map<string, string[]>();
  for (const [path, text] of pages) {
    const current = path === from ? ' aria-current="page"' : '';
    const line = `<li><a href="${relative(from, addressOf(path))}"${current}>${escapeHtml(titleOf(text, path))}</a></li>`;
    const folder = posix.dirname(path);
    folders.set(folder, [...(folders.get(folder) ?? []), line]);
  }
  return [...folders]
    .map(
      ([folder, lines]) => `<p>${folder === '.' ? 'Gantry' : escapeHtml(folder)}</p>\n<ul>\n${lines.join('\n')}\n</ul>`,
    )
    .join('\n');
}

/** A script and no JSON: pages opened as files may load scripts only. */
function indexScript(
  found: readonly { readonly url: string; readonly page: string; readonly section: Section }[],
): string {
  const rows = found
    .filter(({ section }) => section.text !== '' || section.title !== '')
    .map(({ url, page, section }) => [
      section.anchor === '' ? url : `${url}#${section.anchor}`,
      page,
      section.title,
      section.text.replaceAll(/\s+/g, ' '),
    ]);
  return `window.searchIndex = ${JSON.stringify(rows).replaceAll('<', '\\u003c')};\n`;
}

const redirectHtml = (to: string, title: string): string =>
  `${head(title, '.').replace('<link', `<meta http-equiv="refresh" content="0; url=${to}">\n<link`)}
<body><main><h1>${escapeHtml(title)}</h1><p><a href="${to}">Documentation</a></p></main></body>
</html>
`;

/** The page above the folders of all releases; the newest comes first. */
export const versionsHtml = (versions: readonly string[]): string =>
  `${head('Gantry: documentation by release', versions[0] ?? '.')}
<body><main><h1>Documentation of Gantry</h1><ul>
${versions.map((one) => `<li><a href="${escapeHtml(one)}/index.html">${escapeHtml(one)}</a></li>`).join('\n')}
</ul></main></body>
</html>
`;
