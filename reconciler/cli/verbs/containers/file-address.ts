// `NAME/path` on the command line, and the errors that all file commands share.
import { ClientError } from '../../../../server/client/client-error.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';

export interface FileAddress {
  readonly container: string;
  /** Absolute in the container. */
  readonly path: string;
}

export function parseFileAddress(text: string): FileAddress {
  const slash = text.indexOf('/');
  if (slash < 1)
    throw usageError(`${JSON.stringify(text)} is not NAME/path: a container's name, a slash, a path in it`);
  return { container: text.slice(0, slash), path: text.slice(slash) };
}

export function idOption(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text)) throw usageError(`${flag} ${JSON.stringify(text)} is not a number of 0 or more`);
  return Number(text);
}

export function modeOption(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-7]{1,5}$/.test(text)) throw usageError(`--mode ${JSON.stringify(text)} is not octal, such as 0644`);
  return Number.parseInt(text, 8);
}

/** Adds the address to errors of the server that do not name it. */
export function explain(error: unknown, address: string): unknown {
  if (!(error instanceof ClientError) || error.status === 0) return error;
  const words = error.message.replace(/^[A-Z]+ \S+: /, '');
  return new CliError(words.includes('/') ? words : `${address}: ${words}`, exitCodes.error, error);
}

/** Last part of a path; empty for `/`. */
export const baseName = (path: string): string => path.split('/').filter(Boolean).at(-1) ?? '';
export const below = (dir: string, name: string): string => `${dir.replace(/\/+$/, '')}/${name}`;
