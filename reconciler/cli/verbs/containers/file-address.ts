// `NAME/path` on the command line, and the errors that all file commands share.
import type { Client } from '../../../../server/client/client.ts';
import { ClientError, isNotFound } from '../../../../server/client/client-error.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { refuseServerInName } from '../../flags/server-in-name.ts';

export interface FileAddress {
  readonly container: string;
  /** Absolute in the container. */
  readonly path: string;
}

export function parseFileAddress(text: string): FileAddress {
  refuseServerInName(text);
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

/** Throws the error with the address, if the server does not name it. A missing container is named as by the other verbs. */
export async function refuse(client: Client, error: unknown, address: string): Promise<never> {
  if (!(error instanceof ClientError) || error.status === 0) throw error;
  const { container } = parseFileAddress(address);
  if (isNotFound(error)) await client.get('container', container).catch(refuseMissing('container', container));
  const words = error.message.replace(/^[A-Z]+ \S+: /, '');
  throw commandError(words.includes('/') ? words : `${address}: ${words}`, error);
}

/** Last part of a path; empty for `/`. */
export const baseName = (path: string): string => path.split('/').filter(Boolean).at(-1) ?? '';
export const below = (dir: string, name: string): string => `${dir.replace(/\/+$/, '')}/${name}`;
