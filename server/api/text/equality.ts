// Compares the meaning of two config texts: booleans, sizes, bit rates, addresses and lists in different spellings. Values that
// the server computes are compared by each kind.
import { parseBits } from './bit-rate.ts';
import { parseBytes } from './byte-size.ts';
import { formatCidr, formatIp, isHwaddr, parseCidr, parseIp } from './ip.ts';

/** Keys whose values are free text, or names: compared exactly. The pools `01` and `1` are different. */
const freeText =
  /^(user|environment|image|raw|volatile|cloud-init|linux\.sysctl|properties|oidc|maas)\.|^candid\.(?!expiry$)|^(description|name|host_name|parent|network|path|pool|source|snapshots\.pattern|dns\.domain|dns\.search)$|(vg|pool|thinpool)_name$/;

const words: ReadonlyMap<string, string> = new Map([
  ['true', 'n:1'],
  ['yes', 'n:1'],
  ['on', 'n:1'],
  ['false', 'n:0'],
  ['no', 'n:0'],
  ['off', 'n:0'],
]);

export function sameText(key: string, a: string, b: string): boolean {
  if (a === b) return true;
  if (freeText.test(key)) return false;
  return comparableText(key, a) === comparableText(key, b);
}

/** Equal for values with the same meaning under this key; for hashing. */
export const comparableText = (key: string, text: string): string =>
  freeText.test(key) ? text : key === 'bind' ? side(text) : canonicalText(text);

/** The side on which a proxy listens, which servers spell in several ways. */
const side = (text: string): string => (/^(instance|guest)$/.test(text) ? 'container' : text);

/** A text that is equal for equal meanings; not for display. */
export function canonicalText(text: string): string {
  const trimmed = text.trim();
  if (trimmed.includes(',')) return trimmed.split(',').map(canonicalText).join(',');
  const word = words.get(trimmed.toLowerCase());
  if (word !== undefined) return word;
  return canonicalNumber(trimmed) ?? canonicalAddress(trimmed) ?? trimmed;
}

function canonicalNumber(text: string): string | undefined {
  if (/^[-+][0-9]{1,19}$/.test(text)) return `n:${BigInt(text.replace('+', ''))}`;
  if (!/^[0-9]/.test(text)) return undefined;
  // Exact, unlike the number of bytes.
  if (/^[0-9]{16,19}$/.test(text)) return `n:${BigInt(text)}`;
  const bytes = parseBytes(text);
  if (bytes !== undefined) return `n:${BigInt(bytes)}`;
  const bits = parseBits(text);
  return bits === undefined ? undefined : `b:${bits}`;
}

function canonicalAddress(text: string): string | undefined {
  if (!text.includes(':')) return undefined;
  if (isHwaddr(text)) return text.toLowerCase();
  const ip = parseIp(text);
  if (ip !== undefined) return formatIp(ip);
  const cidr = parseCidr(text);
  return cidr === undefined ? undefined : formatCidr(cidr);
}
