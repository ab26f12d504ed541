// `gantry run`, `gantry history` and `gantry rollback` as commander knows them; each command's code is loaded when it runs.
import { Option, type Command } from 'commander';
import { withHostSelector } from '../../flags/fleet-flags.ts';
import type { VerbParts } from '../../program/verb-commands.ts';

const setOption = (): Option => new Option('--set <name>', 'the set (default: default)');
const withSet = (command: Command): Command => command.addOption(setOption());

export interface HistoryParts extends Pick<VerbParts, 'add' | 'program' | 'withHost' | 'withManifests'> {
  /** What `apply` may be told of guards and of the run. */
  readonly withApply: (command: Command) => Command;
}

export function addHistoryCommands(parts: HistoryParts): void {
  addRun(parts);
  addHistory(parts);
}

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

export const dryRunOption = (): Option =>
  new Option('--dry-run <kind>', 'client: only the plan; server: carry it out on a copy of the daemon in memory');

function addRun({ add, program, withHost, withManifests, withApply }: HistoryParts): void {
  add(
    'run',
    'keep the host as declared: apply, watch, and put right what changes, until it is told to end',
    (command) =>
      withHostSelector(withSet(withApply(withHost(withManifests(command)))))
        .addOption(
          new Option(
            '--interval <duration>',
            'read and look at everything again so often (default 1m, longer for thousands of objects)',
          ),
        )
        .addOption(new Option('--for <duration>', 'end after this long'))
        .addOption(
          new Option('--window <from-to>', 'put right only then, UTC, as in 22:00-06:00; may be repeated').argParser(
            collect,
          ),
        ),
    async (context, args, options) => (await import('./run.ts')).run(context, args, options),
    program,
  );
}

function addHistory({ add, program, withHost, withApply }: HistoryParts): void {
  const history = add(
    'history',
    'what was applied when, by whom and why; newest first',
    (command) =>
      withHostSelector(withSet(withHost(command))).addOption(new Option('-o, --output <format>', 'table or json')),
    async (context) => (await import('./history.ts')).history(context),
    program,
  );
  // Flags behind show and diff are theirs; commander asks the whole line of commands for that.
  program.enablePositionalOptions();
  history.enablePositionalOptions();
  add(
    'show',
    'the documents of a revision, without its secrets',
    (command) =>
      withSet(withHost(command.argument('<number>', 'of the revision'))).addOption(
        new Option('-o, --output <format>', 'yaml or json'),
      ),
    async (context, args) => (await import('./history.ts')).historyShow(context, args[0] ?? ''),
    history,
  );
  add(
    'diff',
    'how the documents of two revisions differ; exit code 0 same, 1 different, above 1 trouble',
    (command) =>
      withSet(
        withHost(
          command.argument('<number>', 'of a revision').argument('[number]', 'of another (default: the newest)'),
        ),
      ),
    async (context, args) => (await import('./history.ts')).historyDiff(context, args),
    history,
  );
  add(
    'rollback',
    'plan and apply the documents of an earlier revision',
    (command) =>
      withHostSelector(
        withSet(
          withApply(
            withHost(
              command.argument('[revision]', 'its number, commit or message (default: the last good one before this)'),
            ),
          ),
        ),
      )
        .addOption(dryRunOption())
        .addOption(
          new Option('-f, --file <path>', 'manifests of now, for secrets that the revision does not keep').argParser(
            collect,
          ),
        ),
    async (context, args) => (await import('./rollback.ts')).rollback(context, args[0]),
    program,
  );
}
