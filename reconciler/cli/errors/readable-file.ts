// Checks before an upload that a file of this machine can be read: later its error would look like one of the connection.
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { fileError } from '../../../server/lib/shared/error-code.ts';
import { commandError } from './usage-error.ts';

/** `wanted`: what the file has to be, such as `an image file`. */
export async function needReadableFile(path: string, wanted: string): Promise<void> {
  const found = await stat(path)
    .then(async (stats) => {
      await access(path, constants.R_OK);
      return stats;
    })
    .catch((error: unknown) => {
      throw fileError(`Cannot read ${path}`, error);
    });
  if (found.isDirectory()) throw commandError(`${path} is a directory: name ${wanted}`);
}
