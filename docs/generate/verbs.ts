// The reference of the command line, from the tree of commands that parses it. Pure.
import type { Command, Option } from 'commander';
import { buildProgram } from '../../reconciler/cli/program/program.ts';
import { code, table } from './markdown.ts';

interface Verb {
  readonly path: string;
  readonly command: Command;
}

/** A flag that at least this many verbs take is described once, above all verbs. */
const commonFrom = 5;

/** Block name to text: `flags`, `verbs`. */
export function verbBlocks(): ReadonlyMap<string, string> {
  const verbs = verbsOf(
    buildProgram(async () => {}),
    '',
  );
  const common = commonFlags(verbs);
  const rows = [...common.values()].map((option) => [code(option.flags), option.description]);
  return new Map([
    ['flags', table(['flag', 'meaning'], rows)],
    ['verbs', verbs.map((verb) => section(verb, common)).join('\n\n')],
  ]);
}

/** Every command that does something, with the words that lead to it. */
function verbsOf(parent: Command, words: string): Verb[] {
  return parent.commands.flatMap((command) => {
    const path = `${words} ${command.name()}`.trim();
    return command.commands.length > 0 ? verbsOf(command, path) : [{ path, command }];
  });
}

const optionsOf = (command: Command): readonly Option[] => command.options.filter(({ hidden }) => !hidden);
const identity = ({ flags, description }: Option): string => `${flags} ${description}`;

function commonFlags(verbs: readonly Verb[]): ReadonlyMap<string, Option> {
  const counts = new Map<string, { readonly option: Option; count: number }>();
  for (const option of verbs.flatMap(({ command }) => optionsOf(command))) {
    const seen = counts.get(identity(option));
    if (seen === undefined) counts.set(identity(option), { option, count: 1 });
    else seen.count += 1;
  }
  const often = [...counts].filter(([, { count }]) => count >= commonFrom);
  return new Map(often.map(([key, { option }]) => [key, option]));
}

function section({ path, command }: Verb, common: ReadonlyMap<string, Option>): string {
  const options = optionsOf(command);
  const own = options.filter((option) => !common.has(identity(option)));
  const shared = options.filter((option) => common.has(identity(option)));
  const aliases = command.aliases();
  const described = command.registeredArguments.filter(({ description }) => description !== '');
  const parts = described.map((argument) => [code(argument.name()), argument.description]);
  const rows = [...parts, ...own.map((option) => [code(option.flags), option.description])];
  return [
    `## gantry ${path}`,
    `${sentence(command.description())}${aliases.length > 0 ? ` Also called ${aliases.map(code).join(', ')}.` : ''}`,
    `\`\`\`\ngantry ${path} ${command.usage()}\n\`\`\``,
    ...(rows.length > 0 ? [table(['argument or flag', 'meaning'], rows)] : []),
    ...(shared.length > 0 ? [`Common flags: ${shared.map(nameOf).map(code).join(', ')}.`] : []),
  ].join('\n\n');
}

const nameOf = ({ long, short, flags }: Option): string => long ?? short ?? flags;
const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
