// `gantry docs` prints the pages of documentation that came with the program.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';

test('docs lists topics, shows a page by its topic or the end of it, and names those that share an end', async () => {
  const listed = await cli(['docs']);
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/^kinds\/container +container$/m)]);
  const page = await cli(['docs', 'drift']);
  expect([page.code, page.stdout]).toEqual([0, readFileSync('docs/drift.md', 'utf8').trimEnd() + '\n']);
  expect((await cli(['docs', 'kinds', 'container'])).stdout).not.toContain('<!-- generated');
  expect((await cli(['docs', 'image_alias'])).stdout).toMatch(/^# image_alias/);
  const shared = await cli(['docs', 'container']);
  expect([shared.code, shared.stderr]).toEqual([
    1,
    expect.stringContaining('gantry docs keys/container, gantry docs kinds/container'),
  ]);
  expect(JSON.parse((await cli(['docs', 'drift', '--json'])).stdout)).toMatchObject({ topic: 'drift', title: 'Drift' });
});

test('docs --search prints the lines that hold all words, and exits with 1 when none does', async () => {
  const found = await cli(['docs', '--search', 'limits.memory SWAP']);
  expect([found.code, found.stdout]).toEqual([0, expect.stringMatching(/^keys\/container: /m)]);
  expect(await cli(['docs', '--search', 'xyzzyx'])).toMatchObject({ code: 1, stdout: '' });
  expect(await cli(['docs', '--search', ' '])).toMatchObject({ code: 64, stdout: '' });
});

test('docs suggests the nearest topic, and names the searched folders if there are no pages', async () => {
  const wrong = await cli(['docs', 'drfit']);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('did you mean drift?')]);
  const lost = await cli(['docs'], { env: { GANTRY_DOCS: '/nonexistent' } });
  expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining('/nonexistent')]);
});
