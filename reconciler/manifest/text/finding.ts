// A problem of one document by its path, before it has a place in a file.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type Finding = Pick<Diagnostic, 'severity' | 'code' | 'path' | 'message' | 'remedy'>;

export const wrong = (code: string, path: string, message: string, remedy?: string): Finding => ({
  severity: 'error',
  code,
  path,
  message,
  ...withoutUndefined({ remedy }),
});
