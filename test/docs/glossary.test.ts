// docs/glossary.md is used: its identifiers occur in the code, and words that it replaced occur nowhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/glossary.md'), 'utf8');
const rows = (page.split('## Words that are not used')[0] ?? '')
  .split('\n')
  .filter((line) => /^\| (?!word|-)/.test(line));
const names = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? ''));
const code = ['server', 'reconciler', 'provider']
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !/bindings|node_modules/.test(entry.parentPath))
  .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  .join('\n');

describe('docs/glossary.md', () => {
  test('is at most a page', () => {
    expect(page.split('\n').length).toBeLessThan(60);
  });

  test.each(names)('%s is a name in the code', (name) => {
    expect(code).toMatch(new RegExp(`\\b(?:class|interface|type|function|const) ${name}\\b`));
  });
});
