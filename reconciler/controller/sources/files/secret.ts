// Reads a secret of one line from a file.
import { readFile } from 'node:fs/promises';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { sourceErrors } from '../source.ts';

const maxSecret = 64 * 1024;

/** The contents of the file without the line end. `what` names the setting. */
export async function readSecret(what: string, file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw sourceErrors.unavailable(`cannot read ${what}: ${reasonOf(error)}; write the file, or name another one`, {
      cause: error,
    });
  });
  const secret = text.replace(/[\r\n]+$/, '');
  if (secret === '') throw sourceErrors.unavailable(`${what}: the file ${file} is empty`);
  const isOneLine = secret.length <= maxSecret && !/[\r\n\0]/.test(secret);
  if (!isOneLine) throw sourceErrors.unavailable(`${what}: the file ${file} must hold one line`);
  return secret;
}
