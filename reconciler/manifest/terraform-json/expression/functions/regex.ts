// The functions of regular expressions: regex, regexall, replace with a pattern.
import { checkLength, ConversionError, mapFrom, type Value } from '../values.ts';
import { text } from './arguments.ts';
import { readRegex } from './regex-dialect.ts';
import { makesList, type FunctionRow } from './function-row.ts';

function resultOf(match: RegExpExecArray): Value {
  if (match.length === 1) return match[0];
  const groups = match.groups;
  if (groups === undefined) return match.slice(1).map((group: string | undefined) => group ?? null);
  if (Object.keys(groups).length !== match.length - 1)
    throw new ConversionError('cannot mix both named and unnamed groups');
  return mapFrom(Object.entries(groups).map(([name, group]: [string, string | undefined]) => [name, group ?? null]));
}

function first(pattern: string, source: string): Value {
  const match = readRegex(pattern).exec(source);
  if (match === null) throw new ConversionError('pattern did not match any part of the given string');
  return resultOf(match);
}

/** An empty match directly after another match is skipped. */
const matchesOf = (regex: RegExp, source: string): readonly RegExpExecArray[] => {
  let end = -1;
  return [...source.matchAll(regex)].filter((match) => {
    const isKept = match[0] !== '' || match.index !== end;
    end = match.index + match[0].length;
    return isKept;
  });
};

/** `/pattern/`: `$1`, `${1}`, `${name}` and `$$` work in the replacement. */
export function replaceAll(source: string, pattern: string, put: string): string {
  let out = '';
  let end = 0;
  for (const match of matchesOf(readRegex(pattern, 'g'), source)) {
    out += source.slice(end, match.index) + filled(put, match);
    end = match.index + match[0].length;
    checkLength(out.length);
  }
  return out + source.slice(end);
}

function filled(put: string, match: RegExpExecArray): string {
  return put.replaceAll(/\$(?:\$|(\w+)|\{(\w+)\})/g, (written, bare?: string, braced?: string) => {
    const name = bare ?? braced;
    if (name === undefined) return written === '$$' ? '$' : written;
    return (/^\d+$/.test(name) ? match[Number(name)] : match.groups?.[name]) ?? '';
  });
}

export const regexes: Readonly<Record<string, FunctionRow>> = {
  regex: { least: 2, max: 2, run: (args) => first(text(args, 0), text(args, 1)) },
  regexall: makesList({
    least: 2,
    max: 2,
    run: (args) => matchesOf(readRegex(text(args, 0), 'g'), text(args, 1)).map(resultOf),
  }),
};
