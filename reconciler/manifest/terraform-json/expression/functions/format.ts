// The verbs of format(): a small printf, as Terraform documents it.
import { jsonText } from '../json-text.ts';
import { fixed, general, scientific } from './number-texts.ts';
import {
  charactersOf,
  ConversionError,
  isNegative,
  numberText,
  toBool,
  toNumber,
  toText,
  typeName,
  type Value,
} from '../values.ts';

const verb =
  /%(?:(?<escaped>%)|(?<flags>[-+ 0#]*)(?<width>\d+)?(?:\.(?<precision>\d+))?(?:\[(?<index>\d+)\])?(?<letter>.?))/gsu;

interface Verb {
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly letter: string;
}

/** No configuration needs wider results. */
const maxWidth = 10_000;

export function formatTexts(pattern: string, args: readonly Value[]): string {
  let next = 0;
  let used = 0;
  const explicit = /\[\d+\]/.test(pattern);
  const result = pattern.replaceAll(verb, (...match: unknown[]) => {
    const groups = match.at(-1) as Record<string, string | undefined>;
    if (groups['escaped'] !== undefined) return '%';
    if (groups['index'] !== undefined) next = Number(groups['index']) - 1;
    const arg = args[next];
    if (arg === undefined) throw new ConversionError(`there is no value for ${String(match[0])}`);
    used = Math.max(used, ++next);
    const width = Number(groups['width'] ?? 0);
    const precision = groups['precision'] === undefined ? undefined : Number(groups['precision']);
    if (width > maxWidth || (precision ?? 0) > maxWidth) throw new ConversionError('the width is too large');
    return one({ flags: groups['flags'] ?? '', width, precision, letter: groups['letter'] ?? '' }, arg);
  });
  if (!explicit && used < args.length) throw new ConversionError(`there are ${args.length - used} values too many`);
  return result;
}

function one(spec: Verb, arg: Value): string {
  switch (spec.letter) {
    case 's':
      return padded(spec, clipped(spec, wanted(toText(arg))));
    case 'q':
      return padded(spec, jsonText(clipped(spec, wanted(toText(arg)))));
    case 'v':
      return plain(spec, arg);
    case 't':
      return String(wanted(toBool(arg)));
    case 'd':
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      return integer(spec, wholeNumber(arg));
    case 'f':
      return numeric(spec, wanted(toNumber(arg)), (value) => fixed(value, spec.precision ?? 6));
    case 'e':
    case 'E':
      return cased(
        spec,
        numeric(spec, wanted(toNumber(arg)), (value) => scientific(value, spec.precision ?? 6)),
      );
    case 'g':
    case 'G':
      return cased(
        spec,
        numeric(spec, wanted(toNumber(arg)), (value) => general(value, spec.precision)),
      );
    default:
      throw new ConversionError(
        `%${spec.letter} is no verb that is evaluated (s, q, v, t, d, b, o, x, X, f, e, E, g, G)`,
      );
  }
}

/** `%v`: numbers as with `%g`, regardless of sign and precision; collections as JSON, and with `#` all values. */
function plain(spec: Verb, arg: Value): string {
  if (spec.flags.includes('#') || typeof arg === 'object') return padded(spec, jsonText(arg));
  if (typeof arg !== 'number') return padded(spec, wanted(toText(arg)));
  return padded(spec, `${isNegative(arg) ? '-' : ''}${general(Math.abs(arg), undefined)}`);
}

const cased = ({ letter }: Verb, value: string): string => (letter < 'a' ? value.toUpperCase() : value);

function wanted<T>(value: T): Exclude<T, null | symbol> {
  if (value === null || typeof value === 'symbol')
    throw new ConversionError(`${typeName(null)} cannot be formatted so`);
  return value as Exclude<T, null | symbol>;
}

function wholeNumber(arg: Value): number {
  const value = wanted(toNumber(arg));
  if (!Number.isInteger(value)) throw new ConversionError(`a whole number is wanted, not ${value}`);
  return value + 0;
}

const bases: Readonly<Record<string, readonly [base: number, prefix: string]>> = {
  b: [2, '0b'],
  o: [8, '0'],
  x: [16, '0x'],
  X: [16, '0x'],
};

const inBase = (size: number, base: number): string => (base === 10 ? numberText(size) : BigInt(size).toString(base));

/** A precision is the least number of digits, and switches off the zeros of the width. */
function integer(spec: Verb, value: number): string {
  const { precision, flags } = spec;
  const [base, prefix] = bases[spec.letter] ?? [10, ''];
  const least = precision ?? 0;
  const shown = flags.includes('#') ? prefix : '';
  const digits = (size: number): string =>
    size === 0 && precision === 0 ? '' : inBase(size, base).padStart(least, '0');
  const zeros = precision === undefined ? flags : flags.replaceAll('0', '');
  return cased(spec, numeric({ ...spec, flags: zeros }, value, digits, shown));
}

const clipped = ({ precision }: Verb, value: string): string =>
  precision === undefined ? value : charactersOf(value).slice(0, precision).join('');

function numeric(spec: Verb, value: number, render: (value: number) => string, prefix = ''): string {
  const sign = isNegative(value) ? '-' : spec.flags.includes('+') ? '+' : spec.flags.includes(' ') ? ' ' : '';
  const [start, digits] = [sign + prefix, render(Math.abs(value))];
  const isZeroed = spec.flags.includes('0') && !spec.flags.includes('-');
  return isZeroed ? start + digits.padStart(spec.width - start.length, '0') : padded(spec, start + digits);
}

function padded({ flags, width }: Verb, value: string): string {
  const missing = Math.max(0, width - charactersOf(value).length);
  const blank = (flags.includes('0') && !flags.includes('-') ? '0' : ' ').repeat(missing);
  return flags.includes('-') ? value + blank : blank + value;
}
