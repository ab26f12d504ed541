// Colours of text output; without colour every painter is the identity.

export type Paint = (text: string) => string;
export interface Paints {
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly blue: Paint;
  readonly bold: Paint;
  readonly dim: Paint;
}

/**
 * `true` paints with escape sequences. A text is a random mark in place of the escape character, which `terminalText` replaces: it
 * separates our colours from control characters in names and values.
 */
export type Color = boolean | string;
/** The colours of a command line, whose output goes through `terminalText`. */
export type MarkedColor = false | string;

const escape = '\u001B';
const plain: Paint = (text) => text;
const none: Paints = { red: plain, green: plain, yellow: plain, blue: plain, bold: plain, dim: plain };

export function paints(color: Color): Paints {
  if (color === false || color === '') return none;
  const mark = color === true ? escape : color;
  const style =
    (code: number): Paint =>
    (text) =>
      `${mark}[${code}m${text}${mark}[0m`;
  return { red: style(31), green: style(32), yellow: style(33), blue: style(34), bold: style(1), dim: style(2) };
}

// The Unicode characters that reorder text: marks, embeddings, overrides and isolates.
// oxlint-disable-next-line no-control-regex -- the pattern matches control characters
const steering = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

const escaped = (character: string): string => String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes control and direction characters as JSON and YAML do, so that foreign names and values cannot control a terminal. */
export const printable = (text: string): string => text.replaceAll(steering, escaped);

/** Whether `printable` would change the text. */
export const isSteering = (text: string): boolean => text.search(steering) !== -1;

/** Text that is safe for a terminal: colours with this mark become escape sequences, all other control characters become visible. */
export function terminalText(text: string, mark: string): string {
  const [first = '', ...painted] = text.split(mark);
  const sequence = /^\[[0-9]{1,2}m/;
  return painted.reduce((shown, part) => {
    const [code = ''] = sequence.exec(part) ?? [];
    return `${shown}${code === '' ? '' : `${escape}${code}`}${printable(part.slice(code.length))}`;
  }, printable(first));
}
