// Columns of text, aligned. Pure.
import { printable } from '../../core/text/terminal-text.ts';
import type { Paint } from './paint.ts';

/** A cell is one line: a line break in a description must not look like another row. */
const cellOf = (text: string): string =>
  printable(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', ' ');

/** The first line of a message, for a cell. */
export const firstLine = (text: string): string => printable(text.split('\n', 1).join(''));

/** `columns`: longer lines are cut there. */
export function renderTable(
  head: readonly string[],
  texts: readonly (readonly string[])[],
  paint: Paint,
  columns = Infinity,
): string {
  const rows = texts.map((row) => row.map(cellOf));
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .slice(0, columns)
      .trimEnd();
  return [paint.bold(line(head)), ...rows.map(line)].join('\n');
}
