// Colours as functions that do nothing when colour is off. Pure.
import type { MarkedColor } from '../../core/text/terminal-text.ts';

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

export function paintFor(mark: MarkedColor): Paint {
  const with_ =
    (open: number, close: number) =>
    (text: string): string =>
      mark === false || mark === '' ? text : `${mark}[${open}m${text}${mark}[${close}m`;
  return { bold: with_(1, 22), dim: with_(2, 22), red: with_(31, 39), green: with_(32, 39), yellow: with_(33, 39) };
}
