// Numbers in the forms of printf, rounded as Terraform rounds its binary numbers of 512 bits. The numbers are not negative.
import { kept, rounded } from '../binary-numbers.ts';
import { inexact, isExact } from '../values.ts';

/** Throws ConversionError for digits that are not kept. */
function checkDigits(value: number, count: number): void {
  if (count > 15 && !isExact(value)) throw inexact(value);
}

const exponentOf = (value: number): number => Number(value.toExponential().split('e')[1]);

export function fixed(value: number, places: number): string {
  checkDigits(value, exponentOf(value) + 1 + places);
  const [above, below] = kept(value);
  const digits = rounded(above * 10n ** BigInt(places), below)
    .toString()
    .padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** Significant digits, and the exponent of the first of them. */
function significant(value: number, count: number): { readonly digits: string; readonly exponent: number } {
  if (value === 0) return { digits: '0'.repeat(count), exponent: 0 };
  checkDigits(value, count);
  const exponent = exponentOf(value);
  const [above, below] = kept(value);
  const shift = count - 1 - exponent;
  const power = 10n ** BigInt(Math.abs(shift));
  const digits = (shift < 0 ? rounded(above, below * power) : rounded(above * power, below)).toString();
  return digits.length > count ? { digits: digits.slice(0, count), exponent: exponent + 1 } : { digits, exponent };
}

const withExponent = (digits: string, exponent: number): string => {
  const fraction = digits.slice(1);
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `${digits[0] ?? ''}${fraction === '' ? '' : `.${fraction}`}e${exponent < 0 ? '-' : '+'}${size}`;
};

export function scientific(value: number, places: number): string {
  const { digits, exponent } = significant(value, places + 1);
  return withExponent(digits, exponent);
}

/** The form of `%g` and `%v`: with an exponent when the number is large or tiny. Without `precision`, the digits it needs. */
export function general(value: number, precision: number | undefined): string {
  const needed = value.toExponential().replace(/e.*|\./g, '').length;
  const count = precision === undefined ? needed : Math.max(1, precision);
  const { digits, exponent } = significant(value, count);
  const short = digits.replace(/(?!^)0+$/, '');
  const isFew = count > short.length && short.length > exponent;
  const limit = precision === undefined ? 6 : isFew ? short.length : count;
  return exponent < -4 || exponent >= limit
    ? withExponent(short, exponent)
    : fixed(value, Math.max(0, short.length - exponent - 1));
}
