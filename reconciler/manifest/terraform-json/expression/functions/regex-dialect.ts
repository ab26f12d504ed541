// Terraform's dialect of regular expressions (RE2) translated into the dialect of JavaScript. Syntax that RE2 lacks is refused as
// Terraform refuses it; syntax that means something else and cannot be translated is refused by name.
import { ConversionError } from '../values.ts';

const posixClasses: Readonly<Record<string, string>> = {
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: String.raw`\x00-\x7F`,
  blank: String.raw`\t `,
  cntrl: String.raw`\x00-\x1F\x7F`,
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: String.raw`!-\/:-@[-${'`'}\{-~`.replace('[-', String.raw`\[-`),
  space: String.raw`\t\n\v\f\r `,
  upper: 'A-Z',
  word: String.raw`0-9A-Za-z_`,
  xdigit: '0-9A-Fa-f',
};

/** ASCII only there. */
const shorthand: Readonly<Record<string, string>> = { d: '0-9', w: '0-9A-Za-z_', s: String.raw`\t\n\f\r ` };

interface Flags {
  i: boolean;
  m: boolean;
  s: boolean;
  U: boolean;
}

/** Throws ConversionError. */
export function readRegex(pattern: string, flags = ''): RegExp {
  const translation = new Translation(pattern);
  const source = translation.translated();
  try {
    return new RegExp(source, `u${translation.isCaseless ? 'i' : ''}${flags}`);
  } catch (error) {
    throw new ConversionError(`invalid regular expression pattern: ${(error as Error).message}`);
  }
}

class Translation {
  readonly #text: string;
  #at = 0;
  #flags: Flags = { i: false, m: false, s: false, U: false };
  /** The open groups: the flags around each, and facts that decide whether JavaScript resets its captures at each iteration. */
  readonly #outer: { readonly flags: Flags; captures: number; isChoice: boolean; isCapture: boolean }[] = [];
  /** A flag of the whole expression, since JavaScript has no others. */
  isCaseless = false;

  constructor(text: string) {
    this.#text = text;
  }

  translated(): string {
    let out = '';
    while (this.#at < this.#text.length) out += this.#one();
    if (this.#outer.length > 0) throw new ConversionError('missing closing )');
    return out;
  }

  #one(): string {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += char.length;
    switch (char) {
      case '\\':
        return this.#escape(false);
      case '[':
        return this.#set();
      case '(':
        return this.#group();
      case ')':
        return this.#close();
      case '|':
        this.#chooses();
        return char;
      case '.':
        return this.#flags.s ? String.raw`[^]` : String.raw`[^\n]`;
      case '^':
        return this.#flags.m ? String.raw`(?<=^|\n)` : '^';
      case '$':
        return this.#flags.m ? String.raw`(?=\n|$)` : '$';
      case '*':
      case '?':
        this.#chooses();
        return this.#lazy(char);
      case '+':
        return this.#lazy(char);
      case '{':
        return this.#repeat();
      case '}':
      case ']':
      case '/':
        return `\\${char}`;
      default:
        return char;
    }
  }

  #close(): string {
    const group = this.#outer.pop();
    if (group === undefined) throw new ConversionError('unexpected )');
    this.#flags = group.flags;
    const isRepeated = /^(?:[*+]|\{\d)/.test(this.#text.slice(this.#at));
    if (isRepeated && group.isChoice && group.captures > 0)
      throw new ConversionError('groups that a repetition may pass over are not evaluated');
    const outer = this.#outer.at(-1);
    if (outer !== undefined) {
      outer.captures += group.captures + (group.isCapture ? 1 : 0);
      outer.isChoice ||= group.isChoice;
    }
    return ')';
  }

  #chooses(): void {
    const group = this.#outer.at(-1);
    if (group !== undefined) group.isChoice = true;
  }

  #lazy(quantifier: string): string {
    const isLazy = this.#text[this.#at] === '?';
    if (isLazy) this.#at++;
    if (['*', '+', '?'].includes(this.#text[this.#at] ?? ''))
      throw new ConversionError('invalid nested repetition operator');
    return quantifier + (isLazy === this.#flags.U ? '' : '?');
  }

  #repeat(): string {
    const count = /^(\d+)(?:,(\d*))?\}/.exec(this.#text.slice(this.#at));
    if (count === null) return String.raw`\{`;
    this.#at += count[0].length;
    if (Math.max(Number(count[1]), Number(count[2] ?? 0)) > 1000) throw new ConversionError('invalid repeat count');
    return this.#lazy(`{${count[0]}`);
  }

  #group(): string {
    this.#outer.push({ flags: this.#flags, captures: 0, isChoice: false, isCapture: true });
    this.#flags = { ...this.#flags };
    if (this.#text[this.#at] !== '?') return '(';
    const rest = this.#text.slice(this.#at);
    const named = /^\?P?<([A-Za-z0-9_]+)>/.exec(rest);
    if (named !== null) {
      this.#at += named[0].length;
      return `(?<${named[1] ?? ''}>`;
    }
    const flagged = /^\?([imsU]*)(?:-([imsU]+))?([:)])/.exec(rest);
    if (flagged === null) throw new ConversionError(`invalid or unsupported Perl syntax: (${rest.slice(0, 3)}`);
    this.#at += flagged[0].length;
    const [, on = '', off = '', end] = flagged;
    const isGlobal = this.#at === flagged[0].length + 1 && end === ')';
    for (const flag of on) this.#turn(flag, true, isGlobal);
    for (const flag of off) this.#turn(flag, false, isGlobal);
    const group = this.#outer.at(-1);
    if (group !== undefined) group.isCapture = false;
    if (end === ':') return '(?:';
    // The flags apply to the rest of the enclosing group.
    this.#outer.pop();
    return '';
  }

  #turn(flag: string, value: boolean, isGlobal: boolean): void {
    if (flag === 'i' && value !== this.isCaseless) {
      if (!isGlobal) throw new ConversionError('the flag i for a part of an expression is not evaluated');
      this.isCaseless = value;
    }
    this.#flags = { ...this.#flags, [flag]: value };
  }

  /** Translates the text after a backslash, also in a set. */
  #escape(inSet: boolean): string {
    const char = this.#text[this.#at++];
    if (char === undefined) throw new ConversionError('trailing backslash at end of expression');
    const lower = char.toLowerCase();
    const short = shorthand[lower];
    if (short !== undefined) {
      if (char === lower) return inSet ? short : `[${short}]`;
      if (inSet) throw new ConversionError(`\\${char} in a set is not evaluated`);
      return `[^${short}]`;
    }
    if (!inSet && char === 'A') return '(?<![^])';
    if (!inSet && char === 'z') return '(?![^])';
    if (!inSet && lower === 'b') return `\\${char}`;
    if (!inSet && char === 'Q') return this.#literal();
    if (lower === 'p') return this.#property(char);
    if (char === 'a') return String.raw`\x07`;
    if ('fnrtv'.includes(char)) return `\\${char}`;
    if (char === 'x') return this.#hex();
    if (/[0-7]/.test(char)) {
      const octal = /^[0-7]{1,3}/.exec(this.#text.slice(this.#at - 1))?.[0] ?? '';
      if (octal.length < 2 && char !== '0') throw new ConversionError(`invalid escape sequence: \\${char}`);
      this.#at += octal.length - 1;
      return `\\u{${Number.parseInt(octal, 8).toString(16)}}`;
    }
    if (/[A-Za-z0-9]/.test(char) || char.charCodeAt(0) > 0x7f)
      throw new ConversionError(`invalid escape sequence: \\${char}`);
    return /[$()*+.?[\\\]^{|}/-]/.test(char) && !(char === '-' && !inSet) ? `\\${char}` : char;
  }

  #literal(): string {
    const end = this.#text.indexOf(String.raw`\E`, this.#at);
    const literal = this.#text.slice(this.#at, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end + 2;
    return literal.replace(/[$()*+.?[\\\]^{|}/]/g, String.raw`\$&`);
  }

  #hex(): string {
    const found = /^(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})/.exec(this.#text.slice(this.#at));
    if (found === null) throw new ConversionError('invalid escape sequence: \\x');
    this.#at += found[0].length;
    return `\\u{${found[1] ?? found[2] ?? ''}}`;
  }

  #property(char: string): string {
    const found = /^(?:\{(\^?)(\w+)\}|([A-Z]))/.exec(this.#text.slice(this.#at));
    if (found === null) throw new ConversionError(`invalid character class range: \\${char}`);
    this.#at += found[0].length;
    const [, not = '', long, short] = found;
    const name = long ?? short ?? '';
    const isNegated = (char === 'P') !== (not === '^');
    return `\\${isNegated ? 'P' : 'p'}{${name.length <= 2 ? name : `Script=${name}`}}`;
  }

  #set(): string {
    let out = '[';
    if (this.#text[this.#at] === '^') {
      out += '^';
      this.#at++;
    }
    for (let isFirst = true; ; isFirst = false) {
      const rest = this.#text.slice(this.#at);
      const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
      if (rest === '') throw new ConversionError('missing closing ]');
      if (char === ']' && !isFirst) {
        this.#at++;
        return `${out}]`;
      }
      const named = /^\[:(\^?)([a-z]+):\]/.exec(rest);
      if (named !== null) {
        const members = posixClasses[named[2] ?? ''];
        if (members === undefined || named[1] === '^')
          throw new ConversionError(`the class ${named[0]} is not evaluated`);
        this.#at += named[0].length;
        out += members;
        continue;
      }
      this.#at += char.length;
      if (char === '\\') out += this.#escape(true);
      else if (char === '-' && (isFirst || this.#text[this.#at] === ']')) out += String.raw`\-`;
      else out += /[()[\]{}/|^$]/.test(char) && !(char === '^' && isFirst) ? `\\${char}` : char;
    }
  }
}

/** The whole when there are no groups, else the groups, by names when they have some. */
