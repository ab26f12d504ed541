// Prints what a controller answered: as text, as a document (-o json), or as one line (--json).
import { type OutputOptions, formatOf } from '../../flags/output-flags.ts';
import type { Context } from '../../session/context.ts';

export interface Answer {
  /** The type in the line of --json. */
  readonly type: string;
  /** A list becomes the member `items` of that line. */
  readonly value: object;
  readonly text: () => string;
}

export function printAnswer(
  context: Context<OutputOptions & { readonly output?: string | undefined }>,
  { type, value, text }: Answer,
): void {
  const format = formatOf(context.options.output, ['text', 'json']);
  const fields = Array.isArray(value) ? { items: value as readonly unknown[] } : value;
  if (context.isJson) context.json(JSON.stringify({ '@level': 'info', type, ...fields }));
  else context.out(format === 'json' ? JSON.stringify(value, null, 2) : text());
}

/** A revision, shortened for people. */
export const short = (revision: string | undefined): string => (revision ?? '').replace(/^sha256:/, '').slice(0, 12);
