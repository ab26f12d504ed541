// The verbs of format(): a small printf, as Terraform documents it.
import { jsonText } from '../json-text.ts';
import {
  charactersOf,
  ConversionError,
  numberText,
  toBool,
  toNumber,
  toText,
  typeName,
  type Value,
} from '../values.ts';

const verb =
  /%(?:(?<escaped>%)|(?<flags>[-+ 0#]*)(?<width>\d+)?(?:\.(?<precision>\d+))?(?:\[(?<index>\d+)\])?(?<letter>.))/gsu;

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
      return padded(spec, typeof arg === 'object' ? jsonText(arg) : wanted(toText(arg)));
    case 't':
      return padded(spec, String(wanted(toBool(arg))));
    case 'd':
      return numeric(spec, wholeNumber(arg), numberText);
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      return numeric(spec, wholeNumber(arg), (value) => based(spec.letter, value));
    case 'f':
      return numeric(spec, wanted(toNumber(arg)), (value) => fixed(value, Math.min(spec.precision ?? 6, 100)));
    case 'e':
      return numeric(spec, wanted(toNumber(arg)), (value) => scientific(value, spec.precision ?? 6));
    default:
      throw new ConversionError(`%${spec.letter} is no verb that is evaluated (s, q, v, t, d, b, o, x, X, f, e)`);
  }
}

function wanted<T>(value: T): Exclude<T, null | symbol> {
  if (value === null || typeof value === 'symbol')
    throw new ConversionError(`${typeName(null)} cannot be formatted so`);
  return value as Exclude<T, null | symbol>;
}

function wholeNumber(arg: Value): number {
  const value = wanted(toNumber(arg));
  if (!Number.isInteger(value)) throw new ConversionError(`a whole number is wanted, not ${value}`);
  return value;
}

const bases: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 };
const based = (letter: string, value: number): string => {
  const digits = value.toString(bases[letter] ?? 10);
  return letter === 'X' ? digits.toUpperCase() : digits;
};

/** Exponents of at least two digits. */
const scientific = (value: number, precision: number): string =>
  value.toExponential(Math.min(precision, 100)).replace(/e([+-])(\d)$/, 'e$10$2');

const clipped = ({ precision }: Verb, value: string): string =>
  precision === undefined ? value : charactersOf(value).slice(0, precision).join('');

function numeric(spec: Verb, value: number, render: (value: number) => string): string {
  const sign = value < 0 ? '-' : spec.flags.includes('+') ? '+' : spec.flags.includes(' ') ? ' ' : '';
  const digits = render(Math.abs(value));
  const isZeroed = spec.flags.includes('0') && !spec.flags.includes('-');
  return isZeroed ? sign + digits.padStart(spec.width - sign.length, '0') : padded(spec, sign + digits);
}

function padded({ flags, width }: Verb, value: string): string {
  const missing = Math.max(0, width - charactersOf(value).length);
  const blank = (flags.includes('0') && !flags.includes('-') ? '0' : ' ').repeat(missing);
  return flags.includes('-') ? value + blank : blank + value;
}

/** Rounds half to even, as Go does. */
function fixed(value: number, digits: number): string {
  const scaled = Math.abs(value) * 10 ** digits;
  const isTie = scaled < 2 ** 51 && Math.floor(scaled) + 0.5 === scaled && Number.isInteger(Math.abs(value) * 2 ** 40);
  if (!isTie || Math.floor(scaled) % 2 === 1) return value.toFixed(digits);
  return (Math.sign(value) * (Math.floor(scaled) / 10 ** digits)).toFixed(digits);
}
