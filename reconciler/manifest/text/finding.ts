// A problem of one document by its path, before it has a place in a file.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';

export type Finding = Pick<Diagnostic, 'severity' | 'code' | 'path' | 'message' | 'remedy'>;

export const wrong = (code: string, path: string, message: string, remedy?: string): Finding => ({
  severity: 'error',
  code,
  path,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});
