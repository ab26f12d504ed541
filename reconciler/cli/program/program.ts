// Builds commander's program from the table of verbs.
import { Command, Option } from 'commander';
import type { Flag } from '../flags/flag.ts';
import { refuseRolloutFlags, type HostOptions } from '../flags/host-flags.ts';
import { outputFlags, type OutputOptions } from '../flags/output-flags.ts';
import type { Context, Run } from '../session/context.ts';
import { groups, verbs, type VerbRow } from './verbs.ts';
import { shapeHelp } from './help.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Verb } from '../flags/verb.ts';
import { verbHint } from './unknown-verb.ts';
import { version } from '../../../server/api/version.ts';

/** Opens a context for the options, runs the command in it, and stores its exit code. */
export type Runner = (
  options: OutputOptions & HostOptions,
  work: (context: Context) => ReturnType<Run>,
  takesHost: boolean,
) => Promise<void>;

/** Only the verbs among the words get their flags: making those of all takes longer than many a verb. Without words all get them. */
export function buildProgram(run: Runner, words?: readonly string[]): Command {
  const program = new Command('gantry')
    .description('Declare containers, networks, profiles, storage pools and images in YAML, and make hosts match.')
    .version(`Gantry ${version}`, '-v, --version')
    .showHelpAfterError('(see gantry --help)')
    .helpCommand(true)
    .enablePositionalOptions();
  for (const [title, rows] of Object.entries(verbs))
    for (const one of rows) {
      const [first = '', second] = one.verb.name.split(' ');
      const parent = second === undefined ? program : groupOf(program, first, rows).helpGroup(title);
      const command = addVerb(parent, second ?? first, one, run);
      command.helpGroup(second === undefined ? title : 'Commands:');
      if (words === undefined || words.includes(first) || words.includes(one.verb.alias ?? first))
        addFlags(command, one.verb);
    }
  shapeHelp(program);
  refuseUnknownVerbs(program, '');
  return program;
}

/** Refuses unknown words after a group, or after the program's name, with a suggestion. */
function refuseUnknownVerbs(command: Command, group: string): void {
  for (const one of command.commands) if (one.commands.length > 0) refuseUnknownVerbs(one, one.name());
  // A verb with subcommands also takes words itself.
  if (group !== '' && groups[group] === undefined) return;
  command.on('command:*', ([word = '']: readonly string[]) => refuseVerb(command, group, word));
}

const namesIn = ({ commands }: Command): readonly string[] => commands.flatMap((one) => [one.name(), ...one.aliases()]);

function refuseVerb(command: Command, group: string, word: string): never {
  command.error(`error: unknown command '${word}'${verbHint(group, word, namesIn(command))}`, {
    code: 'commander.unknownCommand',
  });
}

/** `help image list` asks for the help of `image list`: commander alone would show that of `image`. */
export function helpOfSecondWord(program: Command, argv: readonly string[]): readonly string[] {
  const [help, first, ...rest] = argv;
  const group =
    help === 'help' ? program.commands.find((one) => [one.name(), ...one.aliases()].includes(first ?? '')) : undefined;
  const [second = '-'] = rest;
  if (group === undefined || group.commands.length === 0 || second.startsWith('-')) return argv;
  if (!namesIn(group).includes(second)) refuseVerb(group, group.name(), second);
  return [group.name(), 'help', ...rest];
}

/** Commander alone would show the whole help for `help` of an unknown word. */
export function refuseUnknownHelp(program: Command, [verb, word = '-']: readonly string[]): void {
  if (verb === 'help' && !word.startsWith('-') && ![...namesIn(program), 'help'].includes(word))
    refuseVerb(program, '', word);
}

/** A group of verbs, or a verb with subcommands, such as `history`. */
function groupOf(program: Command, name: string, rows: readonly VerbRow[]): Command {
  const known = program.commands.find((command) => command.name() === name);
  // Flags behind the second word belong to that verb.
  if (known !== undefined) return known.enablePositionalOptions();
  const names = rows.flatMap(({ verb }) =>
    verb.name.startsWith(`${name} `) ? [verb.name.slice(name.length + 1)] : [],
  );
  return program
    .command(name)
    .showHelpAfterError(`(see gantry ${name} --help)`)
    .description(`${groups[name] ?? name}: ${names.join(', ')}`);
}

function addVerb(parent: Command, name: string, row: VerbRow, run: Runner): Command {
  const { verb } = row;
  const command = parent.command(name).description(verb.summary);
  command.showHelpAfterError(`(see gantry ${verb.name} --help)`);
  if (verb.alias !== undefined) command.alias(verb.alias);
  for (const [written, doc] of verb.args ?? []) command.argument(written, doc);
  if (verb.examples !== undefined)
    command.addHelpText('after', `\nExamples:\n${verb.examples.map((line) => `  ${line}\n`).join('')}`);
  return command.action(async (...given: unknown[]) => {
    const args = given
      .slice(0, -2)
      .flat()
      .filter((word) => typeof word === 'string');
    // Commander parses values to the types that the flags declare.
    await run(
      given.at(-2) as OutputOptions,
      (context) => dispatch(row, context, args),
      'serverCert' in verb.flags && 'host' in verb.flags,
    );
  });
}

function addFlags(command: Command, { flags }: Verb): void {
  for (const flag of [...Object.values(flags), ...Object.values(outputFlags)])
    for (const option of optionsOf(flag)) command.addOption(option);
}

async function dispatch(
  { verb, run, takesHosts }: VerbRow,
  context: Context<HostOptions>,
  args: readonly string[],
): ReturnType<Run> {
  refuseEmptyWords(verb, args);
  refuseRolloutFlags(context.options, 'objectSelector' in verb.flags);
  if (context.options.hosts === undefined) return run(context, args);
  const [{ chooseHosts }, { onOneHost }] = await Promise.all([
    import('../hosts/choose-hosts.ts'),
    import('../hosts/one-host.ts'),
  ]);
  const fleet = await chooseHosts(context);
  return takesHosts
    ? run(context, args, fleet)
    : onOneHost(context, fleet, `gantry ${verb.name}`, (own) => run(own, args));
}

/** An unset variable of the shell leaves an empty word, which no object has as its name. */
function refuseEmptyWords({ name, args = [], runsCommand, takesEmptyWords }: Verb, words: readonly string[]): void {
  if (takesEmptyWords === true) return;
  const own = runsCommand === true ? words.slice(0, 1) : words;
  const at = own.indexOf('');
  if (at === -1) return;
  const [written = ''] = args[Math.min(at, args.length - 1)] ?? [];
  throw usageError(`gantry ${name}: ${written} is empty (is a variable of the shell unset?)`);
}

const appended = (value: string, earlier: readonly string[] = []): readonly string[] => [...earlier, value];

function optionsOf({ written, doc, takes, section, isHidden, isMandatory, opposite }: Flag): readonly Option[] {
  const option = new Option(written, doc).hideHelp(isHidden === true).makeOptionMandatory(isMandatory === true);
  if (takes === 'list') option.argParser(appended);
  if (section !== undefined) option.helpGroup(section);
  return [option, ...(opposite === undefined ? [] : optionsOf(opposite))];
}

/** Long flags of all verbs, without dashes: Terraform users type them with one. */
export function longFlags(): ReadonlySet<string> {
  const rows = Object.values(verbs).flat();
  const flags = new Set(
    [...rows, { verb: { flags: outputFlags } }].flatMap(({ verb }) => Object.values<Flag>(verb.flags)),
  );
  const written = [...flags].flatMap((flag) => [flag.written, flag.opposite?.written ?? '']);
  return new Set([...written.flatMap((text) => /--([a-z][a-z-]*)/.exec(text)?.[1] ?? []), 'help', 'version']);
}
