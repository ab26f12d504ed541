// Generates names for containers created without one: two words and a dash.
import { randomInt } from 'node:crypto';

const manners =
  'able bold brave bright calm clever cool crisp eager fair fast fine fond free glad grand kind keen light lively loyal merry mild neat noble prime proud quick quiet rapid sharp smart solid steady strong sure swift true warm wise'.split(
    ' ',
  );
const animals =
  'ant badger bear beaver bee bison boar cat crane crow deer dove eagle elk falcon finch fox frog goose gull hare hawk heron horse ibex jay koala lark lion lynx mole moose newt otter owl panda pony puma quail raven robin seal shark shrew snail stork swan swift tapir tiger toad trout viper vole whale wolf wren yak zebra'.split(
    ' ',
  );

const pick = (words: readonly string[]): string => words[randomInt(words.length)] ?? 'gantry';

export function generatedName(isTaken: (name: string) => boolean): string {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const name = `${pick(manners)}-${pick(animals)}`;
    if (!isTaken(name)) return name;
  }
  return `${pick(manners)}-${pick(animals)}-${randomInt(1_000_000)}`;
}
