// `gantry docs [TOPIC...]`: shows the documentation pages of this program, by name or by full-text search.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { version } from '../../../../server/api/version.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { renderTable } from '../../output/table.ts';
import { paintFor } from '../../output/paint.ts';
import type { Context, Run } from '../../session/context.ts';
import { homeFolder } from '../../../manifest/text/home-folder.ts';
import { openBrowser } from '../../output/open-browser.ts';
import { showPaged } from '../../session/pager.ts';
import type { DocsOptions } from './setup-verbs.ts';

interface Page {
  /** `kinds/container`; `daemon` is the page of that folder. */
  readonly topic: string;
  readonly title: string;
  readonly text: string;
  /** `kinds/container.md` */
  readonly file: string;
}

const withoutFile = ({ topic, title, text }: Page) => ({ topic, title, text });

export const docs: Run<DocsOptions> = async (context, words) => {
  const folder = await docsFolder(context.io.env);
  const pages = await readPages(folder);
  if (context.options.search !== undefined) return search(context, pages, context.options.search);
  if (context.options.open === true)
    return openPage(context, folder, pageOf(pages, words.length === 0 ? 'index' : words.join('/').toLowerCase()));
  if (words.length === 0) return list(context, pages);
  const page = pageOf(pages, words.join('/').toLowerCase());
  if (context.isJson) context.jsonObjects(withoutFile(page));
  else await showPaged(context, page.text.replaceAll(/<!--[^]*?-->\n?/g, '').trimEnd());
  return exitCodes.ok;
};

/** The folder of the npm package, of the Debian package or of the sources; GANTRY_DOCS overrides it. */
async function docsFolder(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const named = env['GANTRY_DOCS'];
  const places = ['../../docs', '../../../../share/doc/gantry/docs', '../../../../docs', '../../../../../docs'].map(
    (path) => fileURLToPath(new URL(path, import.meta.url)),
  );
  const candidates = named === undefined || named === '' ? places : [named];
  for (const folder of candidates) if (await isFile(join(folder, 'README.md'))) return folder;
  throw commandError(
    `no pages of documentation at ${candidates.join(', ')}: install a package of gantry with its documentation, or name the folder docs of the sources with GANTRY_DOCS`,
  );
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );

async function readPages(folder: string): Promise<readonly Page[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      const topic = name === 'README.md' ? 'index' : name.replace(/\/README\.md$|\.md$/, '');
      return { topic, title: /^# (.+)$/m.exec(text)?.[1] ?? topic, text, file: name };
    }),
  );
}

function list(context: Context, pages: readonly Page[]): 0 {
  if (context.isJson) for (const { topic, title } of pages) context.jsonObjects({ topic, title });
  else {
    const rows = pages.map(({ topic, title }) => [topic, title]);
    context.io.stdout.write(`${renderTable(['TOPIC', 'TITLE'], rows, paintFor(context.color))}\n`);
    context.note('gantry docs TOPIC shows one; gantry docs --search WORDS finds words in all');
  }
  return exitCodes.ok;
}

/** Finds a topic by its full name, or by its last part if that is unique (`storage_volume` is in kinds/ and keys/). */
function pageOf(pages: readonly Page[], wanted: string): Page {
  const exact = pages.find(({ topic }) => topic === wanted);
  if (exact !== undefined) return exact;
  const found = pages.filter(({ topic }) => topic.endsWith(`/${wanted}`));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const topics = pages.map(({ topic }) => topic);
  throw commandError(
    found.length > 1
      ? `${found.length} pages are about ${wanted}: gantry docs ${found.map(({ topic }) => topic).join(', gantry docs ')}`
      : `no page is about ${wanted}${hint(wanted, topics)}; gantry docs lists all, gantry docs --search ${wanted} looks inside`,
  );
}

/** The site is made of the installed pages each time: it is never older than they are. */
async function openPage(context: Context, folder: string, { file }: Page): Promise<0> {
  const { env } = context.io;
  const site = join(env['XDG_CACHE_HOME'] || join(homeFolder(env), '.cache'), 'gantry', 'docs');
  try {
    await promisify(execFile)(process.execPath, [siteProgram(), site, dirname(folder)]);
  } catch (error) {
    const why = /^Error: (.*)$/m.exec(reasonOf(error))?.[1] ?? reasonOf(error);
    throw commandError(`the pages cannot be written to ${site}: ${why}`, error);
  }
  const page = join(site, version, 'docs', file.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html'));
  const address = pathToFileURL(page).href;
  context.out(address);
  await openBrowser(address, (text) => context.note(text));
  return exitCodes.ok;
}

/** Beside this program, or where the build puts it. */
function siteProgram(): string {
  const places = [
    './docs-site.js',
    '../bin/docs-site.js',
    '../../../../bin/docs-site.js',
    '../../../../dist/bin/docs-site.js',
  ];
  const candidates = places.map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const found = candidates.find((path) => existsSync(path));
  if (found === undefined) throw commandError(`--open: docs-site.js was not found at ${candidates.join(' or ')}`);
  return found;
}

/** Lines that hold all words, in any case. */
function search(context: Context, pages: readonly Page[], text: string): 0 | 1 {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) throw usageError('--search needs words, as in gantry docs --search limits.memory');
  const found = pages.flatMap(({ topic, text: page }) =>
    page
      .split('\n')
      .filter((line) => words.every((word) => line.toLowerCase().includes(word)))
      .map((line) => ({ topic, line: line.trim() })),
  );
  context.jsonObjects(found);
  for (const { topic, line } of found) context.out(`${topic}: ${line.length > 200 ? `${line.slice(0, 199)}…` : line}`);
  if (found.length === 0) context.note(`No page has ${text}`);
  return found.length === 0 ? exitCodes.error : exitCodes.ok;
}
