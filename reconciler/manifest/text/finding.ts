// A problem of one document by its path, before it has a place in a file.
import type { Severity } from '../../core/documents/diagnostic.ts';

export interface Finding {
  readonly severity: Severity;
  readonly code: string;
  readonly path: string;
  readonly message: string;
  readonly remedy?: string;
}

export const wrong = (code: string, path: string, message: string, remedy?: string): Finding => ({
  severity: 'error',
  code,
  path,
  message,
  ...(remedy === undefined ? {} : { remedy }),
});
