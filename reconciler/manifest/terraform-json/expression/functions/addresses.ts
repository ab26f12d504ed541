// Functions of IP networks in CIDR notation.
import { isIPv4, isIPv6 } from 'node:net';
import { ConversionError, type Value } from '../values.ts';
import { text, whole } from './arguments.ts';
import { makesList, type FunctionRow } from './function-row.ts';

interface Network {
  readonly bits: 32 | 128;
  /** The network address; its host bits are zero. */
  readonly base: bigint;
  readonly length: number;
}

function read(source: string): Network {
  const [written = '', prefix = '', ...more] = source.split('/');
  // Leading zeros of a part have no meaning.
  const address = /^[\d.]+$/.test(written) ? written.replaceAll(/\b0+(?=\d)/g, '') : written;
  if (/:.*\./.test(address) || /^::ffff:/i.test(address))
    throw new ConversionError(`${source}: IPv4 addresses inside of IPv6 ones are not evaluated`);
  const bits = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : undefined;
  const length = /^\d{1,3}$/.test(prefix) && !/^0\d/.test(prefix) ? Number(prefix) : Number.NaN;
  if (bits === undefined || more.length > 0 || !(length <= bits))
    throw new ConversionError(`${JSON.stringify(source)} is no network such as 10.0.0.0/8 or fd00::/64`);
  const free = BigInt(bits - length);
  return { bits, base: (numberOf(address) >> free) << free, length };
}

function numberOf(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  const [head = '', tail] = address.split('::');
  const groups = (part: string): readonly string[] => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const middle = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...middle, ...after].reduce((sum, part) => (sum << 16n) | BigInt(`0x${part}`), 0n);
}

function addressText(value: bigint, bits: 32 | 128): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & 0xffffn));
  // Compresses the longest run of at least two zeros, the first if equal.
  let [from, size] = [-1, 1];
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (end < 8 && groups[end] === 0) end++;
    if (end - at > size) [from, size] = [at, end - at];
    at = Math.max(at, end - 1);
  }
  const hex = groups.map((group) => group.toString(16));
  if (from < 0) return hex.join(':');
  return `${hex.slice(0, from).join(':')}::${hex.slice(from + size).join(':')}`;
}

const networkText = ({ bits, base, length }: Network): string => `${addressText(base, bits)}/${length}`;

function host(source: string, number: number): string {
  const { bits, base, length } = read(source);
  const free = BigInt(bits - length);
  const wanted = BigInt(number);
  if (wanted >= 1n << free || wanted < -(1n << free))
    throw new ConversionError(`prefix of ${length} does not accommodate a host numbered ${number}`);
  return addressText(base + (wanted < 0n ? (1n << free) + wanted : wanted), bits);
}

function mask(source: string): string {
  const { bits, length } = read(source);
  if (bits === 128) throw new ConversionError('IPv6 addresses cannot have a netmask');
  return addressText(((1n << BigInt(length)) - 1n) << BigInt(bits - length), bits);
}

function subnet(source: string, newBits: number, number: number): Network {
  const { bits, base, length } = read(source);
  const longer = length + newBits;
  if (newBits < 0 || longer > bits)
    throw new ConversionError(`insufficient address space to extend prefix of ${length} by ${newBits}`);
  if (number < 0 || BigInt(number) >= 1n << BigInt(newBits))
    throw new ConversionError(`prefix extension of ${newBits} does not accommodate a subnet numbered ${number}`);
  return { bits, base: base | (BigInt(number) << BigInt(bits - longer)), length: longer };
}

/** One behind the other, each as long as wanted. */
function subnets(source: string, lengths: readonly number[]): Value {
  const { bits, base, length } = read(source);
  const end = base + (1n << BigInt(bits - length));
  let next = base;
  return lengths.map((newBits, at) => {
    const longer = length + newBits;
    if (newBits < 1 || longer > bits)
      throw new ConversionError(`network ${at + 1}: a prefix of ${length} cannot be extended by ${newBits}`);
    const size = 1n << BigInt(bits - longer);
    const start = ((next + size - 1n) / size) * size;
    if (start + size > end) throw new ConversionError(`not enough remaining address space for network ${at + 1}`);
    next = start + size;
    return networkText({ bits, base: start, length: longer });
  });
}

export const addresses: Readonly<Record<string, FunctionRow>> = {
  cidrhost: { least: 2, max: 2, run: (args) => host(text(args, 0), whole(args, 1)) },
  cidrnetmask: { least: 1, max: 1, run: (args) => mask(text(args, 0)) },
  cidrsubnet: { least: 3, max: 3, run: (args) => networkText(subnet(text(args, 0), whole(args, 1), whole(args, 2))) },
  cidrsubnets: makesList({
    least: 1,
    run: (args) =>
      subnets(
        text(args, 0),
        args.slice(1).map((_, at) => whole(args, at + 1)),
      ),
  }),
};
