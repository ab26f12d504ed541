// gantry.lock: the fingerprints of aliases at the last `gantry update`, for version control beside the manifests. YAML, one
// line per image.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parsePins, pinsText, type Pins } from '../../manifest/image-pins.ts';
import type { Context } from './context.ts';
import type { Options } from '../flags/flag.ts';
import type { lockFileFlag } from '../flags/manifest-flags.ts';
import { usageError, commandError } from '../errors/usage-error.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { replaceWhole } from '../../../server/lib/durable-files.ts';

type LockFileContext = Context<Options<typeof lockFileFlag>>;

/** --lock-file, else beside the first manifest. */
export function lockFilePath(context: LockFileContext, files: readonly string[]): string {
  const first = files.find((file) => file !== '-' && file !== '<stdin>');
  return context.options.lockFile ?? join(first === undefined ? '.' : dirname(first), 'gantry.lock');
}

/** Empty without a file. A file that --lock-file names must exist, except for a command that writes it. */
export async function readPins(
  context: LockFileContext,
  files: readonly string[],
  mayBeMissing = context.options.lockFile === undefined,
): Promise<Pins> {
  const path = lockFilePath(context, files);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && mayBeMissing) return new Map();
    throw usageError(`Cannot read ${path}: ${reasonOf(error)}`);
  }
  try {
    return parsePins(path, text);
  } catch (error) {
    throw commandError(reasonOf(error), error);
  }
}

export const writePins = (path: string, pins: Pins): Promise<void> => replaceWhole(path, pinsText(pins));
