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

const plain: Paint = (text) => text;
const style =
  (code: number): Paint =>
  (text) =>
    `\u001B[${code}m${text}\u001B[0m`;

const none: Paints = { red: plain, green: plain, yellow: plain, blue: plain, bold: plain, dim: plain };
const ansi: Paints = {
  red: style(31),
  green: style(32),
  yellow: style(33),
  blue: style(34),
  bold: style(1),
  dim: style(2),
};

export const paints = (color: boolean): Paints => (color ? ansi : none);

/** Control characters made visible: names and values come from others and must not steer a terminal. */
export const printable = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return String.raw`\u${code}`;
  });
