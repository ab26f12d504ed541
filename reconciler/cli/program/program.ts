// The commands and flags of the CLI, as commander knows them; each command's code is loaded when it runs.
import { Command, Option } from 'commander';
import { addBackupCommands } from '../verbs/containers/backup-commands.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import {
  anotherHost,
  hostsOption,
  refuseRolloutFlags,
  withHostSelector,
  withRollout,
  withSelector,
} from '../flags/fleet-flags.ts';
import { addHistoryCommands, dryRunOption } from '../verbs/applying/history-commands.ts';
import { addImageCommands } from '../verbs/images/image-commands.ts';
import { recursiveOption, withPlanWords } from '../flags/plan-flags.ts';
import { addSnapshotCommands } from '../verbs/containers/snapshot-commands.ts';
import type { CliOptions } from '../flags/options.ts';
import { addVerbCommands } from './verb-commands.ts';
import { addWatchCommands } from '../verbs/objects/watch-commands.ts';
import { version } from '../../../server/api/version.ts';

/** Opens a context for the options, runs the command in it, and keeps its exit code. */
export type Runner = (options: CliOptions, work: (context: OpenContext) => Promise<ExitCode>) => Promise<void>;

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

function withOutput(command: Command): Command {
  return command
    .addOption(new Option('--json', 'one JSON object a line on stdout'))
    .addOption(new Option('--no-color', 'no colours'))
    .addOption(new Option('--timeout <duration>', 'give up after this long (90s, 5m)'));
}

function withManifests(command: Command): Command {
  return command
    .argument('[path...]', 'manifest files, directories, or - for stdin (default: the current directory)')
    .addOption(new Option('-f, --file <path>', 'like the argument; may be repeated').argParser(collect))
    .addOption(
      new Option('-k, --overlay <path>', 'read documents with patch: true too; may be repeated').argParser(collect),
    )
    .addOption(
      new Option('--env <name>', 'with overlays/NAME.yaml, overlays/NAME/ and overlays/NAME.vars.yaml beside them'),
    )
    .addOption(
      new Option('--var-file <file>', 'variables as NAME: value, one a line; may be repeated').argParser(collect),
    )
    .addOption(new Option('--var <name=value>', 'set a variable; may be repeated').argParser(collect))
    .addOption(recursiveOption());
}

function withHost(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--host <url>',
        'unix:///path or https://name:8443 (GANTRY_HOST; default: the local daemon)',
      ).argParser(anotherHost),
    )
    .addOption(hostsOption())
    .addOption(new Option('--embedded <dir>', 'run a daemon of its own in DIR for this command'))
    .addOption(new Option('--runtime <name>', 'runtime of the embedded daemon: auto, lxc or sim'))
    .addOption(new Option('--client-cert <file>', 'client certificate, PEM'))
    .addOption(new Option('--client-key <file>', 'its key, PEM'))
    .addOption(new Option('--server-cert <file|fingerprint>', 'the one server certificate to accept'))
    .addOption(new Option('--project <name>', 'project on the server'));
}

function withPlan(command: Command): Command {
  return withPlanWords(withGuards(withSelector(command)))
    .addOption(new Option('--set <name>', 'the set that these manifests are (default: manage.set, or default)'))
    .addOption(new Option('--lock-file <file>', 'pinned images (default: gantry.lock beside the first manifest)'))
    .addOption(dryRunOption());
}

/** What a plan is about, and what it may do. */
function withGuards(command: Command): Command {
  return command
    .addOption(new Option('--target <kind/name>', 'only this and what it needs; may be repeated').argParser(collect))
    .addOption(
      new Option(
        '--exclude <kind/name>',
        'not this, nor what needs it (destroy: nor what it needs); may be repeated',
      ).argParser(collect),
    )
    .addOption(
      new Option('--replace <kind/name>', 'recreate it even without a change; may be repeated').argParser(collect),
    )
    .addOption(new Option('--force-conflicts', 'take over keys that another set owns'))
    .addOption(new Option('--prune', 'delete what the set owns and no manifest declares'))
    .addOption(new Option('--prune-limit <n|n%>', 'refuse to prune more than this (default: half of the set)'))
    .addOption(new Option('--allow-destroy', 'prune also what holds data'))
    .addOption(new Option('--allow-restart', 'restart containers although their manifest says not to'))
    .addOption(new Option('--allow-recreate', 'delete and create again where a change needs that'))
    .addOption(
      new Option('--detailed-exitcode', 'exit with 2 when there are changes; taking over what is as declared is none'),
    );
}

function withApply(command: Command): Command {
  return withRun(withRollout(withPlan(command)));
}

/** How a plan is carried out. */
function withRun(command: Command): Command {
  return command
    .addOption(new Option('-y, --auto-approve', 'do not ask'))
    .addOption(new Option('--yes', 'do not ask').hideHelp())
    .addOption(new Option('--partial', 'when parts of the plan are refused, do the rest (exit code 4 all the same)'))
    .addOption(new Option('-m, --message <text>', 'why, for gantry history'))
    .addOption(
      new Option('--history-limit <n>', 'revisions of the set that are kept on the server (default 30; 0: none)'),
    )
    .addOption(new Option('--parallelism <n>', 'steps at once (default 4)'))
    .addOption(new Option('--lock-timeout <duration>', 'wait this long for the lock of the set (default: not at all)'))
    .addOption(new Option('--continue-on-error', 'go on with what does not need the failed (the default)'))
    .addOption(new Option('--fail-fast', 'start nothing new after the first failure'));
}

export function buildProgram(run: Runner): Command {
  const program = new Command('gantry')
    .description('Declare containers, networks, profiles, storage pools and images in YAML, and make hosts match.')
    .version(`Gantry ${version}`, '-v, --version')
    .showHelpAfterError('(see gantry --help)')
    .helpCommand(true);
  const add = (
    name: string,
    description: string,
    shape: (command: Command) => Command,
    work: (context: OpenContext, args: readonly string[], options: CliOptions) => Promise<ExitCode>,
    group: Command = program,
  ): Command =>
    withOutput(shape(group.command(name).description(description))).action(async (...given: unknown[]) => {
      const args = given.slice(0, -2).flat() as readonly string[];
      const options = given.at(-2) as CliOptions;
      const takesLabels = (given.at(-1) as Command).options.some(({ long }) => long === '--object-selector');
      await run(options, async (context) => {
        refuseRolloutFlags(options, takesLabels);
        if (options.hosts === undefined) return work(context, args, options);
        const { onHosts } = await import('../fleet/on-hosts.ts');
        const path = group === program ? name : `${group.name()} ${name}`;
        return onHosts(context, args, options, { name: path, work });
      });
    });

  add(
    'validate',
    'check manifests; reaches no daemon',
    (command) => withManifests(command).addOption(hostsOption()),
    async (context, args) => (await import('../verbs/planning/validate.ts')).validate(context, args),
  );
  add(
    'plan',
    'show what apply would do',
    (command) =>
      withPlan(withHost(withManifests(command)))
        .addOption(new Option('--destroy', 'show what destroy would do'))
        .addOption(
          new Option(
            '-o, --output <format>',
            'text, json (the whole plan as Terraform shows it), yaml, markdown or junit',
          ),
        )
        .addOption(new Option('--out <file>', 'keep the plan, for gantry apply FILE'))
        .addOption(new Option('--format <format>', 'text or plan-json').hideHelp()),
    async (context, args, options) =>
      (await import('../verbs/planning/plan.ts')).plan(
        context,
        args,
        (options as { readonly destroy?: boolean }).destroy === true,
      ),
  ).alias('preview');
  add(
    'apply',
    'make the host match the manifests',
    (command) => withApply(withHost(withManifests(command))),
    async (context, args) => (await import('../verbs/applying/apply.ts')).apply(context, args, 'apply'),
  ).alias('up');
  add(
    'destroy',
    'delete what the manifests declare',
    (command) => withApply(withHost(withManifests(command))),
    async (context, args) => (await import('../verbs/applying/apply.ts')).apply(context, args, 'destroy'),
  ).alias('down');
  add(
    'status',
    'declared objects beside what is live',
    (command) =>
      withSelector(withHost(withManifests(command)))
        .addOption(new Option('--set <name>', 'the set that these manifests are (default: manage.set, or default)'))
        .addOption(new Option('--detailed-exitcode', 'exit with 2 when something differs')),
    async (context, args) => (await import('../verbs/planning/status.ts')).status(context, args),
  );
  add(
    'update',
    'note in gantry.lock to which images aliases point by now',
    (command) =>
      withHost(withManifests(command))
        .addOption(new Option('--lock-file <file>', 'where (default: gantry.lock beside the first manifest)'))
        .addOption(new Option('--detailed-exitcode', 'exit with 2 when something moved')),
    async (context, args) => (await import('../verbs/images/update.ts')).update(context, args),
  );
  add(
    'lock',
    'keep runs of a set away until it is unlocked or the time is over',
    (command) =>
      withHostSelector(withHost(command))
        .addOption(new Option('--set <name>', 'the set (default: default)'))
        .addOption(new Option('--for <duration>', 'how long (default 1h)'))
        .addOption(new Option('--reason <text>', 'told to whom it keeps away')),
    async (context, _args, options) =>
      (await import('../verbs/applying/lock.ts')).lock(context, options as { reason?: string }),
  ).alias('suspend');
  add(
    'force-unlock',
    'take away the lock of a set',
    (command) =>
      withHostSelector(withHost(command.argument('[id]', 'only this lock; without it you are asked')))
        .addOption(new Option('--set <name>', 'the set (default: default)'))
        .addOption(new Option('-y, --auto-approve', 'do not ask')),
    async (context, args) => (await import('../verbs/applying/lock.ts')).forceUnlock(context, args[0]),
  ).alias('resume');
  add(
    'show',
    'live objects, one or all',
    (command) =>
      withHost(command.argument('[kind/name...]', 'what to show, or a kept plan (default: a list of everything)')),
    async (context, args) => (await import('../verbs/objects/show.ts')).show(context, args),
  );
  const file = program.command('file').description('files of containers: pull, push, delete');
  const inContainer = 'in a container, as NAME/path';
  add(
    'pull',
    'copy files out of a container',
    (command) =>
      withHost(command.argument('<source>', inContainer).argument('<target>', 'here; - for stdout')).addOption(
        new Option('-r, --recursive', 'directories with all that is in them'),
      ),
    async (context, args, options) =>
      (await import('../verbs/containers/file-pull.ts')).pullFile(context, args, options),
    file,
  );
  add(
    'push',
    'copy files into a container',
    (command) =>
      withHost(command.argument('<source>', 'here; - for stdin').argument('<target>', inContainer))
        .addOption(new Option('--uid <id>', 'owner in the container (default 0)'))
        .addOption(new Option('--gid <id>', 'group in the container (default 0)'))
        .addOption(new Option('--mode <octal>', 'permissions (default: those of the file here)'))
        .addOption(new Option('-p, --create-dirs', 'make missing directories of the target'))
        .addOption(new Option('-r, --recursive', 'directories with all that is in them')),
    async (context, args, options) =>
      (await import('../verbs/containers/file-push.ts')).pushFile(context, args, options),
    file,
  );
  add(
    'delete',
    'delete files in containers',
    (command) => withHost(command.argument('<path...>', inContainer)),
    async (context, args) => (await import('../verbs/containers/file-delete.ts')).deleteFiles(context, args),
    file,
  ).alias('rm');
  const withCopy = (command: Command): Command =>
    withHost(
      command
        .argument('<name>', 'the container, or a snapshot of it as NAME/SNAPSHOT')
        .argument('[new-name]', 'default: the same, on another server'),
    )
      .addOption(new Option('--target-host <url>', 'the server to copy to (default: the same)'))
      .addOption(new Option('--target-client-cert <file>', 'client certificate there (default: --client-cert)'))
      .addOption(new Option('--target-client-key <file>', 'its key, PEM'))
      .addOption(new Option('--target-server-cert <file|fingerprint>', 'the one certificate to accept there'))
      .addOption(
        new Option('--mode <mode>', 'who connects: the target (pull), the source (push), this program (relay)'),
      )
      .addOption(new Option('--container-only', 'without its snapshots'))
      .addOption(new Option('--storage <pool>', 'pool for its root disk'))
      .addOption(new Option('--live', 'take a checkpoint of its processes along').hideHelp())
      .addOption(new Option('--no-live', 'copy the files of a running container as they are'));
  add(
    'copy',
    'copy a container, also to another server',
    (command) => withCopy(command).addOption(new Option('--refresh', 'bring an older copy up to date')),
    async (context, args, options) =>
      (await import('../verbs/containers/copy.ts')).copy(context, 'copy', args, options),
  ).alias('cp');
  add('move', 'move a container to another server, pool or name', withCopy, async (context, args, options) =>
    (await import('../verbs/containers/copy.ts')).copy(context, 'move', args, options),
  ).alias('mv');
  add(
    'exec',
    'run a command in a container: gantry exec NAME -- COMMAND...',
    (command) =>
      withHost(command.argument('<name command...>', 'the container, then the command and its arguments'))
        .addOption(new Option('-t, --tty', 'give it a terminal (default: when this program has one)'))
        .addOption(new Option('-T, --no-tty', 'give it pipes'))
        .addOption(new Option('--env <name=value>', 'set a variable for it; may be repeated').argParser(collect))
        .addOption(new Option('--cwd <dir>', 'directory to run it in'))
        .addOption(new Option('--user <id>', 'user id inside (default 0)'))
        .addOption(new Option('--group <id>', 'group id inside (default 0)')),
    async (context, args, options) => (await import('../verbs/containers/exec.ts')).exec(context, args, options),
  );
  add(
    'console',
    "look at a container's console and type there; Ctrl-a q leaves",
    (command) => withHost(command.argument('<name...>', 'the container')),
    async (context, args) => (await import('../verbs/containers/exec.ts')).attachConsole(context, args),
  );
  addImageCommands(add, program, withHost);
  addSnapshotCommands(add, program, withHost);
  addBackupCommands(add, program, withHost);
  addHistoryCommands({
    add,
    program,
    withHost,
    withManifests,
    withApply: (command) => withRun(withRollout(withGuards(command))),
  });
  addVerbCommands({ add, program, withHost, withManifests });
  addWatchCommands({ add, program, withHost });
  add(
    'schema',
    'print the JSON Schema of manifests',
    (command) => command,
    async (context) => (await import('../verbs/setup/schema.ts')).schema(context),
  );
  add(
    'version',
    'print the version',
    (command) => command,
    async (context) => (await import('../verbs/setup/version.ts')).showVersion(context),
  );
  return program;
}

/** Long flags of all commands, without dashes: Terraform users type them with one. */
export function longFlags(program: Command): ReadonlySet<string> {
  const commands = program.commands.flatMap((command) => [command, ...command.commands]);
  const options = commands.flatMap((command) => command.options);
  const names = options.flatMap(({ long }) => (long === null || long === undefined ? [] : [long.slice(2)]));
  return new Set([...names, 'help', 'version']);
}
