// Lines of an env file of docker compose: names with values in the language of compose files, where `$$` is a dollar. Pure.

export interface EnvLine {
  readonly name: string;
  /** undefined: the line is a name alone, and the shell has its value. */
  readonly value: string | undefined;
}

export interface EnvLines {
  readonly lines: readonly EnvLine[];
  /** Why the lines end here. It shows nothing of the text, which may be any file. */
  readonly problem?: string;
}

const head = /(?:export[^\S\n]+)?([\p{L}\p{N}_.\-[\]]+)[^\S\n]*(=|:|\n|$)[^\S\n]*/uy;

export function envLines(whole: string): EnvLines {
  const text = whole.replace(/^\uFEFF/, '');
  const lines: EnvLine[] = [];
  for (let at = statementFrom(text, 0); at < text.length; at = statementFrom(text, at)) {
    head.lastIndex = at;
    const [found, name = '', sign] = head.exec(text) ?? [];
    if (found === undefined) return { lines, problem: `line ${lineOf(text, at)} is no NAME=VALUE` };
    const value = sign === '=' || sign === ':' ? valueAt(text, at + found.length) : { end: at + found.length };
    if (value === undefined) return { lines, problem: `line ${lineOf(text, at)} has a quote that does not end` };
    lines.push({ name, value: value.value });
    at = value.end;
  }
  return { lines };
}

/** Lines of the format `raw`, that of `docker run --env-file`: quotes, dollars and comments after a value are text. */
export function rawEnvLines(whole: string): EnvLines {
  const lines: EnvLine[] = [];
  for (const [index, each] of whole
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = each.trimStart();
    if (line === '' || line.startsWith('#')) continue;
    const [, name, value] = /^([^\s=]+)(?:=(.*))?$/s.exec(line) ?? [];
    if (name === undefined) return { lines, problem: `line ${index + 1} is no NAME=VALUE` };
    lines.push({ name, value: value === undefined ? undefined : dollarsDoubled(value) });
  }
  return { lines };
}

export const dollarsDoubled = (text: string): string => text.replaceAll('$', () => '$$');

/** Skips space and comments. */
function statementFrom(text: string, from: number): number {
  let at = from;
  while (at < text.length)
    if (text[at] === '#') at = endOfLine(text, at);
    else if (/\s/.test(text[at] ?? '')) at++;
    else break;
  return at;
}

/** undefined: its quote does not end. */
function valueAt(text: string, from: number): { readonly value?: string; readonly end: number } | undefined {
  const quote = text[from];
  if (quote !== '"' && quote !== "'") {
    const end = endOfLine(text, from);
    return { value: (text.slice(from, end).split(' #', 1)[0] ?? '').trimEnd(), end };
  }
  const end = closingQuote(text, from + 1, quote);
  if (end < 0) return undefined;
  const inner = text.slice(from + 1, end);
  return {
    value: quote === '"' ? unescaped(inner) : dollarsDoubled(inner.replaceAll(/\\(['\\])/g, singleQuoted)),
    end: end + 1,
  };
}

function closingQuote(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at++)
    if (text[at] === '\\') at++;
    else if (text[at] === quote) return at;
  return -1;
}

/** A backslash before another backslash stays, so that `\\'` ends no text. */
const singleQuoted = (both: string, escaped: string): string => (escaped === "'" ? escaped : both);

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  $: '$$',
};

const unescaped = (text: string): string =>
  text.replaceAll(/\\(?:0([0-3][0-7]{2})|([abfnrtv$"\\]))/g, (_, octal: string | undefined, one = '') =>
    octal === undefined ? (escapes[one] ?? one) : String.fromCodePoint(Number.parseInt(octal, 8)),
  );

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length;
