// The code of an error, such as ENOENT; empty for any other value.
export const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

export const hasCode = (error: unknown, ...codes: readonly string[]): boolean => codes.includes(codeOf(error));
