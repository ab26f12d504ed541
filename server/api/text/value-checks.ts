// The checks for config keys and device properties: text -> the broken rule, or undefined when valid. Pure.
import { parseBits } from './bit-rate.ts';
import { parseBytes } from './byte-size.ts';
import { parseCidr, parseIp } from './ip.ts';

/** The rule as the end of a sentence ("must be ..."), undefined if the value is valid. Never called with empty text. */
export type Check = (value: string) => string | undefined;

/** The spellings of true: true, 1, yes and on, in any case. */
export const isTrue = (value: string | undefined): boolean => value !== undefined && /^(?:true|1|yes|on)$/i.test(value);

const rule =
  (text: string, holds: (value: string) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : text;

export const matches = (pattern: RegExp, text: string): Check => rule(text, (value) => pattern.test(value));

export const any: Check = () => undefined;

/** Length limits of checked values; free text has no limit of its own. A list or lines may be long, a word or number may not: parsing it
 *  would block all other requests. */
const [longestWord, longestList] = [4096, 65_536];

/** The result of the check, unless the value is longer than any valid one. */
export function judge(check: Check, value: string, form: 'word' | 'list'): string | undefined {
  const longest = form === 'word' ? longestWord : longestList;
  return check !== any && value.length > longest ? `must have at most ${longest} characters` : check(value);
}
export const bool: Check = matches(/^(?:true|false|1|0|yes|no|on|off)$/i, 'must be true or false');

export const oneOf = (...words: readonly string[]): Check =>
  rule(`must be one of ${words.join(', ')}`, (value) => words.includes(value));

/** Like `paddedInteger`, without leading zeros: kernel tools read `010` as an octal 8, and refuse `08`. */
export function integer(min?: number, max?: number): Check {
  const whole = paddedInteger(min, max);
  return (value) =>
    whole(value) ??
    (/^[-+]?0[0-9]/.test(value)
      ? `must be written without leading zeros: ${BigInt(value.replace(/^\+/, ''))}`
      : undefined);
}

/** Signed 64-bit decimal within the limits. */
export function paddedInteger(min?: number, max?: number): Check {
  const low = min === undefined ? -(2n ** 63n) : BigInt(min);
  const high = max === undefined ? 2n ** 63n - 1n : BigInt(max);
  const text =
    min === undefined
      ? 'must be a whole number'
      : max === undefined
        ? `must be a whole number of at least ${min}`
        : `must be a whole number from ${min} to ${max}`;
  return rule(text, (value) => {
    if (!/^[-+]?[0-9]{1,19}$/.test(value)) return false;
    const number = BigInt(value.replace(/^\+/, ''));
    return number >= low && number <= high;
  });
}

export const uint32 = integer(0, 2 ** 32 - 1);
export const id = uint32;

const sizeText = 'a size in bytes such as 512MB or 2GiB';
export const size: Check = rule(`must be ${sizeText}`, (value) => (parseBytes(value) ?? 0) > 0);
/** Zero means no limit. */
export const sizeOrZero: Check = rule(`must be ${sizeText}`, (value) => parseBytes(value) !== undefined);
export const sizeOrPercent: Check = rule(
  `must be ${sizeText}, or a share of the host such as 50%`,
  (value) => (parseBytes(value) ?? 0) > 0 || /^(?:[1-9][0-9]?|100)%$/.test(value),
);
export const bitRate: Check = rule('must be a rate in bits a second such as 100Mbit', (value) => {
  return (parseBits(value) ?? 0) > 0;
});
export const diskRate: Check = rule(
  'must be a rate in bytes a second such as 30MB, or in operations such as 500iops',
  (value) => (parseBytes(value) ?? 0) > 0 || /^[1-9][0-9]{0,17}iops$/.test(value),
);

export const ipv4: Check = rule(
  'must be an IPv4 address such as 10.0.0.10, without prefix length',
  (value) => parseIp(value)?.family === 4,
);
export const ipv6: Check = rule(
  'must be an IPv6 address such as fd42::10, without prefix length',
  (value) => parseIp(value)?.family === 6,
);

export const macAddress: Check = matches(
  /^[0-9a-f][02468ace](?::[0-9a-f]{2}){5}$/i,
  'must be a unicast MAC address such as 00:16:3e:12:34:56',
);
/** Linux: at most 15 bytes, no slash, no white space; `.` and `..` are reserved. */
export const interfaceName: Check = rule(
  'must be an interface name: 1 to 15 characters of letters, digits, . _ - and not . or ..',
  (value) => /^[A-Za-z0-9._][A-Za-z0-9._-]{0,14}$/.test(value) && value !== '.' && value !== '..',
);
export const absolutePath: Check = rule(
  'must be an absolute path without .. in it',
  (value) => value.startsWith('/') && !value.split('/').includes('..'),
);
/** A path in a container; without a leading slash it is relative to the root. */
export const mountPath: Check = rule(
  'must be a path without .. in it, and / itself only as /',
  (value) => !value.split('/').includes('..') && (value === '/' || canonicalPath(value) !== '/'),
);
/** The canonical spelling of a path: absolute, without empty and `.` components. */
export const canonicalPath = (path: string): string =>
  `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
export const fileMode: Check = matches(/^0?[0-7]{3,4}$/, 'must be an octal file mode such as 0660');

export const network: Check = rule(
  'must be a network such as 10.1.0.0/16, or an address',
  (value) => parseCidr(value) !== undefined || parseIp(value) !== undefined,
);

export const listOf =
  (check: Check): Check =>
  (value) => {
    for (const element of value.split(',')) {
      const broken = check(element.trim());
      if (broken !== undefined) return `must be a comma list, of which each element ${broken}`;
    }
    return undefined;
  };

export const linesOf =
  (check: Check): Check =>
  (value) => {
    for (const line of value.split('\n')) {
      const broken = line.trim() === '' ? undefined : check(line.trim());
      if (broken !== undefined) return `has the line ${shown(line)}, which ${broken}`;
    }
    return undefined;
  };

/** Servers and files keep neither NUL nor half of a UTF-16 pair, which becomes another character in UTF-8. */
export const manyLines: Check = (value) => {
  if (value.includes('\0')) return 'must not contain a NUL character';
  return /\p{Surrogate}/u.test(value) ? 'must not contain half of a surrogate pair' : undefined;
};
/** For values written on one line of a file. */
export const oneLine: Check = (value) =>
  manyLines(value) ?? (/[\n\r]/.test(value) ? 'must be a single line' : undefined);

/** A value as shown in messages: quoted, escaped, cut. */
export const shown = (value: string): string => JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value);
