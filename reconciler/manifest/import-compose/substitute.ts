// Variables in a text of docker compose with other variables in their defaults. Pure.

export interface Variable {
  readonly name: string;
  /** `:-`, `-`, `:?`, `?`, `:+`, `+`; empty: the name alone. */
  readonly sign: string;
  /** The text after the sign. */
  readonly word: string;
  readonly whole: string;
}

const name = '[A-Za-z_][A-Za-z0-9_]*';
const head = new RegExp(String.raw`\$\$|\$(${name})|\$\{(${name})(:?[-?+]|(?=\}))`, 'g');
/** Deeper variables stay as they stand. */
const deepest = 50;

/** A result longer than `longest` is cut there: its caller refuses it. */
export function substitute(text: string, longest: number, replace: (variable: Variable) => string): string {
  let done = '';
  let at = 0;
  for (const found of text.matchAll(head)) {
    const [start, bare, braced, sign = ''] = found;
    if (found.index < at || done.length > longest) continue;
    const from = found.index + start.length;
    const end = braced === undefined ? from : closingBrace(text, from);
    const known = bare ?? braced;
    if (known === undefined || end < 0) continue;
    const after = braced === undefined ? end : end + 1;
    const whole = text.slice(found.index, after);
    done += text.slice(at, found.index) + replace({ name: known, sign, word: text.slice(from, end), whole });
    at = after;
  }
  return done + text.slice(at);
}

function closingBrace(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++)
    if (text[at] === '}' && depth-- === 0) return at;
    else if (text.startsWith('${', at) && ++depth > deepest) return -1;
  return -1;
}

/** The value of a variable that has one; `inner` resolves its word. */
export function valueOf({ sign, word }: Variable, value: string, inner: (word: string) => string): string {
  const isSet = value !== '' || !sign.startsWith(':');
  if (sign.endsWith('+')) return isSet ? inner(word) : '';
  return isSet || sign !== ':-' ? value : inner(word);
}
