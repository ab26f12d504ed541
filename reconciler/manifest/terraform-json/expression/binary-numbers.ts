// Terraform's numbers: binary, of 512 bits. They decide how decimals are rounded, and whether a sum of decimals is one.
import { digitsOf, isExact, tidy } from './values.ts';

export type Fraction = readonly [above: bigint, below: bigint];

const bits = 512n;
const lengthOf = (value: bigint): bigint => BigInt(value.toString(2).length);

/** Rounds half to even, as Go does. */
export function rounded(above: bigint, below: bigint): bigint {
  const [quotient, rest] = [above / below, above % below];
  const isUp = rest * 2n > below || (rest * 2n === below && quotient % 2n === 1n);
  return isUp ? quotient + 1n : quotient;
}

/** The nearest number of 512 bits. The fraction is not negative. */
function nearest([above, below]: Fraction): Fraction {
  if (above === 0n) return [0n, 1n];
  const shift = bits - lengthOf(above) + lengthOf(below);
  const [up, down] = shift < 0n ? [above, below << -shift] : [above << shift, below];
  // One bit more or less than 512.
  const isLong = up / down >= 1n << bits;
  const whole = isLong ? rounded(up, down << 1n) : rounded(up, down);
  const power = shift - (isLong ? 1n : 0n);
  return power < 0n ? [whole << -power, 1n] : [whole, 1n << power];
}

/** The number as Terraform keeps it. It is not negative. */
export function kept(value: number): Fraction {
  const [whole = '', fraction = ''] = digitsOf(value).split('.');
  return nearest([BigInt(whole + fraction), 10n ** BigInt(fraction.length)]);
}

const signed = (value: number): Fraction => {
  const [above, below] = kept(Math.abs(value));
  return value < 0 ? [-above, below] : [above, below];
};

const exact = {
  '+': ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d],
  '-': ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d - c * b, b * d],
  '*': ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d],
  '/': ([a, b]: Fraction, [c, d]: Fraction): Fraction => (c < 0n ? [-a * d, -b * c] : [a * d, b * c]),
};

/** `result`: of numbers of 53 bits. Without its noise if Terraform's has none; else with more digits than are kept. */
export function settled(operator: keyof typeof exact, a: number, b: number, result: number): number {
  const value = tidy(result);
  if (![a, b, value].every(isExact) || [a, b, value].every(Number.isInteger)) return value;
  const [above, below] = exact[operator](signed(a), signed(b));
  const size: Fraction = [above < 0n ? -above : above, below];
  const [x, y] = [nearest(size), kept(Math.abs(value))];
  if (x[0] * y[1] === y[0] * x[1]) return value;
  return isExact(result) ? result * (1 + Number.EPSILON) : result;
}
