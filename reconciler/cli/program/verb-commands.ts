// The verbs around the plan as commander knows them: export, drift, adopt and the like; each command's code is loaded when it runs.
import { Option, type Command } from 'commander';
import { withHostSelector, withSelector } from '../flags/fleet-flags.ts';
import type { AddCommand } from '../verbs/images/image-commands.ts';

export interface VerbParts {
  readonly add: AddCommand;
  readonly program: Command;
  readonly withHost: (command: Command) => Command;
  readonly withManifests: (command: Command) => Command;
}

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

const setOption = (text = 'the set (default: default)'): Option => new Option('--set <name>', text);

export function addVerbCommands(parts: VerbParts): void {
  addExport(parts);
  addDrift(parts);
  addOwnership(parts);
  addReaders(parts);
  addHelpers(parts);
}

function addExport({ add, program, withHost }: VerbParts): void {
  add(
    'export',
    'the live host as manifests that plan to nothing',
    (command) =>
      withSelector(
        withHost(command.argument('[kind/name...]', 'KIND, KIND/NAME or KIND/PATTERN (default: everything)')),
      )
        .addOption(new Option('-o, --output <path>', 'a directory (a file a kind in it) or FILE.yaml; default: stdout'))
        .addOption(new Option('--redact', 'write variables in the place of secrets'))
        .addOption(new Option('--force', 'write over files'))
        .addOption(setOption('whose manage: is written (default: default)')),
    async (context, args, options) => (await import('../verbs/objects/export.ts')).exportHost(context, args, options),
    program,
  );
}

function addDrift({ add, program, withHost, withManifests }: VerbParts): void {
  add(
    'drift',
    'how the host differs from the manifests and from what was last applied; only reads, exit code 2 when it does',
    (command) =>
      withSelector(withHost(withManifests(command)))
        .addOption(new Option('-o, --output <format>', 'text, json or markdown'))
        .addOption(
          new Option(
            '--ignore <pattern>',
            'KEY, KIND/NAME or KIND/NAME.KEY, * for any text, @DATE for its last day',
          ).argParser(collect),
        )
        .addOption(new Option('--watch', 'go on and tell each change as it comes, with who made it'))
        .addOption(new Option('--interval <duration>', 'with --watch: look at everything again so often (default 5m)'))
        .addOption(new Option('--for <duration>', 'with --watch: end after this long'))
        .addOption(new Option('--no-exit-code', 'exit with 0 also when it differs'))
        .addOption(new Option('--detailed-exitcode', 'the default').hideHelp())
        .addOption(setOption('the set that these manifests are (default: manage.set, or default)')),
    async (context, args, options) => (await import('../verbs/planning/drift.ts')).drift(context, args, options),
    program,
  );
}

function addOwnership({ add, program, withHost }: VerbParts): void {
  add(
    'adopt',
    'take live objects into the ownership of the set, changing nothing else; refuses when a plan would not be empty',
    (command) =>
      withSelector(withHost(command.argument('[kind/name...]', 'what to adopt')))
        .addOption(new Option('--all', 'everything that the manifests declare; with --write all that the server has'))
        .addOption(new Option('-f, --file <path>', 'manifests (default: the current directory)').argParser(collect))
        .addOption(new Option('--var <name=value>', 'set a variable; may be repeated').argParser(collect))
        .addOption(new Option('--env <name>', 'with the files of overlays/NAME'))
        .addOption(new Option('--write <file>', 'write manifests for what none declares, then adopt it'))
        .addOption(new Option('--lock-timeout <duration>', 'wait this long for the lock of the set'))
        .addOption(setOption('the set that these manifests are (default: manage.set, or default)')),
    async (context, args, options) => (await import('../verbs/applying/adopt.ts')).adopt(context, args, options),
    program,
  ).alias('import');
  add(
    'release',
    "let go of objects: they stay as they are and are nobody's",
    (command) =>
      withSelector(withHost(command.argument('[kind/name...]', 'what to let go of')))
        .addOption(new Option('--all', 'everything that the set owns'))
        .addOption(new Option('--lock-timeout <duration>', 'wait this long for the lock of the set'))
        .addOption(setOption()),
    async (context, args, options) => (await import('../verbs/applying/adopt.ts')).release(context, args, options),
    program,
  );
}

function addReaders({ add, program, withHost, withManifests }: VerbParts): void {
  add(
    'get',
    'live objects of one kind',
    (command) =>
      withSelector(
        withHost(command.argument('<kind>', 'container, profile, network ...').argument('[name...]', 'only these')),
      ).addOption(new Option('-o, --output <format>', 'table, yaml, json or name')),
    async (context, args) => (await import('../verbs/objects/get.ts')).get(context, args),
    program,
  );
  add(
    'diff',
    'what apply would change, as a unified diff; exit code 0 same, 1 different, above 1 trouble',
    (command) =>
      withSelector(withHost(withManifests(command))).addOption(
        setOption('the set that these manifests are (default: manage.set, or default)'),
      ),
    async (context, args) => (await import('../verbs/planning/diff.ts')).diff(context, args),
    program,
  );
  add(
    'explain',
    'what a manifest may say: explain container.config.limits.memory, explain container.devices.nic; of Terraform JSON: explain terraform',
    (command) => command.argument('[kind.path]', 'a kind and what is in it (default: the kinds)'),
    async (context, args) => (await import('../verbs/setup/explain.ts')).explainPath(context, args[0]),
    program,
  );
  add(
    'graph',
    'who needs whom among declared objects; reaches no daemon',
    (command) => withManifests(command).addOption(new Option('-o, --output <format>', 'mermaid or dot')),
    async (context, args) => (await import('../verbs/planning/graph.ts')).graph(context, args),
    program,
  );
}

function addHelpers({ add, program, withHost, withManifests }: VerbParts): void {
  add(
    'fmt',
    'write manifests in their usual form, comments kept',
    (command) => withManifests(command).addOption(new Option('--check', 'only name those that are not; exit code 1')),
    async (context, args, options) =>
      (await import('../verbs/setup/fmt.ts')).fmt(
        context,
        args,
        (options as { readonly check?: boolean }).check === true,
      ),
    program,
  );
  add(
    'init',
    'a first manifest, and the schema for editors',
    (command) =>
      command
        .argument('[dir]', 'where (default: the current directory)')
        .addOption(new Option('--template <name>', 'container (default), database, environments or fleet')),
    async (context, args, options) =>
      (await import('../verbs/setup/init.ts')).init(
        context,
        args[0],
        (options as { readonly template?: string }).template,
      ),
    program,
  );
  add(
    'completion',
    'a completion script for a shell: bash, zsh or fish',
    (command) =>
      command
        .argument('<shell>', 'bash, zsh or fish; or what those ask for: hosts, environments')
        .argument('[path...]', 'the hosts file, the manifests'),
    async (context, args) => (await import('../verbs/setup/completion.ts')).completion(context, args[0], args.slice(1)),
    program,
  );
  add(
    'doctor',
    'what stands between this program and the daemon',
    (command) => withHostSelector(withHost(command)),
    async (context) => (await import('../verbs/setup/doctor.ts')).doctor(context),
    program,
  );
}
