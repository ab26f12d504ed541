// Byte sizes as users write and read them; bit-rate.ts has bit rates.

const decimalUnits = ['kB', 'MB', 'GB', 'TB', 'PB', 'EB'] as const;
const binaryUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

const factors: ReadonlyMap<string, bigint> = new Map([
  ['', 1n],
  ['B', 1n],
  [' bytes', 1n],
  ...decimalUnits.map((unit, index) => [unit, 1000n ** BigInt(index + 1)] as const),
  ...binaryUnits.map((unit, index) => [unit, 1024n ** BigInt(index + 1)] as const),
]);

const maxInt64 = 2n ** 63n - 1n;

/** `512`, `512B`, `512 bytes`, `10kB` (1000), `10KiB` (1024) up to EB and EiB. No fractions, no other spaces, case matters. Empty text is
 *  0. Anything else, or a size beyond 63 bits, is undefined. Above 2^53 returns the nearest number. */
export function parseBytes(text: string): number | undefined {
  if (text === '') return 0;
  const match = /^([0-9]{1,19})([A-Za-z ]*)$/.exec(text);
  const factor = factors.get(match?.[2] ?? '?');
  if (match === null || factor === undefined) return undefined;
  const bytes = BigInt(match[1] ?? '') * factor;
  return bytes > maxInt64 ? undefined : Number(bytes);
}

/** Text for users in powers of 1000: `999B`, `1.50kB`, `2.35MB`. Not meant to be parsed. */
export function formatBytes(bytes: number, decimals = 2): string {
  if (Math.abs(bytes) < 1000) return `${Math.round(bytes)}B`;
  let value = bytes;
  let text = '';
  for (const unit of decimalUnits) {
    value /= 1000;
    text = `${value.toFixed(decimals)}${unit}`;
    if (Math.abs(Number(value.toFixed(decimals))) < 1000) break;
  }
  return text;
}

/** Text in powers of 1024, exact if that is short: `512MiB`, `1.50GiB`. Not meant to be parsed. */
export function formatBinary(bytes: number): string {
  let [value, unit] = [bytes, 'B'];
  for (const next of binaryUnits) {
    if (Math.abs(value) < 1024) break;
    [value, unit] = [value / 1024, next];
  }
  return `${Number.isInteger(value) ? value : value.toFixed(2)}${unit}`;
}
