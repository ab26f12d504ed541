// Names the directory whose disk, or its quota, was full while an upload was received into a file.
import { dirname } from 'node:path';
import { errors } from '../api/errors.ts';
import { hasCode } from '../lib/shared/error-code.ts';

/** Other errors are returned unchanged. */
export const uploadError = (what: string, path: string, error: unknown): unknown =>
  hasCode(error, 'ENOSPC', 'EDQUOT')
    ? errors.internal(`Receiving the ${what} failed: the disk of ${dirname(path)} is full`, error)
    : error;
