// The links between pages: every relative link in every .md file leads to a file, and to a heading where it names one.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { markdownPages, withoutCode } from '../support/markdown.ts';

const pages = markdownPages('.');

const links = pages.flatMap(({ path, file, text }) =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [to = '', anchor] = target.split('#');
      const absolute = to === '' ? file : resolve(dirname(file), to);
      return { from: path, target, file: absolute, path: absolute.slice(file.length - path.length), anchor };
    }),
);

describe('links in Markdown', () => {
  test('lead to files of the repository', () => {
    expect(links.flatMap(({ from, target, file }) => (existsSync(file) ? [] : [`${from}: ${target}`]))).toEqual([]);
  });

  test('lead to headings that the page has', () => {
    const broken = links.flatMap(({ from, target, file, anchor }) =>
      anchor === undefined || !existsSync(file) || statSync(file).isDirectory() || headings(file).includes(anchor)
        ? []
        : [`${from}: ${target}`],
    );
    expect(broken).toEqual([]);
  });

  test('lead from a page of the npm package to files of the package', () => {
    const lost = links.filter(({ from, path }) => isShipped(from) && existsSync(path) && !isShipped(path));
    expect(lost.map(({ from, target }) => `${from}: ${target}`)).toEqual([]);
  });

  test('reach every page of docs/ from its index', () => {
    const reached = new Set(['docs/README.md']);
    for (const path of reached) for (const link of links) if (link.from === path) reached.add(link.path);
    expect(pages.map(({ path }) => path).filter((path) => path.startsWith('docs/') && !reached.has(path))).toEqual([]);
  });
});

const shipped = (JSON.parse(readFileSync('package.json', 'utf8')) as { files: readonly string[] }).files;

/** Whether the list of files in package.json names the file or a folder above it. */
const isShipped = (path: string): boolean =>
  shipped.some((pattern) => {
    const [folder = '', names = ''] = pattern.split('/**/*');
    return path === folder || (path.startsWith(`${folder}/`) && path.endsWith(names));
  });

/** Headings as their anchors, and anchors that a page sets itself. */
function headings(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8');
  const own = [...text.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1] ?? '');
  const titles = [...withoutCode(text, { inline: false }).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] ?? '');
  return [...own, ...titles.map(anchorOf)];
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
