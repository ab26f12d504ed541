// Reads typed values from untrusted answers: a value of another type counts as absent. Pure.

export type JsonMap = Readonly<Record<string, unknown>>;

export const mapOf = (value: unknown): JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMap) : {};

export const textOf = (value: unknown): string => (typeof value === 'string' && value.length <= maxText ? value : '');

export const sizeOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** Its members in order, without `__proto__`. */
export const entriesOf = (value: unknown): readonly (readonly [string, unknown])[] =>
  Object.entries(mapOf(value)).filter(([key]) => key !== '__proto__');

/** The texts of a map, up to a limit; omits other members. */
export const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    entriesOf(value)
      .slice(0, maxTexts)
      .flatMap(([key, text]) => (typeof text === 'string' ? [[key, textOf(text)]] : [])),
  );

export const isFingerprint = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

const maxText = 16_384;
const maxTexts = 1000;
