// gantry.lock: the fingerprints that aliases had at the last `gantry update`, to be kept in version
// control beside the manifests. YAML, one line per image.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { CliContext } from './context.ts';
import type { Options } from '../flags/flag.ts';
import type { lockFileFlag } from '../flags/manifest-flags.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export type Pins = ReadonlyMap<string, string>;
type LockFileContext = CliContext<Options<typeof lockFileFlag>>;

/** --lock-file, else beside the first manifest. */
export function lockFilePath(context: LockFileContext, files: readonly string[]): string {
  const first = files.find((file) => file !== '-' && file !== '<stdin>');
  return context.options.lockFile ?? join(first === undefined ? '.' : dirname(first), 'gantry.lock');
}

/** Empty when the file does not exist, unless --lock-file names it: then it must exist, except for a command that writes it. */
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
  return parsePins(path, text);
}

export function parsePins(path: string, text: string): Pins {
  let value: unknown;
  try {
    // Fingerprints that look like numbers stay strings.
    value = parse(text, { schema: 'failsafe' });
  } catch (error) {
    throw new CliError(`${path} is not YAML: ${reasonOf(error)}`, exitCodes.error);
  }
  const { version, images } = (value ?? {}) as { readonly version?: unknown; readonly images?: unknown };
  if (version !== '1')
    throw new CliError(`${path} has version ${String(version)}; this gantry reads version 1`, exitCodes.error);
  const pins = new Map<string, string>();
  for (const [alias, fingerprint] of Object.entries((images ?? {}) as Record<string, unknown>)) {
    if (typeof fingerprint !== 'string' || !/^[0-9a-f]{64}$/.test(fingerprint)) {
      throw new CliError(`${path}: images.${alias} must be a fingerprint of 64 hexadecimal digits`, exitCodes.error);
    }
    pins.set(alias, fingerprint);
  }
  return pins;
}

/** Writes atomically. */
export async function writePins(path: string, pins: Pins): Promise<void> {
  const images = Object.fromEntries([...pins].sort(([a], [b]) => (a < b ? -1 : 1)));
  const head =
    '# Images that containers with manage.image are made from. Written by gantry update; keep it in version control.\n';
  const partial = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(partial, `${head}${stringify({ version: 1, images })}`);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw new CliError(`Cannot write ${path}: ${reasonOf(error)}`, exitCodes.error, error);
  }
}
