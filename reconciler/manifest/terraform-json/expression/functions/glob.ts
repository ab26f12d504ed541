// Patterns of fileset(): `*`, `**`, `?`, `[a-z]`, `[^a-z]`, `{a,b}` over paths, as a test of one path. Pure.
import { ConversionError } from '../values.ts';

/** Throws ConversionError for a pattern that does not end. */
export function globPattern(pattern: string): (path: string) => boolean {
  const cleaned = pattern.replace(/^(?:\.\/)+/, '');
  const test = new RegExp(`^${translated(cleaned)}$`, 'su');
  return (path) => test.test(path);
}

function translated(pattern: string): string {
  let out = '';
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? '';
    if (char === '*') {
      const isDeep = /^\*\*(?:\/|$)/.test(pattern.slice(at)) && (at === 0 || pattern[at - 1] === '/');
      if (!isDeep) out += '[^/]*';
      else if (pattern[at + 2] === '/') out += '(?:[^/]+/)*';
      else out += '.*';
      while (pattern[at + 1] === '*') at++;
      if (isDeep && pattern[at + 1] === '/') at++;
    } else if (char === '?') out += '[^/]';
    else if (char === '[') {
      const end = pattern.indexOf(']', at + 2);
      if (end < 0) throw invalid(pattern);
      out += `[${pattern
        .slice(at + 1, end)

        .replaceAll('\\', '\\\\')}]`;
      at = end;
    } else if (char === '{') {
      depth++;
      out += '(?:';
    } else if (char === '}' && depth > 0) {
      depth--;
      out += ')';
    } else if (char === ',' && depth > 0) out += '|';
    else if (char === '\\' && at + 1 < pattern.length) out += escaped(pattern[++at] ?? '');
    else out += escaped(char);
  }
  if (depth > 0) throw invalid(pattern);
  return out;
}

const escaped = (char: string): string => char.replace(/[$()*+.?[\\\]^{|}/]/, String.raw`\$&`);
const invalid = (pattern: string): ConversionError =>
  new ConversionError(`the pattern ${JSON.stringify(pattern)} does not end`);
