// The generated parts of docs/ are what the tables and the command tree say.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { allBlocks, blockNames, withBlocks } from '../../docs/generate/blocks.ts';
import { markdownPages } from '../support/markdown.ts';

const blocks = allBlocks();
const pages = markdownPages('docs');

describe('the generated parts of docs/', () => {
  test('are current on every page (npm run generate:docs rewrites them)', () => {
    for (const { path, file, text } of pages) {
      const current = withBlocks(text, blocks);
      if (process.env['UPDATE'] === '1') writeFileSync(file, current);
      expect(readFileSync(file, 'utf8'), path).toBe(current);
    }
  });

  test('hold each kind, key table, device and verb exactly once', () => {
    expect(pages.flatMap(({ text }) => blockNames(text)).sort()).toEqual([...blocks.keys()].sort());
  });

  test('leave nothing without a meaning', () => {
    for (const [name, text] of blocks) expect(text, name).not.toMatch(/undefined|\[object|\| {2}\|$/m);
  });
});
