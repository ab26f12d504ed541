// The message for a setting that the server cannot serve. Pure.
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';

export const incapable = (object: Document, path: string, what: string, why: string): Diagnostic => ({
  severity: 'error',
  code: 'not-capable',
  address: object.address,
  path,
  message: `${object.address}: this server cannot ${what}: ${why}`,
  remedy: `${path === '' ? 'leave the document out' : `take ${path} out`}, or use a server that can`,
  ...object.location,
});
