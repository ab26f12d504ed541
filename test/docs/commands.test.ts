// The commands of gantry in the pages for users: each names a verb that exists.
import { describe, expect, test } from 'vitest';
import { normalizeArgv } from '../../reconciler/cli/flags/single-dash-flags.ts';
import { readCommandLine } from '../../reconciler/cli/flags/foreign-flags.ts';
import { buildProgram, longFlags } from '../../reconciler/cli/program/program.ts';
import { groups, knownVerbs, verbs } from '../../reconciler/cli/program/verbs.ts';
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

/** Every command of ours in the page for users of other tools. */
const translated = markdownPages('docs')
  .filter(({ path }) => path === 'docs/cli/coming-from.md')
  .flatMap(({ text }) => [...text.matchAll(/^\|.*\| (.*) \|$/gm)])
  .flatMap(([, right = '']) => [...right.matchAll(/`gantry ([^`]+)`/g)].map(([, words = '']) => words));

/** What the parser says of a command line; nothing runs. */
async function complaint(words: string): Promise<string> {
  let ran = false;
  const program = buildProgram(async () => void (ran = true));
  const errors: string[] = [];
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  for (const command of [program, ...all])
    command.exitOverride().configureOutput({ writeErr: (text) => errors.push(text), writeOut: () => {} });
  const flags = longFlags();
  const { argv } = readCommandLine(words.split(' '), {}, knownVerbs);
  await program.parseAsync([...normalizeArgv(argv, flags)], { from: 'user' }).catch(() => {});
  return ran ? '' : errors.join('');
}

describe('the commands for users of other tools', () => {
  test('are found, and a wrong one would be noticed', async () => {
    expect(translated.length).toBeGreaterThan(80);
    expect(await complaint('list --nosuch')).toContain('--nosuch');
    expect(await complaint('snapshot create')).toContain('missing required argument');
  });

  test.each(translated)('gantry %s has verbs, arguments and flags that exist', async (words) => {
    expect(await complaint(words)).toBe('');
  });
});
