// Functions of texts. Regular expressions are in regex.ts.
import { list, text, textsOf, truth, whole } from './arguments.ts';
import { formatTexts } from './format.ts';
import { replaceAll } from './regex.ts';
import type { FunctionRow } from './function-row.ts';
import { charactersOf, ConversionError, type Value } from '../values.ts';

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
  if (search === '') return value === '' ? put : ['', ...Array.from(value), ''].join(put);
  return value.split(search).join(put);
}

function substring(value: string, offset: number, length: number): string {
  const all = charactersOf(value);
  const start = offset < 0 ? all.length + offset : offset;
  if (start < 0 || start > all.length) throw new ConversionError(`the offset ${offset} is beyond the text`);
  if (length < -1) throw new ConversionError('the length must be -1 or more');
  return all.slice(start, length === -1 ? undefined : start + length).join('');
}

/** The first letter of every word; the rest stays. */
const title = (value: string): string =>
  value.replaceAll(
    /(^|[^\p{L}\p{N}_'])(\p{L})/gu,
    (_, before: string, letter: string) => before + letter.toUpperCase(),
  );

const indent = (spaces: number, value: string): string => value.replaceAll('\n', `\n${' '.repeat(spaces)}`);
/** A letter becomes one letter: ß stays. */
const eachLetter = (value: string, edit: (letter: string) => string): string =>
  Array.from(value, (letter) => (Array.from(edit(letter)).length === 1 ? edit(letter) : letter)).join('');
const reversed = (value: string): string => [...charactersOf(value)].reverse().join('');

export const texts: Readonly<Record<string, FunctionRow>> = {
  upper: change((value) => eachLetter(value, (letter) => letter.toUpperCase())),
  lower: change((value) => eachLetter(value, (letter) => (letter === 'İ' ? 'i' : letter.toLowerCase()))),
  title: change(title),
  trimspace: change((value) => value.trim()),
  chomp: change((value) => value.replace(/(?:\r?\n)+$/, '')),
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
  split: {
    least: 2,
    max: 2,
    run: (args) => (text(args, 0) === '' ? Array.from(text(args, 1)) : text(args, 1).split(text(args, 0))),
  },
  join: {
    least: 2,
    run: (args) =>
      args
        .slice(1)
        .flatMap((_, index) => textsOf(list(args, index + 1)))
        .join(text(args, 0)),
  },
  replace: { least: 3, max: 3, run: (args) => replace(text(args, 0), text(args, 1), text(args, 2)) },
  substr: { least: 3, max: 3, run: (args) => substring(text(args, 0), whole(args, 1), whole(args, 2)) },
  indent: { least: 2, max: 2, run: (args) => indent(whole(args, 0), text(args, 1)) },
  format: { least: 1, takesNull: true, run: (args) => formatTexts(text(args, 0), args.slice(1)) },
  formatlist: { least: 1, takesNull: true, run: (args) => formatList(text(args, 0), args.slice(1)) },
  alltrue: { least: 1, max: 1, run: (args) => list(args, 0).every((value) => value !== null && truth(value)) },
  anytrue: { least: 1, max: 1, run: (args) => list(args, 0).some((value) => value !== null && truth(value)) },
};

function formatList(pattern: string, args: readonly Value[]): Value {
  const lists = args.filter((arg) => Array.isArray(arg)) as readonly (readonly Value[])[];
  const length = lists[0]?.length ?? 1;
  if (lists.some((each) => each.length !== length)) throw new ConversionError('the lists are of different lengths');
  return Array.from({ length }, (_, index) =>
    formatTexts(
      pattern,
      args.map((arg) => (Array.isArray(arg) ? ((arg as readonly Value[])[index] ?? null) : arg)),
    ),
  );
}
