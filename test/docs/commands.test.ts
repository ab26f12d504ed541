// The commands of gantry in the pages for users: each names a verb that exists.
import { describe, expect, test } from 'vitest';
import { groups, verbs } from '../../reconciler/cli/program/verbs.ts';
import { markdownPages } from '../support/markdown.ts';

/** Lines that are typed, in blocks of shell and transcripts. */
const typed = ['docs', '.', 'examples']
  .flatMap((folder) => markdownPages(folder))
  .filter(({ path }) => path !== 'CHANGELOG.md' && !path.startsWith('docs/cli/'))
  .flatMap(({ path, text }) =>
    [...text.matchAll(/```(?:sh|console|bash)\n([\s\S]*?)```/g)]
      .flatMap((match) => (match[1] ?? '').split('\n'))
      .flatMap((line) => /^(?:\$ )?(gantry [a-z].*)$/.exec(line)?.[1] ?? [])
      .map((command) => ({ path, command })),
  );

const rows = Object.values(verbs).flat();
const known = new Map(
  rows.flatMap(({ verb }) =>
    [verb.name, ...(verb.alias === undefined ? [] : [verb.alias])].map((name) => [name, verb]),
  ),
);

function verbOf(command: string): string {
  const [, first = '', second = ''] = command.split(/[\s;|]+/);
  return first in groups || known.has(`${first} ${second}`) ? `${first} ${second}` : first;
}

describe('the commands of the pages', () => {
  test('are found', () => {
    expect(typed.length).toBeGreaterThan(100);
  });

  test.each(typed)('$path: $command', ({ command }) => {
    expect([...known.keys()]).toContain(verbOf(command));
  });
});
