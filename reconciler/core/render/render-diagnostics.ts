// Renders diagnostics as text: the message, the place, the line with a mark below it, and the remedy.
import type { Diagnostic } from '../documents/diagnostic.ts';
import { paints, printable, type Paints, type Color } from '../text/terminal-text.ts';

export function renderDiagnostics(diagnostics: readonly Diagnostic[], options: { readonly color: Color }): string {
  if (diagnostics.length === 0) return '';
  const paint = paints(options.color);
  const blocks = diagnostics.map((diagnostic) => renderDiagnostic(diagnostic, paint));
  return `${[...blocks, countLine(diagnostics)].join('\n\n')}\n`;
}

function renderDiagnostic(diagnostic: Diagnostic, paint: Paints): string {
  const tint = diagnostic.severity === 'error' ? paint.red : paint.yellow;
  const head = `${tint(`${diagnostic.severity}[${diagnostic.code}]`)}: ${paint.bold(printable(diagnostic.message))}`;
  const gutter = ' '.repeat(String(diagnostic.line ?? 0).length);
  return [
    head,
    ...placeLines(diagnostic, gutter),
    ...excerptLines(diagnostic, gutter, tint),
    ...(diagnostic.related ?? []).map(
      (place) => `${gutter} = ${printable(place.message)}: ${place.file}:${place.line}:${place.column}`,
    ),
    ...(diagnostic.remedy === undefined ? [] : [`${gutter} = help: ${printable(diagnostic.remedy)}`]),
  ].join('\n');
}

function placeLines(diagnostic: Diagnostic, gutter: string): readonly string[] {
  const { file, line, column, address, path } = diagnostic;
  const subject = [address ?? '', path].filter((part) => part !== '').join(' ');
  if (file === undefined) return subject === '' ? [] : [`${gutter}--> ${printable(subject)}`];
  const place = `${gutter}--> ${file}:${line ?? 1}:${column ?? 1}`;
  return [subject === '' ? place : `${place} (${printable(subject)})`];
}

function excerptLines(diagnostic: Diagnostic, gutter: string, tint: (text: string) => string): readonly string[] {
  const { excerpt, line = 1, column = 1 } = diagnostic;
  if (excerpt === undefined) return [];
  // Copies tabs, so that the mark stays below its column.
  const indent = excerpt.text.slice(0, column - 1).replaceAll(/[^\t]/g, ' ');
  const marks = '^'.repeat(Math.max(1, Math.min(excerpt.length, excerpt.text.length - column + 1)));
  return [`${gutter} |`, `${line} | ${printable(excerpt.text)}`, `${gutter} | ${indent}${tint(marks)}`];
}

function countLine(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 'error').length;
  const warnings = diagnostics.length - errors;
  return [counted(errors, 'error'), counted(warnings, 'warning')].filter((text) => text !== '').join(', ');
}

const counted = (count: number, word: string): string =>
  count === 0 ? '' : `${count} ${word}${count === 1 ? '' : 's'}`;
