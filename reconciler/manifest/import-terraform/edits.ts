// Edits of a text at offsets; edits within a replaced part are dropped. Pure.
import type { Span } from '../terraform-json/expression/syntax.ts';

export interface Edit extends Span {
  readonly text: string;
}

/** The part of the text after its edits. */
export function edited(text: string, { start, end }: Span, edits: readonly Edit[]): string {
  const ordered = edits
    .filter((edit) => edit.start >= start && edit.end <= end)
    .toSorted((a, b) => a.start - b.start || b.end - a.end);
  let at = start;
  let result = '';
  for (const edit of ordered) {
    if (edit.start < at) continue;
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at, end);
}

/** Removes a part, with its line when nothing else is on it. */
export function removal(text: string, { start, end }: Span): Edit {
  const before = text.lastIndexOf('\n', start - 1) + 1;
  const newline = text.indexOf('\n', end);
  const after = newline < 0 ? text.length : newline + 1;
  const isAlone = text.slice(before, start).trim() === '' && text.slice(end, after).trim() === '';
  return isAlone ? { start: before, end: after, text: '' } : { start, end, text: '' };
}

export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
