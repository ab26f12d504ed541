// Parses the texts of flags and arguments: addresses, variables, numbers, durations. Pure; wrong values are usage errors.
import { kindNames, kindOfWord } from '../../../server/api/kinds.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import type { Address } from '../../core/documents/document.ts';
import { usageError } from '../errors/usage-error.ts';
import { refuseServerInName } from './server-in-name.ts';

/** `container/web1`; the kind may also be a plural or short form. */
export function parseAddress(text: string): Address {
  const slash = text.indexOf('/');
  const word = text.slice(0, Math.max(slash, 0));
  const kind = kindOfWord(word);
  const name = text.slice(slash + 1);
  if (kind === undefined || name === '') {
    const meant = slash === -1 && text !== '' ? `, such as container/${text}` : '';
    throw usageError(`${JSON.stringify(text)} is not KIND/NAME${meant}; kinds are ${kindNames.join(', ')}`);
  }
  return `${kind}/${name}`;
}

/** A container without its kind, or KIND/NAME. `forSnapshots`: the verb that does the same to a snapshot. */
export function parseContainerOrAddress(text: string, forSnapshots?: string): Address {
  refuseServerInName(text);
  if (!text.includes('/')) return parseAddress(`container/${text}`);
  const [container = '', snapshot = ''] = text.split('/');
  if (kindOfWord(container) === undefined && container !== '' && snapshot !== '')
    throw usageError(
      `${JSON.stringify(text)} is not KIND/NAME: ${container} is no kind (${kindNames.join(', ')})` +
        (forSnapshots === undefined ? '' : `. For a snapshot: ${forSnapshots} ${text}`),
    );
  return parseAddress(text);
}

/** Refuses other kinds: `what` takes containers only. */
export function parseContainer(text: string, what: string, forSnapshots?: string): string {
  const address = parseContainerOrAddress(text, forSnapshots);
  const [kind = ''] = address.split('/');
  if (kind !== 'container')
    throw usageError(`${text} is no container: ${what} takes containers only. For this object: gantry show ${address}`);
  return address.slice(kind.length + 1);
}

/** Reads `--var NAME=VALUE` and flags like it; `form` is how the message writes a pair. */
export function parsePairs(flag: string, pairs: readonly string[] = [], form = 'NAME=VALUE'): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw usageError(`${flag} ${JSON.stringify(pair)} is not ${form}`);
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

export function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1)
    throw usageError(`${flag} ${JSON.stringify(text)} is not a number of 1 or more`);
  return count;
}

/** 0 or more. */
export function parseNumber(flag: string, text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d+$/.test(text)) throw usageError(`${flag} ${JSON.stringify(text)} is not a number`);
  return text === undefined ? undefined : Number(text);
}

/** `90s`, `5m`, `1h30m`, `2d`, or bare seconds. */
export function parseDuration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const found = durationMs(text);
  if (found === undefined)
    throw usageError(`${flag} ${JSON.stringify(text)} is not a duration such as 90s, 5m, 1h30m or 2d`);
  return found;
}
