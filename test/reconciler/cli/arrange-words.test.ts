// Command lines with flags before the verb, and commands behind the name of a container.
import { describe, expect, test } from 'vitest';
import { arrangeWords } from '../../../reconciler/cli/flags/arrange-words.ts';
import { readCommandLine } from '../../../reconciler/cli/flags/foreign-flags.ts';
import { knownVerbs } from '../../../reconciler/cli/program/verbs.ts';
import { createContainer, seed, setState, withDaemon } from '../../support/daemons/daemon.ts';
import { cli } from '../../support/cli/io.ts';

function arranged(line: string): string {
  const { verb, rest } = arrangeWords(line.split(' '), knownVerbs);
  return [...verb, '|', ...rest].join(' ');
}

describe('Flags before the verb', () => {
  test.each([
    ['--host unix:///a list', 'list | --host unix:///a'],
    ['-host unix:///a --json image list x', 'image list | -host unix:///a --json x'],
    ['image --project p list', 'image list | --project p'],
    ['--host=unix:///a rm -f web', 'rm | --host=unix:///a -f web'],
    ['-f stack.yaml plan', 'plan | -f stack.yaml'],
    ['-f delete web', 'delete | -f web'],
    ['--json history show 1', 'history show | --json 1'],
    ['--unheard list', 'list | --unheard'],
  ])('%s', (line, wanted) => {
    expect(arranged(line)).toBe(wanted);
  });

  test.each(['--version', '-v list', '--help', '--json', 'help plan', 'lst --json'])('%s stays as it is', (line) => {
    expect(arranged(line).replace('| ', '')).toBe(line);
  });

  test('Flags of GANTRY_CLI_ARGS stand behind both words of a verb, and before those that were typed', () => {
    const { argv } = readCommandLine(['--json', 'image', 'list'], { GANTRY_CLI_ARGS: '--project p' }, knownVerbs);
    expect(argv).toEqual(['image', 'list', '--project', 'p', '--json']);
  });
});

describe('A command behind the name of a container', () => {
  test.each([
    ['exec web uname -a', 'exec | web -- uname -a'],
    ['exec web --user 1000 id --json', 'exec | web --user 1000 -- id --json'],
    ['--host unix:///a exec -t web sh -c x', 'exec | --host unix:///a -t web -- sh -c x'],
    ['exec web -- uname -a', 'exec | web -- uname -a'],
    ['exec web env -- x', 'exec | web -- env -- x'],
    ['exec -- web ls -a', 'exec | -- web ls -a'],
    ['exec web', 'exec | web'],
  ])('%s', (line, wanted) => {
    expect(arranged(line)).toBe(wanted);
  });

  test('The command gets its flags, also those that gantry has, too', async () => {
    await withDaemon({}, async (daemon) => {
      await seed(daemon);
      await createContainer(daemon, 'web');
      await setState(daemon, 'web', 'start');
      const env = { GANTRY_SOCKET: daemon.socketPath };
      const ran = await cli(['exec', 'web', 'echo', '-remote', '--remote', '--json', '-x'], { env });
      expect([ran.code, ran.stdout]).toEqual([0, '-remote --remote --json -x\n']);
      const listed = await cli(['--host', `unix://${daemon.socketPath}`, '--json', 'image', 'list']);
      expect([listed.code, listed.stderr]).toEqual([0, '']);
    });
  });
});
