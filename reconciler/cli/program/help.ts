// Lays out --help: commands and flags under their titles, within 80 columns. Pure.
import type { Command, Help, Option } from 'commander';
import { sections } from '../flags/flag.ts';

/** Formats the help of this command and its subcommands. */
export function shapeHelp(command: Command): void {
  command.configureHelp({ subcommandTerm: nameOf, groupItems, minWidthToWrap: 20 });
  for (const one of command.commands) shapeHelp(one);
}

/** The name and its aliases: `gantry help NAME` has the arguments. */
const nameOf = (command: Command): string => [command.name(), ...command.aliases()].join('|');

/** Sections of flags in their order, titles of commands in the order of the table; items as they are declared. */
const groupItems: Help['groupItems'] = <T extends Command | Option>(
  _all: T[],
  visible: T[],
  titleOf: (item: T) => string,
): Map<string, T[]> => {
  const grouped = new Map<string, T[]>(sections.map((title) => [title, []]));
  for (const item of visible) grouped.set(titleOf(item), [...(grouped.get(titleOf(item)) ?? []), item]);
  return new Map([...grouped].filter(([, items]) => items.length > 0));
};
