// The colours of the current theme for drawings, read from the tokens, so that colours are defined only there.
import type { ObjectStatusName } from '../../controller/contract/index.ts';
import { statusNames } from '../data/status-names.ts';

export interface Palette {
  readonly surface: string;
  readonly line: string;
  readonly ink: string;
  readonly soft: string;
  readonly edge: string;
  readonly accent: string;
  readonly font: string;
  readonly statuses: Readonly<Record<ObjectStatusName, string>>;
}

/** Statuses that have the colour of another. */
const tokens: Partial<Record<ObjectStatusName, string>> = { missing: 'drifted', undeclared: 'unknown' };

export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const colour = (status: ObjectStatusName): string => token(tokens[status] ?? status);
  return {
    surface: token('surface'),
    line: token('line'),
    ink: token('ink'),
    soft: token('ink-soft'),
    edge: token('line-strong'),
    accent: token('accent'),
    font: token('font'),
    statuses: Object.fromEntries(statusNames.map((status) => [status, colour(status)])) as Palette['statuses'],
  };
}
