// Words that docs/glossary.md replaces occur nowhere: in sources, help texts, tests and pages.
import { spawnSync } from 'node:child_process';
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
  test('words that are not used are at least those of the house', () => {
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

/** The lines of a source at which a comment begins, without its marks. */
const commentsOf = ({ path, lines }: (typeof texts)[number]): readonly { place: string; text: string }[] =>
  lines.flatMap((line, at) => {
    const text = /^\s*(?:\/\/|\/\*\*) (.*)/.exec(line)?.[1];
    const isNext = /^\s*\/\//.test(line) && /^\s*\/\//.test(lines[at - 1] ?? '');
    return text === undefined || isNext ? [] : [{ place: `${path}:${at + 1}`, text }];
  });

const sources = texts.filter(({ path }) => !path.endsWith('.md'));

describe('sentences have a subject', () => {
  test('no comment begins with Of, That, Whoever or With, or says anew', () => {
    const found = sources.flatMap(commentsOf).filter(({ text }) => /^(?:Of|That|Whoever|With)\b|\banew\b/.test(text));
    expect(found.map(({ place }) => place)).toEqual([]);
  });

  test('no name of a test begins with a preposition, that or whoever', () => {
    const name =
      /^\s*test(?:\.\w+)*(?:\([^\n]*?\))?\(\s*['"`](?:after|at|by|during|for|from|in|of|on|that|under|whoever|with|without)\b/i;
    const found = sources.flatMap(({ path, lines }) =>
      lines.flatMap((line, at) => (name.test(line) ? [`${path}:${at + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });

  test('titles of the latest commits are `area: imperative`, of at most 72 characters', (context) => {
    const log = spawnSync('git', ['log', '-20', '--format=%s'], { cwd: root, encoding: 'utf8' });
    if (log.status !== 0) context.skip('there is no history here');
    const wrong = log.stdout
      .trim()
      .split('\n')
      .filter((title) => title.length > 72 || !/^[a-z][a-z0-9, /-]*: \S/.test(title));
    expect(wrong).toEqual([]);
  });
});
