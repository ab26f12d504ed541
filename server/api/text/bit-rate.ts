// Bit rates as users write them (`100Mbit`); byte-size.ts has byte sizes.

const decimalUnits = ['kbit', 'Mbit', 'Gbit', 'Tbit', 'Pbit', 'Ebit'] as const;
const binaryUnits = ['Kibit', 'Mibit', 'Gibit', 'Tibit', 'Pibit', 'Eibit'] as const;

const factors: ReadonlyMap<string, bigint> = new Map([
  ['', 1n],
  ['bit', 1n],
  ...decimalUnits.map((unit, index) => [unit, 1000n ** BigInt(index + 1)] as const),
  ...binaryUnits.map((unit, index) => [unit, 1024n ** BigInt(index + 1)] as const),
]);

/** Bits a second: `1000`, `1000bit`, `100Mbit`, `1Gibit`. Empty text is 0; anything else is undefined. */
export function parseBits(text: string): number | undefined {
  if (text === '') return 0;
  const match = /^([0-9]{1,19})([A-Za-z]*)$/.exec(text);
  const factor = factors.get(match?.[2] ?? '?');
  if (match === null || factor === undefined) return undefined;
  const bits = BigInt(match[1] ?? '') * factor;
  return bits >= 2n ** 63n ? undefined : Number(bits);
}
