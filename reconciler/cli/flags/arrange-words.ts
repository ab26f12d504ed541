// Arranges a command line before it is parsed: flags before the verb move behind it, and a `--` goes in front of the command that a
// verb runs. Pure.
import type { Flag } from './flag.ts';
import { outputFlags } from './output-flags.ts';
import type { Verb } from './verb.ts';

export interface VerbAndRest {
  /** The words of the verb; empty without one. */
  readonly verb: readonly string[];
  readonly rest: readonly string[];
}

export interface KnownVerbs {
  readonly verbs: readonly Verb[];
  readonly groups: Readonly<Record<string, string>>;
}

/** Leaves unknown words to the parser, which refuses them. */
export function arrangeWords(words: readonly string[], { verbs, groups }: KnownVerbs): VerbAndRest {
  const spelled = verbs.map((verb) => ({ verb, names: namesOf(verb) }));
  const names = new Set(spelled.flatMap((one) => one.names));
  const heads = new Set([...names, ...Object.keys(groups)].map((name) => name.split(' ')[0] ?? ''));
  const takesValue = valueTaking(verbs);
  const first = afterFlags(words, 0, (flag, next) => takesValue(flag) && !(isMixed(flag, verbs) && heads.has(next)));
  const head = words[first];
  if (head === undefined || head === '-' || head === '--' || words.slice(0, first).some(asksVersion))
    return { verb: [], rest: words };
  const second = Object.hasOwn(groups, head) ? afterFlags(words, first + 1, takesValue) : first + 1;
  const isTwo = names.has(`${head} ${words[second] ?? ''}`);
  const last = isTwo ? second : first;
  const verb = isTwo ? [head, words[second] ?? ''] : [head];
  const moved = words.slice(0, last).filter((_, index) => index !== first);
  const rest = words.slice(last + 1);
  const runner = spelled.find((one) => one.verb.runsCommand === true && one.names.includes(verb.join(' ')))?.verb;
  return { verb, rest: [...moved, ...(runner === undefined ? rest : commandApart(rest, valueTaking([runner])))] };
}

export const namesOf = ({ name, alias }: Verb): readonly string[] =>
  alias === undefined ? [name] : [name, name.replace(/\S+$/, alias)];
const asksVersion = (word: string): boolean => word === '-v' || word === '--version';

/** `web ls -l` becomes `web -- ls -l`: a flag of this program stands before the command. */
function commandApart(words: readonly string[], takesValue: (flag: string) => boolean): readonly string[] {
  const name = afterFlags(words, 0, takesValue);
  const command = afterFlags(words, name + 1, takesValue);
  const before = words.slice(0, command);
  if (words[command] === undefined || words[command] === '--' || before.includes('--')) return words;
  return [...before, '--', ...words.slice(command)];
}

/** The index of the first word that is neither a flag nor the value of one. */
function afterFlags(
  words: readonly string[],
  from: number,
  takesValue: (flag: string, next: string) => boolean,
): number {
  let at = from;
  for (let word = words[at]; word !== undefined && isFlag(word); word = words[at])
    at += takesValue(word, words[at + 1] ?? '') ? 2 : 1;
  return at;
}

const isFlag = (word: string): boolean => word.startsWith('-') && word !== '-' && word !== '--';

/** Whether the next word belongs to a flag: `--host` and `-host`, not `--host=x` and not `-lapp=web`. */
function valueTaking(verbs: readonly Verb[]): (flag: string) => boolean {
  let taking: ReadonlySet<string> | undefined;
  // Most command lines begin with the verb: then nobody asks.
  return (flag) => {
    taking ??= new Set(flagsOf(verbs).flatMap((one) => (one.takes === 'switch' ? [] : spellings(one))));
    return taking.has(flag);
  };
}

/** Whether some verbs know the flag as a switch, too. */
const isMixed = (word: string, verbs: readonly Verb[]): boolean =>
  flagsOf(verbs).some((flag) => flag.takes === 'switch' && spellings(flag).includes(word));

const flagsOf = (verbs: readonly Verb[]): readonly Flag[] =>
  [...verbs.flatMap(({ flags }) => Object.values<Flag>(flags)), ...Object.values<Flag>(outputFlags)].flatMap((flag) => [
    flag,
    ...(flag.opposite === undefined ? [] : [flag.opposite]),
  ]);

/** `-f`, `--file` and, as Terraform users type it, `-file`. An optional value (`[...]`) is given with `=` alone. */
function spellings({ written }: Flag): readonly string[] {
  if (written.includes('[')) return [];
  const names = written.split(' <')[0]?.match(/--?[a-z][a-z-]*/gi) ?? [];
  return names.flatMap((name) => (name.startsWith('--') ? [name, name.slice(1)] : [name]));
}
