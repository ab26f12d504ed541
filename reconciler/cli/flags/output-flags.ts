// Flags of every verb, and formats of output.
import { inSection, text, toggle, type Flag, type Options } from './flag.ts';
import { usageError } from '../errors/usage-error.ts';

export const outputFlags = {
  ...inSection('Output:', {
    json: toggle('--json', 'print one JSON object per line on stdout'),
    color: toggle('--no-color', 'print without colours'),
  }),
  ...inSection('Execution:', { timeout: text('--timeout <duration>', 'give up after this long (90s, 5m)') }),
};
export type OutputOptions = Options<typeof outputFlags>;

export const outputFlag = (formats: string): { readonly output: Flag<'text'> } =>
  inSection('Output:', { output: text('-o, --output <format>', formats) });

/** The wanted format, the first one by default. */
export function formatOf<T extends string>(output: string | undefined, formats: readonly [T, ...T[]]): T {
  const format = output === undefined ? formats[0] : formats.find((one) => one === output);
  if (format === undefined) throw usageError(`--output ${JSON.stringify(output)} is not one of ${formats.join(', ')}`);
  return format;
}
