// YAML as Terraform writes it: every text in quotes, folded at column 80, or as a block; keys in order. Reading is in yaml-reader.ts.
import { ConversionError, isMap, isSet, keysOf, numberText, unknown, type Value } from '../values.ts';
import { text } from './arguments.ts';
import { readYaml } from './yaml-reader.ts';
import type { FunctionRow } from './function-row.ts';

const isCollection = (value: Value): boolean => typeof value === 'object' && value !== null;

function sizeOf(value: Value): number {
  if (isSet(value)) return value.items.length;
  return Array.isArray(value) ? value.length : isMap(value) ? Object.keys(value).length : 1;
}

/** Ends a document with `...` if it is a single plain scalar. */
function document(value: Value): string {
  const isPlain = value === null || typeof value === 'number' || typeof value === 'boolean';
  return `${written(value, 0)}${isPlain ? '...\n' : ''}`;
}

/** Writes a value that begins where its first line continues. */
function written(value: Value, indent: number, column = indent): string {
  if (!isCollection(value)) return `${scalar(value, indent, column)}\n`;
  if (sizeOf(value) === 0) return isMap(value) ? '{}\n' : '[]\n';
  const blank = ' '.repeat(indent);
  if (isMap(value)) {
    return keysOf(value)
      .map(
        (key, at) =>
          `${at === 0 ? '' : blank}${keyText(key)}:${member(value[key] ?? null, indent, keyText(key).length)}`,
      )
      .join('');
  }
  const items = isSet(value) ? value.items : (value as readonly Value[]);
  return items.map((item, at) => `${at === 0 ? '' : blank}- ${written(item, indent + 2)}`).join('');
}

/** Writes complex keys in `? key : value` form. */
function keyText(key: string): string {
  const written = quoted(key);
  if (written.length > 120 || key.includes('\n')) throw new ConversionError('such long keys are not evaluated');
  return written;
}

/** The text after `key:`. Lists are indented like their key. */
function member(value: Value, indent: number, keyLength: number): string {
  if (!isCollection(value) || sizeOf(value) === 0) return ` ${written(value, indent + 2, indent + keyLength + 2)}`;
  const depth = isMap(value) ? indent + 2 : indent;
  return `\n${' '.repeat(depth)}${written(value, depth)}`;
}

function scalar(value: Value, indent: number, column: number): string {
  if (value === unknown) throw new ConversionError('a value that is not known yet has no YAML');
  if (typeof value === 'string')
    return value.includes('\n') ? block(value, indent, column) : folded(value, indent, column);
  return typeof value === 'number' ? numberText(value) : JSON.stringify(value);
}

/** A literal block, if the text allows it. */
function block(value: string, indent: number, column: number): string {
  const isPlain = /^[\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/u.test(value);
  if (/[\x85\u2028\u2029]/.test(value)) throw new ConversionError('such line breaks in YAML are not evaluated');
  if (!isPlain || / \n| $/.test(value)) return folded(value, indent, column);
  const chomp = value.endsWith('\n\n') || value === '\n' ? '+' : value.endsWith('\n') ? '' : '-';
  const hint = /^[ \n]/.test(value) ? '2' : '';
  const deep = ' '.repeat(Math.max(indent, 2));
  const lines = (value.endsWith('\n') ? value.slice(0, -1) : value).split('\n');
  return `|${hint}${chomp}\n${lines.map((line) => (line === '' ? '' : deep + line)).join('\n')}`;
}

const widest = 80;

/** In quotes; a blank beyond the widest column ends the line. */
function folded(value: string, indent: number, start: number): string {
  const chars = Array.from(value);
  const deep = ' '.repeat(Math.max(indent, 2));
  let out = '"';
  let column = start + 1;
  for (const [at, char] of chars.entries()) {
    const isInside = at > 0 && at < chars.length - 1 && chars[at - 1] !== ' ';
    if (char === ' ' && column > widest && isInside) {
      const more = chars[at + 1] === ' ' ? '\\' : '';
      out += `\n${deep}${more}`;
      column = deep.length + more.length;
    } else {
      const shown = escaped(char);
      out += shown;
      column += shown.length;
    }
  }
  return `${out}"`;
}

const shortEscapes: Readonly<Record<string, string>> = {
  '\0': '0',
  '\x07': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '\x1b': 'e',
  '"': '"',
  '\\': '\\',
  '\x85': 'N',
  '\u2028': 'L',
  '\u2029': 'P',
};

const quoted = (value: string): string => `"${Array.from(value, escaped).join('')}"`;

function escaped(char: string): string {
  const short = shortEscapes[char];
  if (short !== undefined) return `\\${short}`;
  const code = char.codePointAt(0) ?? 0;
  const isShown = (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0x1_0000 && code !== 0xfeff);
  if (isShown) return char;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

export const yamls: Readonly<Record<string, FunctionRow>> = {
  yamlencode: { least: 1, max: 1, takesNull: true, run: ([value = null]) => document(value) },
  yamldecode: { least: 1, max: 1, run: (args) => readYaml(text(args, 0)) },
};
