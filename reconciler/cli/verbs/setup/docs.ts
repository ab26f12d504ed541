// `gantry docs [TOPIC...]`: shows the documentation pages of this program, by name or by full-text search.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { renderTable } from '../../output/table.ts';
import { paintFor } from '../../output/paint.ts';
import type { Context, Run } from '../../session/context.ts';
import { showPaged } from '../../session/pager.ts';
import type { DocsOptions } from './setup-verbs.ts';

interface Page {
  /** `kinds/container`; `daemon` is the page of that folder. */
  readonly topic: string;
  readonly title: string;
  readonly text: string;
}

export const docs: Run<DocsOptions> = async (context, words) => {
  const pages = await readPages(await docsFolder(context.io.env));
  if (context.options.search !== undefined) return search(context, pages, context.options.search);
  if (words.length === 0) return list(context, pages);
  const page = pageOf(pages, words.join('/').toLowerCase());
  if (context.isJson) context.jsonObjects(page);
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
      return { topic, title: /^# (.+)$/m.exec(text)?.[1] ?? topic, text };
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
