// Times as people read them: in UTC, and marked as such, whatever offset a server writes. Pure.

/** Without the milliseconds: `2026-01-31T10:00:00Z`. A text that is no time stays as it is. */
export function utcSecond(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Empty for the zero times of a server, which mean never. */
export const utcSecondOrNever = (text: string): string => (/^(0001|1970)-|^$/.test(text) ? '' : utcSecond(text));
