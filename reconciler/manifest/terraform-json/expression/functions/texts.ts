// Functions of texts. Regular expressions are in regex.ts.
import { list, text, textsOf, truth, whole } from './arguments.ts';
import { formatTexts } from './format.ts';
import { replaceAll } from './regex.ts';
import { makesList, type FunctionRow } from './function-row.ts';
import { charactersOf, checkLength, ConversionError, isList, isSet, joinTexts, type Value } from '../values.ts';

const change = (edit: (value: string) => string): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args) => edit(text(args, 0)),
});
const compare = (test: (value: string, other: string) => Value): FunctionRow => ({
  least: 2,
  max: 2,
  run: (args) => test(text(args, 0), text(args, 1)),
});

const trimSet = (value: string, cut: string): string => {
  const chars = new Set(cut);
  const all = Array.from(value);
  const first = all.findIndex((char) => !chars.has(char));
  if (first < 0) return '';
  const last = all.findLastIndex((char) => !chars.has(char));
  return all.slice(first, last + 1).join('');
};

function replace(value: string, search: string, put: string): string {
  if (search.length > 1 && search.startsWith('/') && search.endsWith('/')) {
    return replaceAll(value, search.slice(1, -1), put);
  }
  // An empty text matches before, between and after all characters.
  if (search === '') return value === '' ? put : joinTexts(['', ...Array.from(value), ''], put);
  return joinTexts(value.split(search), put);
}

function substring(value: string, offset: number, length: number): string {
  const all = charactersOf(value);
  const start = Math.max(0, offset < 0 ? all.length + offset : offset);
  // Terraform reads a length of 0 after a negative offset as no limit, like a negative length.
  const isRest = length < 0 || (length === 0 && offset < 0);
  return all.slice(start, isRest ? undefined : start + length).join('');
}

/** The first letter of every word; the rest stays. White space and the signs of ASCII end a word. */
const title = (value: string): string =>
  value.replaceAll(
    /(^|[^\w\u{80}-\u{10ffff}]|\p{White_Space})(\p{L})/gu,
    (_, before: string, letter: string) => before + titleOf(letter),
  );

function indent(spaces: number, value: string): string {
  if (spaces < 0) throw new ConversionError(`${spaces} is no number of spaces`);
  checkLength(spaces);
  return joinTexts(value.split('\n'), `\n${' '.repeat(spaces)}`);
}
/** A letter becomes one letter: ß stays. */
const eachLetter = (value: string, edit: (letter: string) => string): string =>
  Array.from(value, (letter) => (Array.from(edit(letter)).length === 1 ? edit(letter) : letter)).join('');

/** The first code point of each row of eight small Greek letters with a iota below, whose capitals follow eight later. */
const iotaRows = [0x1f80, 0x1f90, 0x1fa0];
const iotaCapitals: Readonly<Record<string, string>> = { ᾳ: 'ᾼ', ῃ: 'ῌ', ῳ: 'ῼ' };
function upperOf(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  if (iotaRows.some((row) => code >= row && code < row + 8)) return String.fromCodePoint(code + 8);
  return iotaCapitals[letter] ?? letter.toUpperCase();
}
const upper = (value: string): string => eachLetter(value, upperOf);

/** Two letters in one have a third case between small and capital, Georgian letters none at the begin of a word. */
const titleOf = (letter: string): string => {
  const digraph = digraphs.find((three) => three.includes(letter));
  return digraph?.[1] ?? (/[ა-ჺჽ-ჿ]/.test(letter) ? letter : upper(letter));
};
/** Capital, at the begin of a word, small. */
const digraphs = ['Ǆǅǆ', 'Ǉǈǉ', 'Ǌǋǌ', 'Ǳǲǳ'];
const reversed = (value: string): string => [...charactersOf(value)].reverse().join('');

export const texts: Readonly<Record<string, FunctionRow>> = {
  upper: change(upper),
  lower: change((value) => eachLetter(value, (letter) => (letter === 'İ' ? 'i' : letter.toLowerCase()))),
  title: change(title),
  trimspace: change((value) => value.replaceAll(/^\p{White_Space}+|\p{White_Space}+$/gu, '')),
  chomp: change((value) => value.replace(/[\r\n]+$/, '')),
  strrev: change(reversed),
  trim: compare(trimSet),
  trimprefix: compare((value, prefix) =>
    prefix !== '' && value.startsWith(prefix) ? value.slice(prefix.length) : value,
  ),
  trimsuffix: compare((value, suffix) =>
    suffix !== '' && value.endsWith(suffix) ? value.slice(0, -suffix.length) : value,
  ),
  startswith: compare((value, prefix) => value.startsWith(prefix)),
  endswith: compare((value, suffix) => value.endsWith(suffix)),
  strcontains: compare((value, part) => value.includes(part)),
  split: makesList({
    least: 2,
    max: 2,
    run: (args) => (text(args, 0) === '' ? Array.from(text(args, 1)) : text(args, 1).split(text(args, 0))),
  }),
  join: {
    least: 2,
    run: (args) =>
      joinTexts(
        args.slice(1).flatMap((_, index) => textsOf(list(args, index + 1))),
        text(args, 0),
      ),
  },
  replace: { least: 3, max: 3, run: (args) => replace(text(args, 0), text(args, 1), text(args, 2)) },
  substr: { least: 3, max: 3, run: (args) => substring(text(args, 0), whole(args, 1), whole(args, 2)) },
  indent: { least: 2, max: 2, run: (args) => indent(whole(args, 0), text(args, 1)) },
  format: { least: 1, takesNull: true, run: (args) => formatTexts(text(args, 0), args.slice(1)) },
  formatlist: makesList({
    least: 1,
    takesNull: true,
    run: (args) => formatList(text(args, 0), args.slice(1)),
  }),
  alltrue: { least: 1, max: 1, run: (args) => list(args, 0).every((value) => value !== null && truth(value)) },
  anytrue: { least: 1, max: 1, run: (args) => list(args, 0).some((value) => value !== null && truth(value)) },
};

function formatList(pattern: string, args: readonly Value[]): Value {
  const given = args.map((arg) => (isSet(arg) ? arg.items : arg));
  const lists = given.filter(isList);
  const length = lists[0]?.length ?? 1;
  if (lists.some((each) => each.length !== length)) throw new ConversionError('the lists are of different lengths');
  return Array.from({ length }, (_, index) =>
    formatTexts(
      pattern,
      given.map((arg) => (isList(arg) ? (arg[index] ?? null) : arg)),
    ),
  );
}
