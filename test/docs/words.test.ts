// Words that docs/glossary.md replaces occur nowhere: in sources, help texts, tests and pages.
import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesBelow } from '../support/markdown.ts';

const root = resolve(import.meta.dirname, '../..');
const glossary = 'docs/glossary.md';
const [, list = ''] = readFileSync(join(root, glossary), 'utf8').split('## Words that are not used');
const banned = [...list.matchAll(/^\| (?!not |-)(.+?) +\|/gm)].map((match) => match[1] ?? '');

/** What programs write, and what others wrote. */
const notOurs = /^provider\/bindings\/(cdkt[fn]|generator)\/|^test\/(golden|fixtures)\/|^docs\/glossary\.md$/;
const texts = [
  ...['server', 'reconciler', 'provider', 'docs', 'test', 'examples'].flatMap((folder) =>
    filesBelow(join(root, folder)),
  ),
  ...['README.md', 'CONTRIBUTING.md'].map((name) => join(root, name)),
]
  .map((file) => ({ file, path: relative(root, file) }))
  .filter(({ path }) => /\.(tsx?|md)$/.test(path) && !notOurs.test(path))
  .map(({ file, path }) => ({ path, lines: readFileSync(file, 'utf8').split('\n') }));

describe('words', () => {
  test('that are not used are at least those of the house', () => {
    expect(banned).toEqual(expect.arrayContaining(['told of', "nobody's", 'seldom', 'counts no more']));
  });

  test.each(banned)('%s: the glossary has a better one', (word) => {
    const pattern = new RegExp(`\\b${word.replaceAll(' ', '\\s+')}\\b`, 'i');
    const found = texts.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) =>
        pattern.test(line) && !path.endsWith('docs/words.test.ts') ? [`${path}:${at + 1}`] : [],
      ),
    );
    expect(found).toEqual([]);
  });
});
