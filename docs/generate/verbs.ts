// The reference of the command line, from the table of declared verbs. Pure.
import type { Flag } from '../../reconciler/cli/flags/flag.ts';
import { outputFlags } from '../../reconciler/cli/flags/output-flags.ts';
import type { Verb } from '../../reconciler/cli/flags/verb.ts';
import { verbs } from '../../reconciler/cli/program/verbs.ts';
import { code, table } from './markdown.ts';

/** A flag that at least this many verbs take is described once, above all verbs. */
const commonFrom = 5;

/** Block name to text: `flags`, `verbs`. */
export function verbBlocks(): ReadonlyMap<string, string> {
  const declared = Object.values(verbs)
    .flat()
    .map(({ verb }) => verb);
  const common = commonFlags(declared);
  const rows = [...common.values()].map(rowOf);
  return new Map([
    ['flags', table(['flag', 'meaning'], rows)],
    ['verbs', declared.map((verb) => section(verb, common)).join('\n\n')],
  ]);
}

export const visible = (flag: Flag): readonly Flag[] => [
  ...(flag.isHidden === true ? [] : [flag]),
  ...(flag.opposite === undefined ? [] : [flag.opposite]),
];
const flagsOf = ({ flags }: Verb): readonly Flag[] =>
  [...Object.values<Flag>(flags), ...Object.values(outputFlags)].flatMap(visible);
const identity = ({ written, doc }: Flag): string => `${written} ${doc}`;
const rowOf = ({ written, doc }: Flag): readonly string[] => [code(written), doc];

function commonFlags(declared: readonly Verb[]): ReadonlyMap<string, Flag> {
  const all = declared.flatMap(flagsOf);
  const counts = new Map<string, number>();
  for (const flag of all) counts.set(identity(flag), (counts.get(identity(flag)) ?? 0) + 1);
  return new Map(
    all.flatMap((flag) => ((counts.get(identity(flag)) ?? 0) < commonFrom ? [] : [[identity(flag), flag]])),
  );
}

function section(verb: Verb, common: ReadonlyMap<string, Flag>): string {
  const { name, alias, summary, args = [], examples = [] } = verb;
  const own = flagsOf(verb).filter((flag) => !common.has(identity(flag)));
  const shared = flagsOf(verb).filter((flag) => common.has(identity(flag)));
  const rows = [...args.map(([written, doc = '']) => [code(written), doc]), ...own.map(rowOf)];
  return [
    `## gantry ${name}`,
    `${sentence(summary)}${alias === undefined ? '' : ` Also called ${code(alias)}.`}`,
    `\`\`\`\n${[`gantry ${name} [options]`, ...args.map(([written]) => written)].join(' ')}\n\`\`\``,
    ...(rows.length > 0 ? [table(['argument or flag', 'meaning'], rows)] : []),
    ...(shared.length > 0 ? [`Common flags: ${shared.map(longOf).map(code).join(', ')}.`] : []),
    ...(examples.length > 0 ? [`\`\`\`sh\n${examples.join('\n')}\n\`\`\``] : []),
  ].join('\n\n');
}

const longOf = ({ written }: Flag): string => /--[a-z-]+/.exec(written)?.[0] ?? written;
const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
