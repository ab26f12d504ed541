// How --help looks: commands and flags in groups, names short enough that the rest fits on 80 columns, examples below. Pure.
import type { Command, Help, Option } from 'commander';

const commandGroups: Readonly<Record<string, readonly string[]>> = {
  'Change:': ['plan', 'apply', 'destroy', 'run', 'rollback', 'update', 'preseed', 'lock', 'force-unlock'],
  'Look:': ['status', 'drift', 'diff', 'history', 'get', 'show', 'wait', 'events', 'graph', 'doctor'],
  'Begin:': ['init', 'export', 'adopt', 'release', 'validate', 'fmt', 'explain', 'schema', 'completion', 'version'],
  'Use:': ['exec', 'console', 'file', 'snapshot', 'backup', 'copy', 'move', 'image'],
};

const flagGroups: Readonly<Record<string, readonly string[]>> = {
  'What is declared:': ['file', 'overlay', 'env', 'var-file', 'var', 'recursive', 'set', 'lock-file'],
  'Which of it:': ['selector', 'object-selector', 'target', 'exclude', 'replace', 'ignore'],
  'What may happen:':
    'auto-approve force-conflicts prune prune-limit allow-destroy allow-restart allow-recreate dry-run fail-fast continue-on-error parallelism lock-timeout timeout expect-no-changes no-wait no-input'.split(
      ' ',
    ),
  'Which host:': ['host', 'client-cert', 'client-key', 'server-cert', 'project', 'embedded', 'runtime'],
  'Several hosts:': ['hosts', 'batch', 'canary', 'keep-going'],
  'What is printed:': ['output', 'json', 'no-color', 'detailed-exitcode', 'no-exit-code', 'show-secrets'],
};

const examples: Readonly<Record<string, readonly string[]>> = {
  plan: ['gantry plan web.yaml', 'gantry plan web.yaml --env prod --out web.plan', 'gantry plan . --dry-run=server'],
  apply: [
    'gantry apply web.yaml -m "more memory"',
    'gantry apply web.plan',
    'gantry apply . --hosts hosts.yaml --canary 1 --batch 25%',
  ],
  destroy: ['gantry destroy web.yaml', 'gantry destroy web.yaml --target container/web1'],
  run: ['gantry run web.yaml -y --window 22:00-06:00', 'gantry run . -y --hosts hosts.yaml --canary 1'],
  rollback: ['gantry rollback', 'gantry rollback 3 --dry-run=server', 'gantry rollback --hosts hosts.yaml -l role=web'],
  drift: ['gantry drift web.yaml', 'gantry drift web.yaml --watch', 'gantry drift . --hosts hosts.yaml -o json'],
  history: ['gantry history', 'gantry history show 3', 'gantry history diff 3 4'],
  export: ['gantry export -o live/', 'gantry export container/web1 profile'],
  adopt: ['gantry adopt --all --write live.yaml', 'gantry adopt container/web1 -f web.yaml'],
  get: ['gantry get container', 'gantry get container/web1 -o yaml'],
  explain: ['gantry explain container', 'gantry explain container.config.limits.memory'],
  exec: ['gantry exec web1 -- ls -l /srv', 'gantry exec web1 --user 1000 -- id'],
};

const titleOf = (groups: typeof commandGroups, name: string): string | undefined =>
  Object.keys(groups).find((title) => groups[title]?.includes(name));

/** Of the program and all that is below it. */
export function shapeHelp(program: Command): void {
  for (const command of program.commands) {
    const title = titleOf(commandGroups, command.name());
    if (title !== undefined) command.helpGroup(title);
    const lines = examples[command.name()];
    if (lines !== undefined)
      command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}\n`).join('')}`);
  }
  shape(program);
}

function shape(command: Command): void {
  for (const option of command.options) {
    const title = titleOf(flagGroups, option.long?.slice(2) ?? '');
    if (title !== undefined) option.helpGroup(title);
  }
  command.configureHelp({ subcommandTerm: nameOf, groupItems, minWidthToWrap: 20 });
  for (const one of command.commands) shape(one);
}

/** Without its arguments: `gantry help NAME` has them. */
const nameOf = (command: Command): string => [command.name(), ...command.aliases()].join('|');

/** In the order of the groups above; what has none, such as --help, stands last. */
const groupItems: Help['groupItems'] = <T extends Command | Option>(
  _all: T[],
  visible: T[],
  titleOfItem: (item: T) => string,
): Map<string, T[]> => {
  const grouped = new Map<string, T[]>();
  for (const title of [...Object.keys(commandGroups), ...Object.keys(flagGroups)]) grouped.set(title, []);
  for (const item of visible) {
    const title = titleOfItem(item);
    grouped.set(title, [...(grouped.get(title) ?? []), item]);
  }
  const present = [...grouped].filter(([, items]) => items.length > 0);
  return new Map(present.map(([title, items]) => [title, inOrder(commandGroups[title] ?? [], items)]));
};

/** Flags stay in the order in which they are declared. */
const inOrder = <T extends Command | Option>(names: readonly string[], items: readonly T[]): T[] =>
  [...items].sort((a, b) => names.indexOf(a.name()) - names.indexOf(b.name()));
